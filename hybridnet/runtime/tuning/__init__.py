"""Finding better recipes for programs by measurement: see `hybridnet.tune`."""

from .launches import CapturedLaunch, captured
from .search import Search

__all__ = ["CapturedLaunch", "Search", "captured"]
