"""All translations: importing this module fills the table."""

from __future__ import annotations

from . import elementwise as elementwise
from . import layers as layers
from . import reductions as reductions
from . import shapes as shapes
from .table import ARRIVALS as ARRIVALS

__all__ = ["ARRIVALS"]
