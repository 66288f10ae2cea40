"""All translations: importing this module fills the table."""

from . import elementwise as elementwise
from . import images as images
from . import normalization as normalization
from . import products as products
from . import recurrent as recurrent
from . import reductions as reductions
from . import shapes as shapes
from . import windows as windows
from .table import ARRIVALS as ARRIVALS

__all__ = ["ARRIVALS"]
