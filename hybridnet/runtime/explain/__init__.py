"""Explanations of what was launched, for people: as text, and as tables for notebooks."""

from ..observe.journal import Launch as Launch
from .text import Explanation as Explanation
from .text import explain as explain
from .text import explaining as explaining

__all__ = ["Explanation", "Launch", "explain", "explaining"]
