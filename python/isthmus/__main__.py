"""python -m isthmus"""

from .entry import main

main()
