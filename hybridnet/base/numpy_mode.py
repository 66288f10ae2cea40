"""Whether this thread is in NumPy mode: what `util.set_np` and its scopes set.

Arrays with NumPy's semantics can be used at any time; the mode decides what is made by code that
does not say which kind it wants, such as parameters of blocks and batches of data.
"""

from __future__ import annotations

import threading
from typing import Final


class _Mode(threading.local):
    """The mode of one thread.

    Attributes:
        array: whether arrays are made with NumPy's semantics.
        shape: whether shapes are read as NumPy reads them. Without effect on hybridnet's arrays,
            of which either kind may have no dimensions or no elements.
    """

    #: What threads start with: what `set_np` of the main program has set.
    initial_array = False
    initial_shape = False

    def __init__(self) -> None:
        self.array = _Mode.initial_array
        self.shape = _Mode.initial_shape

    def set_everywhere(self, shape: bool, array: bool | None = None) -> None:
        """Sets the mode of this thread, and what threads started later begin with.

        Args:
            shape: whether shapes are read as NumPy reads them.
            array: whether arrays are made with NumPy's semantics; None leaves it as it is.
        """
        _Mode.initial_shape = self.shape = shape
        if array is not None:
            _Mode.initial_array = self.array = array


mode: Final = _Mode()
