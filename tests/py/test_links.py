"""Links of pages lead somewhere. Those between pages of docs/ are also checked by Sphinx, whose warnings are errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path.relative_to(ROOT)
    for folder, pattern in (("", "*.md"), ("docs", "**/*.md"), ("examples", "**/*.md"), ("bench", "**/*.md"))
    for path in (ROOT / folder).glob(pattern)
    if "_build" not in path.parts
)
#: A page with parts that are made when it is built: whether it has an anchor only Sphinx can say.
MADE = "<!-- generated: "


def prose(text: str) -> str:
    return re.sub(r"`[^`\n]+`", "`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))


def anchors(text: str) -> set[str]:
    """Labels, and headings as GitHub and Sphinx spell them in addresses."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    found = set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        found.add(re.sub(r"[^\w -]", "", heading.lower().strip()).replace(" ", "-"))
    return found


def links(text: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", prose(text))


def leads_somewhere(page: Path, target: str, labels: set[str]) -> bool:
    path, _, anchor = target.partition("#")
    file = (page.parent / path) if path else page
    if not file.exists():
        return False
    if not anchor:
        return True
    text = file.read_text(encoding="utf-8")
    # A label of any page can be named alone within the documentation.
    return anchor in anchors(text) | (set() if path else labels) or (path != "" and MADE in text)


def labels() -> set[str]:
    texts = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES if page.parts[0] == "docs"]
    return {label for text in texts for label in re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE)}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links(page: Path) -> None:
    known = labels() if page.parts[0] == "docs" else set()
    for target in links((ROOT / page).read_text(encoding="utf-8")):
        if "://" not in target and not target.startswith("mailto:"):
            assert leads_somewhere(ROOT / page, target, known), target


def test_a_wrong_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# What is tried\n\n(label)=\n## Other\n\n[a](#label) [b](#what-is-tried) `[c](#no)`\n")
    assert links(page.read_text()) == ["#label", "#what-is-tried"]
    assert all(leads_somewhere(page, target, set()) for target in links(page.read_text()))
    assert not leads_somewhere(page, "#nothing", set())
    assert not leads_somewhere(page, "other.md", set())
    assert leads_somewhere(page, "#nothing", {"nothing"})


def test_addresses_of_the_web_are_whole() -> None:
    """Without a network nobody can say whether they lead somewhere, but what they are made of can be checked."""
    for page in PAGES:
        for target in re.findall(r"\bhttps?://[^\s)>\]`\"']*", prose((ROOT / page).read_text(encoding="utf-8"))):
            assert re.fullmatch(r"https?://[\w-]+(\.[\w-]+)+(:\d+)?(/\S*)?", target), f"{page}: {target}"
