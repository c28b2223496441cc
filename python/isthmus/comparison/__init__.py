"""The verb compare: what differs between things of one kind.

``compare.py`` is the verb, which looks at what it is given; ``machines.py``, ``tables.py``, ``times.py`` (timelines and
recordings) and ``programs.py`` (a program on several machines) each compare one kind; ``comparison.py`` is what they
return, ``page.py`` its page in HTML.

- ``compare``: the verb: compare
- ``comparison``: what compare returns: a table with a title, as text, JSON, data frame, picture or page
- ``machine_page``: the page of a machine, or of several beside each other: pictures, tables, conditions
- ``machines``: machines beside each other: values that differ
- ``frame``: what pages of comparisons share: sections, and drawings within them
- ``operations``: ranks and operations of timelines beside each other
- ``page``: a comparison as one page in HTML, without anything from elsewhere
- ``programs``: a program or schedule on several machines, beside what was measured where it was recorded
- ``tables``: decision tables beside each other: sizes at which they choose differently
- ``times``: timelines and recordings beside each other: what was measured and what was predicted are the same kind of
  thing
"""
