"""TensorFlow 1.x's names over hybridnet's graphs: ``import hybridnet.compat.tf1 as tf``."""

from __future__ import annotations

from . import dtypes as dtypes
from . import errors as errors

# -- the core: graphs, tensors, scopes -----------------------------------------------------------
from .core import constant as constant
from .core import convert_to_tensor as convert_to_tensor
from .core import identity as identity
from .core import no_op as no_op
from .core import placeholder as placeholder
from .core import placeholder_with_default as placeholder_with_default
from .core import register_tensor_conversion_function as register_tensor_conversion_function
from .core import stop_gradient as stop_gradient
from .dtypes import *  # noqa: F403
from .graph import Graph as Graph
from .graph import GraphKeys as GraphKeys
from .graph import get_default_graph as get_default_graph
from .graph import reset_default_graph as reset_default_graph
from .shapes import Dimension as Dimension
from .shapes import TensorShape as TensorShape
from .shapes import dimension_value as dimension_value
from .tensor import Operation as Operation
from .tensor import Tensor as Tensor
