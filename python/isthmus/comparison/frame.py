"""What pages of comparisons share: sections, and drawings within them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from ..visible import visible

_STYLE = """
.figure { margin: 0 0 26px; } .figure svg { display: block; width: 100%; height: auto; }
@media (prefers-color-scheme: dark) { .figure { background: #fff; border-radius: 6px; } }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: 4px 16px; margin: 0 0 14px; font-size: 14px; }
dl.facts dt { color: var(--muted); } dl.facts dd { margin: 0; }
ul.warnings li { margin: 3px 0; }
pre { font-size: 13px; overflow-x: auto; background: var(--page); padding: 10px 12px; }
nav a { margin-right: 14px; white-space: nowrap; }
"""


def page(kind: str, title: str, parts: Sequence[tuple[str, str]]) -> str:
    """A page of sections, each with a heading and HTML; one file without others."""
    own = files("isthmus.html") / "templates"
    style, script = (own / "style.css").read_text("utf-8") + _STYLE, (own / "table.js").read_text("utf-8")
    links = "".join(f'<a href="#part{i}">{escape(name)}</a>\n' for i, (name, _) in enumerate(parts))
    body = "\n".join(
        f'<section id="part{i}"><h2>{escape(name)}</h2>\n{content}\n</section>'
        for i, (name, content) in enumerate(parts)
    )
    text = (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f'<header>\n<p class="kind">Isthmus: {escape(kind)}</p>\n<h1>{escape(title)}</h1>\n'
        f'<nav aria-label="Sections">\n{links}</nav>\n</header>\n'
        f"<main>\n{body}\n</main>\n<script>\n{script}</script>\n</body>\n</html>\n"
    )
    return visible(text)


def drawing(picture: bytes, name: str, title: str) -> str:
    """A drawing (SVG) without what only files have, and without a size of its own; names in it are its own."""
    svg = picture.decode()
    svg = svg[svg.index("<svg") :]
    head, rest = svg.split(">", 1)
    rest = re.sub(r'(id="|href="#|url\(#)', rf"\g<1>{name}-", rest)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    return f'<div class="figure" id="{name}">{head} role="img" aria-label="{escape(title)}">{rest}</div>'
