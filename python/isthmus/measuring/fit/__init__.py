"""What is fitted to samples of measurements, as pure functions of arrays, each number with its interval.

- ``curves``: the functions of the size that measurements of one level are: times of calls, half round trips, distances
- ``least_squares``: linear least squares without negative solutions, and which solutions the data do not tell apart
- ``level``: LogGOPS parameters of a level, with pieces
- ``piece``: the parameters of the messages of some sizes, over which every curve is a line
"""

from .level import LevelFit, Parameter, fit_level

__all__ = ["LevelFit", "Parameter", "fit_level"]
