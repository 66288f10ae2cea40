"""``tensorflow.python.client``: pictures of runs."""

from ..session import timeline as timeline

__all__ = ["timeline"]
