"""``tensorflow.python.client``: pictures of runs."""

from __future__ import annotations

from ..session import timeline as timeline

__all__ = ["timeline"]
