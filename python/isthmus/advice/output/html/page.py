"""The report: one page of HTML without anything outside of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ....errors import InvalidInput, Unsupported
from ....files import write_atomically
from ....visible import visible

if TYPE_CHECKING:
    from ...advice import Advice


def check_path(path: str | os.PathLike[str]) -> None:
    """Before anything is simulated: can the report be written there?"""
    text = os.fspath(path)
    if not text.lower().endswith((".html", ".htm")):
        raise InvalidInput(f"{text}: must end in .html: the report is HTML")
    folder = os.path.dirname(text)
    if folder and not os.path.isdir(folder):
        raise InvalidInput(f"{text}: there is no folder {folder}")
    _jinja2()


def save(advice: Advice, path: str | os.PathLike[str]) -> None:
    """Write the report, whole or not at all."""
    check_path(path)
    write_atomically(path, html(advice))


def html(advice: Advice) -> str:
    """The page as text."""
    from .sections.sections import headline, sections

    jinja2 = _jinja2()
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("isthmus.html", "templates"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    template = environment.get_template("report.html")
    page: str = template.render(
        title=advice.name, headline=headline(advice.predictions[0]), sections=sections(advice), ranks=advice.ranks
    )
    return visible(page)


def _jinja2() -> Any:
    try:
        import jinja2
    except ImportError:
        raise Unsupported(
            "the report needs the package jinja2, which is missing: pip install 'isthmus[report]', or print the advice"
        ) from None
    return jinja2
