"""What is fitted to samples of measurements, as pure functions of arrays, each number with its interval.

- ``curves``: the functions of the size that measurements of one level are: times of calls, half round trips, distances
- ``least_squares``: linear least squares without negative solutions, and which solutions the data do not tell apart
- ``level``: LogGOPS parameters of a level, with pieces
- ``lines``: lines over ranks, hops or waiting messages, and limits of what many do together
- ``noise``: interruptions of cores by the operating system, and their periods
- ``piece``: the parameters of the messages of some sizes, over which every curve is a line
- ``schedules``: messages, copies and reductions that libisthmus carries out, from the times of their schedules
"""

from .level import LevelFit, Parameter, fit_level
from .lines import Model, Points, fit_limit, fit_line
from .noise import NoiseFit, fit_noise
from .schedules import ScheduleFit, fit_schedules

__all__ = [
    "LevelFit",
    "Model",
    "NoiseFit",
    "Parameter",
    "Points",
    "ScheduleFit",
    "fit_level",
    "fit_limit",
    "fit_line",
    "fit_noise",
    "fit_schedules",
]
