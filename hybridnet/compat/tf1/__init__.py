"""TensorFlow 1.x's names over hybridnet's graphs: ``import hybridnet.compat.tf1 as tf``."""

from __future__ import annotations

from . import dtypes as dtypes
from . import errors as errors

# -- the core: graphs, tensors, scopes -----------------------------------------------------------
from .control import add_to_collection as add_to_collection
from .control import add_to_collections as add_to_collections
from .control import colocate_with as colocate_with
from .control import container as container
from .control import control_dependencies as control_dependencies
from .control import device as device
from .control import get_collection as get_collection
from .control import get_collection_ref as get_collection_ref
from .control import group as group
from .control import name_scope as name_scope
from .control import set_random_seed as set_random_seed
from .control import tuple as tuple
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
from .session import ConfigProto as ConfigProto
from .session import GPUOptions as GPUOptions
from .session import GraphOptions as GraphOptions
from .session import InteractiveSession as InteractiveSession
from .session import OptimizerOptions as OptimizerOptions
from .session import RunMetadata as RunMetadata
from .session import RunOptions as RunOptions
from .session import Session as Session
from .session import get_default_session as get_default_session
from .shapes import Dimension as Dimension
from .shapes import TensorShape as TensorShape
from .shapes import dimension_value as dimension_value
from .tensor import Operation as Operation
from .tensor import Tensor as Tensor
from .variables import Variable as Variable
from .variables import all_variables as all_variables
from .variables import assign as assign
from .variables import assign_add as assign_add
from .variables import assign_sub as assign_sub
from .variables import global_variables as global_variables
from .variables import global_variables_initializer as global_variables_initializer
from .variables import initialize_all_variables as initialize_all_variables
from .variables import initialize_variables as initialize_variables
from .variables import is_variable_initialized as is_variable_initialized
from .variables import local_variables as local_variables
from .variables import local_variables_initializer as local_variables_initializer
from .variables import model_variables as model_variables
from .variables import moving_average_variables as moving_average_variables
from .variables import trainable_variables as trainable_variables
from .variables import variables_initializer as variables_initializer
