"""What is needed is named once, in pyproject.toml; everything else that says it says the same."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]


def taken_apart(requirement: str) -> tuple[str, str]:
    found = re.fullmatch(r"([\w-]+)>=([\w.]+)", requirement)
    assert found is not None, requirement
    return found[1], found[2]


def test_the_recipe_of_spack_needs_the_same() -> None:
    recipe = (ROOT / "packaging/spack/packages/py-isthmus/package.py").read_text()
    depends = re.findall(r'depends_on\("([\w-]+)@([\w.]+):"(?:, type="build")?(?:, when="\+(\w+)")?\)', recipe)
    tools = {"cmake", "python"}
    # The bindings of OTF2 come with the library itself.
    found = {(name.removeprefix("py-"), version, extra) for name, version, extra in depends if name not in tools}
    assert {name for name, _, _ in depends if not name.startswith("py-")} <= {"otf2", *tools}
    needed = {
        (*taken_apart(text), "") for text in (*PROJECT["build-system"]["requires"], *PROJECT["project"]["dependencies"])
    }
    needed |= {(*taken_apart(text), extra) for extra, texts in EXTRAS.items() for text in texts}
    # Spack has no Python module of KaHIP.
    needed -= {(*taken_apart(text), "partition") for text in EXTRAS["partition"] if text.startswith("kahip")}
    assert found == needed
    assert set(re.findall(r'variant\("(\w+)"', recipe)) == set(EXTRAS)
    assert PROJECT["project"]["requires-python"] == ">=3.11"
    assert 'depends_on("python@3.11:"' in recipe
    assert f'depends_on("cmake@{PROJECT["tool"]["scikit-build"]["cmake"]["version"].removeprefix(">=")}:"' in recipe
    compile(recipe, "package.py", "exec")
    # Spack clones the branch of the checkout that holds the recipe.
    assert (ROOT / "packaging/spack/packages/py-isthmus/package.py").resolve().parents[4] == ROOT
    assert "git = Path(__file__).resolve().parents[4].as_uri()" in recipe


def test_extras_are_named_once() -> None:
    """No group repeats what an extra has, and what the code asks for by an extra is in it."""
    of_extras = {text for texts in EXTRAS.values() for text in texts}
    groups = PROJECT["dependency-groups"]
    assert not {text for name in ("test", "docs", "lint") for text in groups[name]} & of_extras
    asked = [
        found
        for path in (ROOT / "python/isthmus").rglob("*.py")
        for found in re.findall(r'optional\(\s*"(\w+)[\w.]*",[^)]*?"(\w+)"\s*,?\s*\)', path.read_text())
    ]
    assert len(asked) > 2
    for package, extra in asked:
        assert package.replace("_", "-") in {taken_apart(text)[0] for text in EXTRAS[extra]}, (package, extra)


def test_the_image_takes_the_steps_of_bootstrap() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    assert any(line.startswith("RUN ./bootstrap install") for line in lines)
    assert len(lines) < 15
    assert set((ROOT / ".dockerignore").read_text().split()) >= {".git", ".venv", "build"}
