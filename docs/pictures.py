"""Makes the pictures of the documentation again: python docs/pictures.py [--report].

Runs the lines of docs/gallery.md in a temporary folder; with --report, has Chromium show a report.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageChops

DOCS = Path(__file__).parent
REPORT = "advise --example lammps --machine cielo --machine edison --scale-compute 0.1 --ranks-per-node 4"
# Width in pixels of the report's window, and how much of the page is kept.
WIDTH, HEIGHT = 1100, 1325


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        made = report(Path(folder)) if "--report" in sys.argv else gallery(Path(folder))
        for path in made:
            # 256 colours are enough for most drawings, and a third of the bytes.
            picture = Image.open(path).convert("RGB")
            few = picture.quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            largest = max(high for _, high in ImageChops.difference(picture, few.convert("RGB")).getextrema())
            (few if largest < 32 else picture).save(DOCS / "images" / path.name, optimize=True)
            print(path.name, (DOCS / "images" / path.name).stat().st_size)


def gallery(folder: Path) -> list[Path]:
    blocks = re.findall(r"^```python\n(.*?)^```$", (DOCS / "gallery.md").read_text(), re.MULTILINE | re.DOTALL)
    subprocess.run([sys.executable, "-c", "\n".join(blocks)], cwd=folder, check=True)
    return sorted(folder.glob("*.png"))


def report(folder: Path) -> list[Path]:
    html, picture = folder / "report.html", folder / "report.png"
    subprocess.run([sys.executable, "-m", "isthmus", *REPORT.split(), "-o", str(html)], check=True)
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={WIDTH},{HEIGHT}"]
    subprocess.run(["chromium", *options, f"--screenshot={picture}", html.as_uri()], check=True)
    return [picture]


if __name__ == "__main__":
    main()
