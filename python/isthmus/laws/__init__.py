"""Laws of one parameter, such as the number of ranks: found from a few sizes, used at others, with what is not certain.

- ``terms``: powers and logarithms, and the sets of them that are tried
- ``exact``: laws with rational coefficients that whole numbers follow without error
- ``regression``: all forms fitted by least squares, with the errors of points left out
- ``law``: the verb ``fit``: the law of a series; Law and Prediction

Laws have one parameter. Where a problem has more, such as points of a rank, fit those sizes that share the others.

>>> from isthmus import laws
>>> print(laws.fit({8: 24, 27: 108, 64: 288}))  # faces between the cubes of a grid
6 P - 6 P^(2/3)
"""

from __future__ import annotations

from .law import FEWEST, Law, Prediction, fit
from .regression import student
from .terms import Term, terms_of

__all__ = ["FEWEST", "Law", "Prediction", "Term", "fit", "student", "terms_of"]
