"""The report: one page of HTML.

- ``page``: the report: one page of HTML without anything outside of it
- ``svg``: drawings of the report, as SVG whose colours are classes: they follow light, dark and print
- ``sections/``: the sections of the report
"""
