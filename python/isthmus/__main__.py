"""python -m isthmus"""

from .cli import main

main()
