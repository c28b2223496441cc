"""In processes with this folder on PYTHONPATH there is one more kind of study, ``sleeping``."""

import sys

import sleeping
from isthmus.studies import parameters

sys.modules["isthmus.studies.sleeping"] = sleeping
parameters._MODULES["sleeping"] = "sleeping"
