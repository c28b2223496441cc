"""The shared parts of HTML pages: markup, style and the frame of the page.

- ``markup``: pieces of HTML and SVG: text that is escaped, tables, bars, axes
"""
