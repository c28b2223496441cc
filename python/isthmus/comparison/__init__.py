"""The verb compare: what differs between things of one kind.

``compare.py`` is the verb, which looks at what it is given; ``machines.py``, ``tables.py``, ``times.py`` (timelines and
recordings) and ``programs.py`` (a program on several machines) each compare one kind; ``comparison.py`` is what they
return, ``page.py`` its page in HTML. ``over_sizes.py`` compares machines for a program over numbers of ranks.

- ``alike``: pieces of a program that stand for others: how sure their mean is, and what sums of other sizes add
- ``compare``: the verb: compare
- ``comparison``: what compare returns: a table with a title, as text, JSON, data frame, picture or page
- ``crossover``: sizes at which one machine overtakes another, and how sure that is
- ``in_pieces``: one run of a program that is simulated piece by piece, and the parts of its critical path
- ``machine_page``: the page of a machine, or of several beside each other: pictures, tables, conditions
- ``machines``: machines beside each other: values that differ
- ``frame``: what pages of comparisons share: sections, and drawings within them
- ``operations``: ranks and operations of timelines beside each other
- ``over_sizes``: a program on several machines at many numbers of ranks: who is faster up to which size, and why
- ``page``: a comparison as one page in HTML, without anything from elsewhere
- ``parts``: why a run takes as long as it does: its makespan in whole parts, so that differences of two machines sum
  exactly
- ``programs``: a program or schedule on several machines, beside what was measured where it was recorded
- ``rates``: how fast a core of a machine computes while all cores of its node are busy, and what that makes of a
  program
- ``sizes``: the result of comparing machines over numbers of ranks, as text, JSON, data frame, picture or page
- ``sizes_page``: the page of machines compared over numbers of ranks; one file without others
- ``tables``: decision tables beside each other: sizes at which they choose differently
- ``times``: timelines and recordings beside each other: what was measured and what was predicted are the same kind of
  thing
- ``variation_page``: the page of how the time of a program varies in a queue
"""
