"""All translations: importing this module fills the table."""

from . import boxes as boxes
from . import elementwise as elementwise
from . import indexing as indexing
from . import layers as layers
from . import matrices as matrices
from . import recurrent as recurrent
from . import reductions as reductions
from . import shapes as shapes
from . import windows as windows
from .table import TRANSLATIONS as TRANSLATIONS

__all__ = ["TRANSLATIONS"]
