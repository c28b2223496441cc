"""What is fitted to samples of measurements, as pure functions of arrays, each number with its interval.

- ``curves``: the functions of the size that measurements of one level are: times of calls, half round trips, distances
- ``least_squares``: linear least squares without negative solutions, and which solutions the data do not tell apart
- ``level``: LogGOPS parameters of a level, with pieces
- ``noise``: interruptions of cores by the operating system, and their periods
- ``piece``: the parameters of the messages of some sizes, over which every curve is a line
"""

from .level import LevelFit, Parameter, fit_level
from .noise import NoiseFit, fit_noise

__all__ = ["LevelFit", "NoiseFit", "Parameter", "fit_level", "fit_noise"]
