"""UPC 1.3: programs become C that uses libisthmus.

- ``affine``: numbers that change with the counter of a loop by the same amount
- ``constants``: constants and what operators make of them
- ``driver``: from files to a program: preprocessor, translation, C compiler, linker
- ``emit``: declarations and statements as C has them
- ``emit_blocks``: loops in blocks: strips, and the loop as it was
- ``emit_expressions``: expressions: accesses to shared memory become calls
- ``emit_kept``: what loops have read is kept for the loops that follow
- ``emit_local``: what is the thread's own: iterations without tests, accesses as plain C
- ``emit_types``: types as C has them
- ``foreign``: objects that compilers for Berkeley's runtime made
- ``expressions``: expressions are read and typed, and what UPC forbids is refused
- ``initializers``: which value of an initialiser goes to which member
- ``layout``: sizes of types
- ``loops``: what is known of loops: counters, what stays the same, how iterations are dealt out
- ``messages``: errors at the user's line and column
- ``parse_declarations``: declarations are read, names are made known
- ``reader``: what all parts of the parser use
- ``rows``: which accesses of a loop are made in blocks, and what keeps others from it
- ``statements``: statements of C and of UPC, and the parser as a whole
- ``tokens``: words of a preprocessed file
- ``translate``: one file of UPC, as one of C
- ``tree``: nodes of a program, and its names
- ``types``: types of C with the qualifiers of UPC
- ``writer``: text with line markers

``include`` has the headers of UPC, and ``support`` the library in C that programs are linked with.
"""

from __future__ import annotations

from .driver import Options, build, flags
from .messages import UpcError
from .translate import translate

__all__ = ["Options", "UpcError", "build", "flags", "translate"]
