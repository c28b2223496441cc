"""Random loops over shared arrays, beside the same loops over arrays of the thread in plain C.

A program of UPC runs both, phase by phase, and compares every element after each phase; what the loops over shared
arrays become is the matter of the test, and the loops over the thread's own arrays are what they mean.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

PRELUDE = """#include <upc_relaxed.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
typedef struct pair { int x; short v[3]; } pair;
static int table[64];
static long plain[32768], twin[32768];
static void wrong(const char *what, long at, long is, long should) {
  fprintf(stderr, "thread %d: %s, element %ld is %ld and should be %ld\\n", MYTHREAD, what, at, is, should);
  upc_global_exit(3);
}
"""


@dataclass
class Array:
    name: str
    of: str
    rows: int  #: times THREADS where blocks have an end
    columns: int  #: 0: one dimension
    block: int  #: 0: without an end; -1: [*]

    @property
    def length(self) -> int:
        return self.rows

    def declaration(self) -> str:
        layout = {0: "[]", -1: "[*]"}.get(self.block, f"[{self.block}]")
        many = self.dimensions()
        return f"shared {layout} {self.of} {self.name}{many}; static {self.of} r_{self.name}{many};"

    def dimensions(self) -> str:
        many = "" if self.block == 0 else " * THREADS"
        return f"[{self.rows}{many}]" + (f"[{self.columns}]" if self.columns else "")


class Loops:
    """A program of so many phases."""

    def __init__(self, seed: int, threads: int, phases: int, static: bool) -> None:
        self.random = random.Random(f"loops {seed}")
        self.threads, self.static = threads, static
        self.arrays = [self._array(number) for number in range(4)]
        self.phases = [self._phase(number) for number in range(phases)]

    def text(self) -> str:
        lines = [PRELUDE]
        for array in self.arrays:
            text = array.declaration()
            # The twin of an array has a fixed length where the number of threads is not known to the compiler.
            head, twin = text.split("; static ")
            lines.append(f"{head};\nstatic {twin.replace('THREADS', str(self.threads))}")
        lines.append("static shared [3] long *array_q, *shared kept_q; static long r_q[36];")
        for number, phase in enumerate(self.phases):
            lines.append(phase.replace("@", str(number)))
        lines.append(self._compare())
        lines.append("int main(void) {\n  for (int i = 0; i < 64; ++i) table[i] = (i * 37 + 11) % 16;")
        lines.append("  array_q = upc_all_alloc(12, 3 * sizeof(long));\n  if (!MYTHREAD) kept_q = array_q;")
        lines.append(self._fill())
        for number in range(len(self.phases)):
            lines.append(f'  phase{number}(); upc_barrier; compare("phase {number}"); upc_barrier;')
        lines.append('  if (MYTHREAD == 0) printf("right on %d\\n", THREADS);\n  return 0;\n}')
        return "\n".join(lines) + "\n"

    # -- arrays -------------------------------------------------------------------------------------------------------

    def _array(self, number: int) -> Array:
        r = self.random
        of = r.choice(["int", "long", "long", "double", "short", "pair"]) if number else "long"
        columns = r.choice([0, 0, 4, 7])
        block = r.choice([0, 1, 1, 2, 3, 5, columns or 8, -1])
        if number == 0:
            columns, block = 0, 0
        rows = r.randint(24, 40) if block == 0 else r.randint(10, 24)
        return Array(f"a{number}", of, rows, columns, block)

    def _each(self, array: Array) -> tuple[str, str]:
        many = "" if array.block == 0 else f" * {self.threads}"
        if array.columns:
            loops = f"for (int i = 0; i < {array.rows}{many}; ++i) for (int j = 0; j < {array.columns}; ++j)"
            return loops, "[i][j]"
        return f"for (int i = 0; i < {array.rows}{many}; ++i)", "[i]"

    def _fill(self) -> str:
        out = []
        for array in self.arrays:
            loops, at = self._each(array)
            value = "(i * 5 + 3) % 97" if not array.columns else "(i * 5 + j * 11) % 89"
            if array.of == "pair":
                both = f"r_{array.name}{at} = v; if (!MYTHREAD) {array.name}{at} = v;"
                put = f"{{ pair v = {{{value}, {{1, i, 3}}}}; {both} }}"
            else:
                put = f"{{ r_{array.name}{at} = {value}; if (!MYTHREAD) {array.name}{at} = {value}; }}"
            out.append(f"  {loops} {put}")
        out.append("  for (int i = 0; i < 36; ++i) { r_q[i] = i * 3; if (!MYTHREAD) array_q[i] = i * 3; }")
        out.append("  for (int i = 0; i < 32768; ++i) plain[i] = twin[i] = i;\n  upc_barrier;")
        return "\n".join(out)

    def _compare(self) -> str:
        out = ["static void compare(const char *what) {"]
        for array in self.arrays:
            loops, at = self._each(array)
            part = ".x" if array.of == "pair" else ""
            here = f"i * {array.columns} + j" if array.columns else "i"
            out.append(
                f"  {loops} {{ long is = (long){array.name}{at}{part}, should = (long)r_{array.name}{at}{part}; "
                f'if (is != should) {{ fprintf(stderr, "{array.name}: "); wrong(what, {here}, is, should); }} }}'
            )
        out.append("  for (int i = 0; i < 36; ++i) if (array_q[i] != r_q[i]) wrong(what, i, array_q[i], r_q[i]);")
        out.append("  for (int i = 0; i < 32768; ++i) if (plain[i] != twin[i]) wrong(what, i, plain[i], twin[i]);")
        return "\n".join(out) + "\n}"

    # -- loops --------------------------------------------------------------------------------------------------------

    def _phase(self, number: int) -> str:
        return self._dealt() if self.random.random() < 0.35 else self._single()

    def _size(self, array: Array) -> int:
        return array.rows * (1 if array.block == 0 else self.threads)

    def _bounds(self) -> tuple[int, int, int]:
        """First and last value of a counter, and its step."""
        r = self.random
        count = r.choice([0, 1, 3, 4, 5, 8, 13, 20])
        step = r.choice([1, 1, 1, 2, 3, -1, -2])
        first = r.randint(0, 6)
        if step < 0:
            return first + max(count - 1, 0) * -step, first if count else first + 1000, step
        return first, first + (count - 1) * step, step

    def _head(self, name: str, bounds: tuple[int, int, int]) -> str:
        first, last, step = bounds
        r = self.random
        word = r.choice(["int", "int", "long"])
        if step > 0:
            test = f"{name} < {last + 1}" if r.random() < 0.6 else f"{name} <= {last}"
            change = f"{name} += {step}" if step > 1 or r.random() < 0.3 else f"{name}++"
        else:
            test = f"{name} >= {last}" if r.random() < 0.6 else f"{last - 1} < {name}"
            change = f"{name} -= {-step}"
        return f"for ({word} {name} = {first}; {test}; {change})"

    def _index(self, size: int, counters: dict[str, tuple[int, int, int]], inner: str, injective: bool = False) -> str:
        """A number from 0 to before ``size``, whatever the counters are."""
        r = self.random
        for _ in range(50):
            terms, low, high = [], 0, 0
            for name, (first, last, _step) in counters.items():
                by = r.choice([1, 1, 1, 2, 3, -1, -2, 0]) if name == inner else r.choice([0, 1, 2, -1])
                if injective and name == inner and by == 0:
                    by = 1
                ends = (by * first, by * last)
                low, high = low + min(ends), high + max(ends)
                if by:
                    terms.append(f"{by} * {name}" if by != 1 or r.random() < 0.2 else name)
            if high - low >= size:
                continue
            shift = r.randint(-low, size - 1 - high)
            text = " + ".join(terms) if terms else ""
            form = f"{text} + {shift}" if text and shift >= 0 else f"{text} - {-shift}" if text else str(shift)
            if shift == 0 and text:
                form = text
            return form if r.random() < 0.9 else f"shift + ({form})"
        return f"table[({inner} * {inner}) & 63] % {size}"

    def _element(self, counters: dict[str, tuple[int, int, int]], inner: str, written: bool, among: list[Array]) -> str:
        r = self.random
        array = r.choice(among)
        size = self._size(array)
        kind = r.random()
        if kind < 0.08:
            at = f"table[({inner} * 3) & 63] % {size}"
        elif kind < 0.12:
            at = f"({inner} * {inner} + 1) % {size}"
        else:
            at = self._index(size, counters, inner)
        text = f"{array.name}[{at}]"
        if array.columns:
            text += f"[{self._index(array.columns, counters, inner)}]"
        if array.of == "pair":
            text += r.choice([".x", ".x", ".v[1]"])
        return text

    def _value(self, counters: dict[str, tuple[int, int, int]], inner: str, among: list[Array], pointers: bool) -> str:
        r = self.random
        parts = []
        for _ in range(r.randint(1, 3)):
            kind = r.random()
            if kind < 0.7:
                parts.append(f"(long){self._element(counters, inner, False, among)}")
            elif kind < 0.76:
                parts.append(f"plain[{self._index(64, counters, inner)}]")
            elif kind < 0.8:
                parts.append(f"abs((int)({inner} - 7))")
            elif kind < 0.9 and pointers:
                name, size = r.choice([("p", 8), ("q", 36)])
                parts.append(f"{name}[{self._index(size, counters, inner)}]")
            else:
                parts.append(r.choice([inner, "3", "k"]))
        return "(" + " + ".join(parts) + ") % 1009"

    def _statement(self, counters: dict[str, tuple[int, int, int]], inner: str) -> str:
        r = self.random
        kind = r.random()
        value = self._value(counters, inner, self.arrays, True)
        if kind < 0.1:
            return f"plain[{self._index(64, counters, inner)}] = {value};"
        if kind < 0.16:
            return f"q[{self._index(36, counters, inner)}] = {value};"
        if kind < 0.2:
            return f"p[{self._index(8, counters, inner)}] = {value};"
        if kind < 0.24:
            return f"*to++ = {value};"
        left = self._element(counters, inner, True, self.arrays)
        if kind < 0.3:
            return f"if ({inner} % 3) {left} = {value};"
        if kind < 0.4:
            return f"{left} {r.choice(['+=', '-='])} {value} % 5;"
        if kind < 0.44:
            return f"{left}++;"
        if kind < 0.5:
            return f"k += {value} % 7;"
        if kind < 0.54:
            return f"{{ const long m = {value}; {left} = m; }}"
        if kind < 0.58:
            return f"if ({inner} == 4) continue;"
        return f"{left} = {value};"

    def _mirror(self, text: str) -> str:
        """The same over arrays of the thread."""
        for array in self.arrays:
            text = text.replace(f"{array.name}[", f"r_{array.name}[")
        return text.replace("p[", "r_p[").replace("q[", "r_q[").replace("plain", "twin").replace("r_r_", "r_")

    def _single(self) -> str:
        """One thread does it, in whatever order of reads and writes."""
        r = self.random
        counters: dict[str, tuple[int, int, int]] = {}
        head, names = "", "ijl"[: r.choice([1, 1, 2, 3])]
        for name in names:
            counters[name] = self._bounds()
            head += self._head(name, counters[name]) + " {"
            if name != names[-1] and r.random() < 0.3:
                head += self._statement(counters, name).replace("continue;", ";")
        body = " ".join(self._statement(counters, names[-1]) for _ in range(r.randint(1, 3)))
        loop = head + body + "}" * len(names)
        thread = r.randrange(self.threads)
        base = r.choice([0, 3, 9])
        # Where p leads: into an array that the loop may use, too, or to 8 elements that it does not.
        setting = (
            f"shared [] long *p = &a0[{base}]; shared [3] long *q = array_q; long *r_p = &r_a0[{base}]; "
            "long *to = plain + 100, *r_to = twin + 100; long k = 0, shift = 0; (void)p; (void)q; (void)r_p; (void)to;"
        )
        begin = "long *to = r_to; long k = 0; (void)to; (void)k; (void)shift;"
        mirror = f"{{ {begin} {self._mirror(loop)} twin[99] = k; }}"
        others = f"if (MYTHREAD != {thread}) {{ for (int n = 0; n < 32768; ++n) plain[n] = twin[n]; }}"
        if r.random() < 0.3:
            loop = loop.replace("q[", "kept_q[")  # the same pointer, in shared memory
        return (
            f"static void phase@(void) {{\n  {setting}\n  if (MYTHREAD == {thread}) {{ {loop} plain[99] = k; }}\n"
            f"  upc_barrier;\n  {mirror}\n  {others}\n}}"
        )

    def _dealt(self) -> str:
        """All threads do it; an iteration writes elements of its own, and reads what none writes."""
        r = self.random
        written = r.choice(self.arrays)
        others = [array for array in self.arrays if array is not written]
        first, last, step = self._bounds()
        size = self._size(written)
        if r.random() < 0.5:  # all of it
            first, last, step = r.randint(0, 3), size - 1, r.choice([1, 1, 2])
        last = min(last, size - 1) if step > 0 else last
        if step < 0 and first >= size:
            first, last = size - 1, 0
        bounds = (first, last, step)
        counters = {"i": bounds}
        part = {"pair": r.choice([".x", ""])}.get(written.of, "")
        shift = r.choice([0, 0, 1, 2])
        if last + shift >= size or first + shift >= size:
            shift = 0
        place = f"i + {shift}" if shift else "i"
        element = f"&{written.name}[{place}]" + ("[0]" if written.columns else "")
        affinity = r.choice(["i", element, "i + 1"])
        value = self._value(counters, "i", others, False).replace("k", "5")
        if written.columns:
            inner = {**counters, "j": (0, written.columns - 1, 1)}
            value = self._value(inner, "j", others, False).replace("k", "5")
            left = f"{written.name}[{place}][j]"
            body = f"for (int j = 0; j < {written.columns}; j++) {left}{part} {r.choice(['=', '+='])} {value};"
        else:
            body = f"{written.name}[{place}]{part} {r.choice(['=', '='])} {value};"
        if written.of == "pair" and not part:
            target = f"{written.name}[{place}]" + ("[j]" if written.columns else "")
            make = f"pair v = {{{value}, {{1, 2, 3}}}}; {target} = v;"
            body = f"for (int j = 0; j < {written.columns}; j++) {{ {make} }}" if written.columns else f"{{ {make} }}"
        head = self._head("i", bounds)
        dealt = head.replace("for (", "upc_forall (", 1)[:-1] + f"; {affinity})"
        return (
            f"static void phase@(void) {{\n  long shift = 0; (void)shift;\n  {dealt} {body}\n  upc_barrier;\n"
            f"  {{ {self._mirror(f'{head} {body}')} }}\n}}"
        )
