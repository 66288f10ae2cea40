"""Finding better recipes for programs by measurement: see `hybridnet.tune`."""

from .idle import tune_when_idle
from .launches import Launch, captured
from .search import Search

__all__ = ["Launch", "Search", "captured", "tune_when_idle"]
