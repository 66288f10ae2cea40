"""The functions of arrays that other floors use, and users do not."""

from .blank import ones_of as ones_of
from .blank import zeros_of as zeros_of
from .control_flow import TRACED as TRACED
from .lists import are_dense as are_dense
from .lists import edge_of as edge_of
from .lists import stamp_of as stamp_of
from .parts import cast_call as cast_call
from .parts import fill_call as fill_call
from .rows import rows as rows
from .rows import stacked as stacked
from .storage_types import storage_type as storage_type
