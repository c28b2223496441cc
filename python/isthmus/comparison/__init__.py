"""The verb compare: what differs between things of one kind.

``compare.py`` is the verb, which looks at what it is given; ``machines.py``, ``tables.py``, ``times.py`` (timelines and
recordings) and ``programs.py`` (a program on several machines) each compare one kind; ``comparison.py`` is what they
return, ``page.py`` its page in HTML.
"""
