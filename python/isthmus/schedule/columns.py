"""Columns of numbers: converts users' input to arrays of the core's types, or raises one clear sentence."""

from __future__ import annotations

import functools
import mmap
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidInput

if TYPE_CHECKING:
    from enum import IntEnum

    from numpy.typing import ArrayLike, DTypeLike, NDArray


#: Elements of a block in which whole columns are worked through.
BLOCK = 1 << 18
#: Elements from which on a column is large.
LARGE = 1 << 21


def blocks(size: int) -> Iterator[slice]:
    """Parts of columns of this size, one after another."""
    for begin in range(0, size, BLOCK):
        yield slice(begin, min(begin + BLOCK, size))


def among(column: NDArray[np.integer], numbers: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which elements, from 0 to 255, are among these numbers: kinds of events, mostly.

    ``numpy.isin`` takes longer for a few elements than all else that is done with them, and for many twice as long.
    """
    found: NDArray[np.bool_] = _table_of(tuple(numbers)).take(column)
    return found


@functools.cache
def _table_of(numbers: tuple[int, ...]) -> NDArray[np.bool_]:
    table = np.zeros(256, np.bool_)
    table[list(numbers)] = True
    return table


def drop(column: NDArray[Any]) -> None:
    """Take a column that is mapped from a file off the memory of the process; its contents stay."""
    at: Any = column
    while isinstance(at, np.ndarray):
        at = at.base
    if isinstance(at, memoryview):
        at = at.obj
    if isinstance(at, mmap.mmap):
        at.madvise(mmap.MADV_DONTNEED)


def large(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """A new column: mapped from a file without a name if it is large, so that the system can have its memory back."""
    return mapped(size, dtype) if size > LARGE else np.empty(size, dtype)


def mapped(size: int, dtype: DTypeLike) -> NDArray[Any]:
    """A new column that is mapped from a file without a name (see :func:`drop`); in memory where there is no room."""
    import tempfile

    length = size * np.dtype(dtype).itemsize
    try:
        with tempfile.TemporaryFile(buffering=0) as file:
            # Room that is not there is found now; later it would end the process.
            os.posix_fallocate(file.fileno(), 0, length)
            return np.frombuffer(mmap.mmap(file.fileno(), length), dtype)
    except (OSError, OverflowError):
        return np.empty(size, dtype)


def integers(name: str, values: ArrayLike, dtype: DTypeLike, lowest: int = 0) -> NDArray[Any]:
    """An array of one dimension (of one element for a scalar) of an unsigned or signed integer type.

    Parameters
    ----------
    lowest : int
        Smallest number allowed; -1 for columns where it means "any" and becomes all ones.

    Raises
    ------
    InvalidInput
        For numbers that are not whole, out of the type's range, or below ``lowest``. The array is not copied where its
        type has the right width, and one that repeats a single number in no memory (:func:`repeated`) stays so.
    """
    given = np.atleast_1d(np.asarray(values))
    wanted = np.dtype(dtype)
    if is_repeated(given):
        return repeated(integers(name, given[:1], dtype, lowest)[0], len(given))
    if given.ndim != 1:
        raise InvalidInput(f"{name} has {given.ndim} dimensions: must be a number or have one dimension")
    if given.dtype == wanted and lowest <= np.iinfo(wanted).min:
        return np.ascontiguousarray(given)
    if given.size == 0:
        return np.empty(0, wanted)
    if given.dtype.kind == "b":
        given = given.astype(np.uint8)
    if given.dtype.kind == "f" and np.all(np.mod(given, 1) == 0) and np.all(np.abs(given) < 2**63):
        given = given.astype(np.int64)
    if given.dtype.kind not in "iu":
        raise InvalidInput(f"{name} has elements of type {given.dtype}: must be whole numbers")
    low, high, most = int(given.min()), int(given.max()), int(np.iinfo(wanted).max)
    if low < lowest or high > most:
        wrong = low if low < lowest else high
        at = int(np.flatnonzero(given == wrong)[0])
        where = f"{name}[{at}]" if given.size > 1 else name
        raise InvalidInput(f"{where} is {wrong}: must be {lowest} to {most}")
    if given.dtype.itemsize == wanted.itemsize:
        return np.ascontiguousarray(given).view(wanted)
    return given.astype(wanted)


def numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """A column of floating-point numbers; whether they are in range is the core's to say."""
    try:
        given = np.atleast_1d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must hold numbers only") from None
    if given.ndim != 1:
        raise InvalidInput(f"{name} has {given.ndim} dimensions: must be a number or have one dimension")
    return np.ascontiguousarray(given)


def kinds(name: str, values: ArrayLike, allowed: type[IntEnum]) -> NDArray[np.uint8]:
    """A column of numbers of ``allowed``, given as such or by name; unknown numbers are the core's to reject."""
    given = np.atleast_1d(np.asarray(values))
    if given.dtype.kind not in "UO":
        return integers(name, given, np.uint8)
    different, index = np.unique(given.astype(str), return_inverse=True)
    numbered = np.empty(len(different), np.uint8)
    for i, word in enumerate(different):
        if word not in allowed.__members__:
            raise InvalidInput(f"{name} {str(word)!r} is unknown: must be one of {', '.join(allowed.__members__)}")
        numbered[i] = allowed[word]
    return numbered[index.reshape(given.shape)]


def repeated(number: np.generic, size: int) -> NDArray[Any]:
    """A column that holds one number only, which takes no memory; it is read-only."""
    return np.broadcast_to(number, size)


def is_repeated(column: NDArray[Any]) -> bool:
    """Whether a column is of the kind that :func:`repeated` makes."""
    return column.strides == (0,) and len(column) > 1


def length(columns: dict[str, NDArray[Any]]) -> int:
    """How many elements columns have that hold one element for all or one each."""
    sizes = {name: len(column) for name, column in columns.items() if len(column) != 1}
    if len(set(sizes.values())) > 1:
        raise InvalidInput("columns differ in length: " + ", ".join(f"{name} {n}" for name, n in sizes.items()))
    return next(iter(sizes.values()), 1)


def lengths(first: NDArray[Any]) -> NDArray[np.int64]:
    """Lengths of the parts that begin at ``first``, whose last element is the end of all."""
    offsets = first.astype(np.int64, copy=False)
    return offsets[1:] - offsets[:-1]


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only look at an array."""
    look = array.view()
    look.flags.writeable = False
    return look
