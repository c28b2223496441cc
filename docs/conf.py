"""Sphinx configuration; what comes from the code is put into the pages by generated.py."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from generated import setup  # noqa: F401

import isthmus

project = "Isthmus"
author = "The Isthmus developers"
project_copyright = author
version = release = isthmus.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"Isthmus {release}"
html_static_path = ["_static"]
html_css_files = ["isthmus.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "friendly"
pygments_dark_style = "monokai"

napoleon_google_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
add_module_names = False

# Names of parameters in docstrings, such as ranks, are fields of several classes too: no link is wanted.
suppress_warnings = ["ref.python"]
