"""``tensorflow.python.util``: nests, texts and bytes."""

from .. import compat as compat
from .. import nest as nest

__all__ = ["compat", "nest"]
