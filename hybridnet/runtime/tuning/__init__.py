"""Finding better recipes for programs by measurement: see `hybridnet.tune`."""

from .launches import Launch, captured
from .search import Search

__all__ = ["Launch", "Search", "captured"]
