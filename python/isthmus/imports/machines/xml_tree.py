"""A small, safe XML reader that keeps line numbers.

Only elements and attributes are kept. Entity declarations, internal DTD subsets and external
entities are refused and not expanded; nesting and size are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from isthmus.errors import ParseError
from isthmus.imports.source import check_text, shown

MAX_DEPTH = 200
"""Real files nest below 40 levels."""

MAX_ELEMENTS = 2_000_000


@dataclass
class Element:
    """One element with its attributes and child elements."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list)

    def each(self, tag: str) -> Iterator[Element]:
        """Yield the child elements of a tag."""
        return (child for child in self.children if child.tag == tag)


def parse(text: str, path: str) -> Element:
    """Parse a document and return its root element.

    Raises
    ------
    ParseError
        Not well-formed, or one of the features this reader refuses.
    """
    check_text(text, path)
    parser = expat.ParserCreate("utf-8")
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    stack: list[Element] = []
    roots: list[Element] = []
    count = 0

    def refuse(what: str) -> ParseError:
        return ParseError(path, parser.CurrentLineNumber, None, what)

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if len(stack) >= MAX_DEPTH:
            raise refuse(f"elements nest deeper than {MAX_DEPTH} levels")
        if count > MAX_ELEMENTS:
            raise refuse(f"the file has more than {MAX_ELEMENTS:,} elements")
        element = Element(tag, attributes, parser.CurrentLineNumber)
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(tag: str) -> None:
        stack.pop()

    def doctype(name: str, system: str | None, public: str | None, internal: int) -> None:
        if internal:
            raise refuse("a DTD inside the file is not allowed (it could declare entities)")

    def entity(*details: object) -> int:
        raise refuse("entities are not allowed")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.StartDoctypeDeclHandler = doctype
    parser.EntityDeclHandler = entity
    parser.ExternalEntityRefHandler = entity
    parser.SkippedEntityHandler = entity
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        message = f"not well-formed XML at column {error.offset + 1}: {reason}"
        raise ParseError(path, error.lineno, None, message) from None
    return roots[0]


def integer(element: Element, name: str, path: str, *, most: int = 10**18) -> int:
    """Return an attribute that must be a whole number from 0 to `most`."""
    text = element.attributes.get(name)
    if text is None:
        raise ParseError(path, element.line, f"<{element.tag}>", f"attribute {name} is missing")
    if not re.fullmatch("[0-9]{1,18}", text) or int(text) > most:
        message = f"got {shown(text)}; expected a whole number from 0 to {most}"
        raise ParseError(path, element.line, f"<{element.tag} {name}>", message)
    return int(text)
