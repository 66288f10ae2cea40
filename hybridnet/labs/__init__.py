"""`labs`: replace a part of the system by your own.

    hybridnet lab list
    hybridnet lab start engine my-engine     # a folder with the task, a stub and tests
    hybridnet lab check my-engine            # which property fails, with the smallest example
    hybridnet lab run my-engine              # trains LeNet with your part in the framework
    hybridnet lab solution engine

A lab is a folder of `hybridnet.labs.course`: ``checks.py`` holds the properties of the part and
``run.py`` puts it into the framework; ``solution.py`` is a part that passes; ``en/`` and ``zh/``
hold the stub, the page and what is said, in English and Chinese. docs/labs.md is the course.
"""

from .names import NAMES
from .tests import test_names, test_part

__all__ = ["NAMES", "test_names", "test_part"]
