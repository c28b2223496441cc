"""Objects that compilers for Berkeley's runtime made: what they leave to be done before main."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

from ..errors import InvalidInput

_NAME = re.compile(r"^\S* ?([A-TV-Z]) (UPCRI_ALLOC_\w+|UPCRI_INIT_\w+|user_main|main)$")


def starter(objects: Sequence[str]) -> str | None:
    """C that does it, or None where there is nothing to do."""
    found = _defined([file for file in objects if file.endswith((".o", ".a"))])
    allocations = sorted(name for name in found if name.startswith("UPCRI_ALLOC_"))
    values = sorted(name for name in found if name.startswith("UPCRI_INIT_"))
    if not allocations and not values and "user_main" not in found:
        return None
    lines = ["#include <isthmus_upc.h>"]
    lines += [f"extern void {name}(void);" for name in allocations + values]
    lines.append("static void start(void) {")
    for names in (allocations, values):
        lines += [f"  {name}();" for name in names]
        lines.append("  isthmus_upc_barrier(0, 0);")
    lines.append("}")
    lines.append("static void (*const start_at)(void)")
    lines.append('  __attribute__((section("isthmus_upc_list_starts"), used, aligned(8))) = start;')
    if "user_main" in found and "main" not in found:
        lines.append("int user_main(int, char **);\nint main(int argc, char **argv) { return user_main(argc, argv); }")
    return "\n".join(lines) + "\n"


def _defined(files: Sequence[str]) -> set[str]:
    if not files:
        return set()
    if shutil.which("nm") is None:
        raise InvalidInput("nm of the binutils is not here, which objects are looked into with: install it")
    done = subprocess.run(["nm", "-g", "--defined-only", *files], capture_output=True, text=True, errors="replace")
    return {found[2] for line in done.stdout.splitlines() if (found := _NAME.match(line))}
