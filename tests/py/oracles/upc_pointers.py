"""Shared arrays and pointers to them as UPC 1.3 says, sections 6.4.2 and 6.4.3: one step at a time, slow and obvious.

A program is made of random lines; what it prints is worked out here beside it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

WORD = {4: "unsigned int", 8: "unsigned long"}


@dataclass
class Array:
    name: str
    size: int  #: of an element, in bytes
    block: int  #: 0: without an end
    length: int
    threads: int

    def __post_init__(self) -> None:
        self.values = [0] * self.length

    def place(self, index: int) -> Pointer:
        at = Pointer(self, self.size, self.block, 0, 0, 0, (self.name, 0))
        for _ in range(index):
            at = at.next()
        return at


@dataclass(frozen=True)
class Pointer:
    array: Array
    size: int
    block: int
    thread: int
    phase: int
    offset: int  #: from where the array begins, in the memory of the thread
    family: tuple[str, int]  #: pointers that came from each other by arithmetic alone

    def next(self) -> Pointer:
        if self.block == 0:
            return replace(self, offset=self.offset + self.size)
        if self.phase + 1 < self.block:
            return replace(self, phase=self.phase + 1, offset=self.offset + self.size)
        first = self.offset - self.phase * self.size
        if self.thread + 1 < self.array.threads:
            return replace(self, phase=0, offset=first, thread=self.thread + 1)
        return replace(self, phase=0, offset=first + self.block * self.size, thread=0)

    def before(self) -> Pointer:
        if self.block == 0:
            return replace(self, offset=self.offset - self.size)
        if self.phase > 0:
            return replace(self, phase=self.phase - 1, offset=self.offset - self.size)
        last = self.offset + (self.block - 1) * self.size
        if self.thread > 0:
            return replace(self, phase=self.block - 1, offset=last, thread=self.thread - 1)
        return replace(self, phase=self.block - 1, offset=last - self.block * self.size, thread=self.array.threads - 1)

    def moved(self, elements: int) -> Pointer:
        at = self
        for _ in range(abs(elements)):
            at = at.next() if elements > 0 else at.before()
        return at

    def cast(self, size: int, block: int, number: int) -> Pointer:
        if size == self.size and block == self.block:
            return self
        return replace(self, size=size, block=block, phase=0, family=(self.array.name, number))

    def index(self) -> int | None:
        """Of the element of the array that it points to."""
        for index in range(self.array.length):
            at = self.array.place(index)
            if (at.thread, at.offset) == (self.thread, self.offset) and self.size == self.array.size:
                return index
        return None


class Program:
    """Lines of UPC, and what they print."""

    def __init__(self, seed: int, threads: int, lines: int) -> None:
        self.random = random.Random(seed)
        self.threads = threads
        self.lines: list[str] = []
        self.loops: list[str] = []
        self.expected: list[int] = []
        self.casts = 0
        self.arrays = [self._array(number) for number in range(4)]
        self.types = [(array.size, array.block) for array in self.arrays]
        self.pointers: dict[str, Pointer] = {}
        for number, array in enumerate(self.arrays):
            for letter in "pq":
                self._point(f"{letter}{number}", array)
        looped = [self._loop(number) for number in range(max(1, lines // 50))]
        while len(self.lines) < lines:
            self.random.choice(
                [self._move, self._move, self._cast, self._compare, self._read, self._assign, self._step]
            )()
        self.expected = [*(count for counts in looped for count in counts), *self.expected]

    def _array(self, number: int) -> Array:
        block = self.random.choice([0, 1, 1, 2, 3, 5, 8])
        length = self.random.randint(3, 40)
        return Array(f"a{number}", self.random.choice([4, 8]), block, length, self.threads)

    def _point(self, name: str, array: Array) -> None:
        index = self.random.randrange(array.length)
        self.lines.append(f"{name} = &{array.name}[{index}];")
        self.pointers[name] = array.place(index)

    def _print(self, text: str, value: int) -> None:
        self.lines.append(f'printf("%ld\\n", (long)({text}));')
        self.expected.append(value)

    def _show(self, name: str, at: Pointer) -> None:
        self._print(f"upc_threadof({name})", at.thread)
        self._print(f"upc_phaseof({name})", at.phase)
        self._print(f"(long)upc_addrfield({name}) - (long)upc_addrfield({at.array.name})", at.offset)

    def _move(self) -> None:
        name = self.random.choice([*self.pointers])
        at = self.pointers[name]
        step = self.random.randint(-12, 12)
        form = self.random.choice(["+=", "-=", "++", "--", "+", "-"])
        if form in ("+=", "-="):
            self.lines.append(f"{name} {form} {step};")
            at = at.moved(step if form == "+=" else -step)
        elif form in ("++", "--"):
            left = self.random.random() < 0.5
            self.lines.append(f"keep = {form}{name};" if left else f"keep = {name}{form};")
            moved = at.moved(1 if form == "++" else -1)
            self._show("keep", replace(moved if left else at))
            at = moved
        else:
            self.lines.append(f"{name} = {f'{step} + {name}' if form == '+' else f'{name} - {step}'};")
            at = at.moved(step if form == "+" else -step)
        self.pointers[name] = at
        self._show(name, at)

    def _cast(self) -> None:
        name, other = self.random.choice([*self.pointers]), self.random.choice([*self.pointers])
        size, block = self.types[int(name[1])]
        self.casts += 1
        at = self.pointers[other].cast(size, block, self.casts)
        self.lines.append(f"{name} = (shared [{block}] {WORD[size]} *){other};")
        self.pointers[name] = at
        self._show(name, at)
        if self.random.random() < 0.5:
            self._point(name, self.arrays[int(name[1])])

    def _compare(self) -> None:
        number = self.random.randrange(4)
        p, q = self.pointers[f"p{number}"], self.pointers[f"q{number}"]
        if p.family != q.family:
            self._point(f"p{number}", self.arrays[number])
            self._point(f"q{number}", self.arrays[number])
            return
        apart = 0
        while (p.moved(apart).thread, p.moved(apart).offset) != (q.thread, q.offset):
            apart = -apart if apart < 0 else -apart - 1  # 0, -1, 1, -2, 2, ...
        self._print(f"q{number} - p{number}", apart)
        self._print(f"p{number} < q{number}", apart > 0)
        self._print(f"p{number} >= q{number}", apart <= 0)
        self._print(f"p{number} == q{number}", apart == 0)

    def _value(self, depth: int = 2) -> tuple[str, int]:
        kind = self.random.choice(["number", "element", "sum", "product", "chosen", "pointed"] if depth else ["number"])
        if kind == "number":
            value = self.random.randint(0, 1000)
            return f"{value}ul", value
        if kind == "element":
            array = self.random.choice(self.arrays)
            index = self.random.randrange(array.length)
            return f"(unsigned long){array.name}[{index}]", array.values[index]
        if kind == "pointed":
            name = self.random.choice([*self.pointers])
            index = self.pointers[name].index()
            if index is None:
                return self._value(0)
            return f"(unsigned long)*{name}", self.pointers[name].array.values[index]
        (one, left), (other, right) = self._value(depth - 1), self._value(depth - 1)
        if kind == "chosen":
            return f"({one} < {other} ? {one} : {other})", min(left, right)
        sign = "+" if kind == "sum" else "*"
        return f"({one} {sign} {other})", (left + right if kind == "sum" else left * right) % 2**64

    def _read(self) -> None:
        text, value = self._value()
        self._print(text, value - 2**64 if value >= 2**63 else value)

    def _place(self) -> tuple[str, Array, int]:
        name = self.random.choice([*self.pointers])
        index = self.pointers[name].index()
        if index is not None and self.random.random() < 0.6:
            return f"*{name}", self.pointers[name].array, index
        array = self.random.choice(self.arrays)
        index = self.random.randrange(array.length)
        return f"{array.name}[{index}]", array, index

    def _assign(self) -> None:
        place, array, index = self._place()
        text, value = self._value()
        sign = self.random.choice(["=", "+=", "-=", "*=", "^=", "|=", "&="])
        old = array.values[index]
        new = {"=": value, "+=": old + value, "-=": old - value, "*=": old * value, "^=": old ^ value}
        new |= {"|=": old | value, "&=": old & value}
        array.values[index] = new[sign] % 2 ** (8 * array.size)
        self.lines.append(f"{place} {sign} {text};")
        value = array.values[index]
        self._print(f"(unsigned long){array.name}[{index}]", value - 2**64 if value >= 2**63 else value)

    def _step(self) -> None:
        place, array, index = self._place()
        sign, left = self.random.choice(["++", "--"]), self.random.random() < 0.5
        old = array.values[index]
        array.values[index] = (old + (1 if sign == "++" else -1)) % 2 ** (8 * array.size)
        value = array.values[index] if left else old
        shown = f"{sign}{place}" if left else f"({place}){sign}"
        self._print(f"(unsigned long)({shown})", value - 2**64 if value >= 2**63 else value)

    def _loop(self, number: int) -> list[int]:
        """A loop whose iterations the threads count."""
        array = self.random.choice(self.arrays)
        first, last = sorted(self.random.sample(range(array.length + 1), 2))
        step = self.random.randint(1, 3)
        kind = self.random.choice([f"&{array.name}[i]", "i", "i * 3 - 7"])
        self.loops.append(f"upc_forall (i = {first}; i < {last}; i += {step}; {kind}) counts[{number}][MYTHREAD]++;")
        counts = [0] * self.threads
        for i in range(first, last, step):
            turn = {"i": i, "i * 3 - 7": i * 3 - 7}.get(kind)
            counts[array.place(i).thread if turn is None else turn % self.threads] += 1
        return counts

    def text(self) -> str:
        declared = [f"shared [{a.block}] {WORD[a.size]} {a.name}[{a.length}];" for a in self.arrays]
        kinds = [f"static shared [{block}] {WORD[size]} *p{n}, *q{n};" for n, (size, block) in enumerate(self.types)]
        parts = [self.lines[at : at + 100] for at in range(0, len(self.lines), 100)]
        functions = [
            f"static void part{number}(void) {{\n" + "\n".join(part) + "\n}" for number, part in enumerate(parts)
        ]
        calls = "".join(f"part{number}();" for number in range(len(parts)))
        shown = f"for (int l = 0; l < {len(self.loops)}; ++l) for (int t = 0; t < THREADS; ++t)"
        return "\n".join(
            [
                "#include <upc.h>", "#include <stdio.h>", *declared, *kinds, "static shared void *keep;",
                f"shared int counts[{len(self.loops)}][THREADS];", *functions,
                "int main(void) { int i;", *self.loops, "upc_barrier;", "if (MYTHREAD == THREADS - 1) {",
                f'{shown} printf("%d\\n", counts[l][t]);', calls, "}", "return 0; }", "",
            ]
        )  # fmt: skip
