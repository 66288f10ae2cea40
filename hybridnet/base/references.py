"""Reference counts that tell who else holds an object, and that no bytecode takes part in.

The memory of an array is given to a program only if nobody else holds the array, and a result is
computed only if somebody does. CPython's reference counts tell, so that no account has to be kept
of what users hold. They must never be too low: then an array would be overwritten that is read
later. Three things see to that:

- *Only containers of ours hold what is counted*, lists and attributes, and never a variable: the
  reference of a list or of an attribute is always counted. That of a variable is not always: since
  Python 3.14 the arguments of a function, and what an expression has on its stack, may *borrow* the
  reference of a variable below them (`LOAD_FAST_BORROW`). So a count seen from inside of a function
  tells nothing about the function's own variables.
- *Whoever else holds it is counted.* What is borrowed is borrowed from a variable of a frame, whose
  own reference is counted and lasts longer. So all references that borrow from one another count
  for one, but never for none: not in running frames, of this thread or another, and not in
  generators, whose frames own what they keep when they are suspended.
- *C code asks for the counts*: `map` takes each object from a list. How an expression such as
  ``getrefcount(held[i])`` is compiled, and specialized once it has run often, does not matter. What
  the asking itself adds is not assumed, but measured, as the library is loaded, in the same way.

tests/base/test_references.py holds all of that against the Python that runs. (One without the
global lock counts in other ways; nobody has tried it.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from sys import getrefcount
from typing import Any, Final

#: The reference counts of the objects of a list, one after the other.
counts: Final[Callable[[Sequence[Any]], Iterator[int]]] = partial(map, getrefcount)

#: The count of an object that one list holds, and nobody else: one for the list, and what the
#: asking adds. Each further list or attribute that holds the object adds one.
ALONE: Final = next(counts([object()]))
