"""TensorFlow 1.x's names over hybridnet's graphs: ``import hybridnet.compat.tf1 as tf``.

The modules here are TensorFlow's own (``tf.nn``, ``tf.train``). What they name is in folders; each
may import from those above it:

    graph       graphs, tensors, Operations, and the scopes and types of these
    session     what runs a graph
    operations  functions that add Operations; nn: layers; sparse: sparse tensors
    variables   variables, their scopes, their first values
    queues      queues, and the threads that fill them
    dataset     elements that are made on the host, one after the other
    files       records and lines of files, and what is in them
    tables      tables from keys to values, as from words to their numbers
    summaries   values of a run for TensorBoard
    images      images, read, resized, cut out, coloured
    layer       layers with variables of their own
    recurrent   cells, and loops over sequences
    contrib     sums over devices, and older names of cells and layers
    training    optimizers, learning rates, checkpoints, watched sessions
    testing     unit tests, and gradients by differences
    examples    the data of TensorFlow's tutorials
    python      names of TensorFlow's own modules
"""

from __future__ import annotations

from . import app as app
from . import compat as compat
from . import contrib as contrib
from . import data as data
from . import debugging as debugging
from . import distributions as distributions
from . import dtypes as dtypes
from . import errors as errors
from . import flags as flags
from . import gfile as gfile
from . import image as image
from . import initializers as initializers
from . import io as io
from . import layers as layers
from . import linalg as linalg
from . import logging as logging
from . import lookup as lookup
from . import losses as losses
from . import math as math
from . import metrics as metrics
from . import nest as nest
from . import nn as nn
from . import python_io as python_io
from . import random as random
from . import sparse as sparse
from . import strings as strings
from . import summary as summary
from . import test as test
from . import train as train
from .behavior import disable_eager_execution as disable_eager_execution
from .behavior import disable_resource_variables as disable_resource_variables
from .behavior import disable_v2_behavior as disable_v2_behavior
from .behavior import enable_resource_variables as enable_resource_variables
from .behavior import executing_eagerly as executing_eagerly
from .dtypes import *  # noqa: F403
from .files.parsing import *  # noqa: F403
from .files.readers import FixedLengthRecordReader as FixedLengthRecordReader
from .files.readers import IdentityReader as IdentityReader
from .files.readers import ReaderBase as ReaderBase
from .files.readers import TextLineReader as TextLineReader
from .files.readers import TFRecordReader as TFRecordReader
from .files.readers import WholeFileReader as WholeFileReader
from .files.readers import matching_files as matching_files
from .files.readers import read_file as read_file
from .files.readers import write_file as write_file
from .graph.control import add_to_collection as add_to_collection
from .graph.control import add_to_collections as add_to_collections
from .graph.control import colocate_with as colocate_with
from .graph.control import container as container
from .graph.control import control_dependencies as control_dependencies
from .graph.control import device as device
from .graph.control import get_collection as get_collection
from .graph.control import get_collection_ref as get_collection_ref
from .graph.control import group as group
from .graph.control import name_scope as name_scope
from .graph.control import set_random_seed as set_random_seed
from .graph.control import tuple as tuple
from .graph.device_spec import DeviceSpec as DeviceSpec
from .graph.gradients import AggregationMethod as AggregationMethod
from .graph.gradients import NoGradient as NoGradient
from .graph.gradients import NotDifferentiable as NotDifferentiable
from .graph.gradients import RegisterGradient as RegisterGradient
from .graph.gradients import UnconnectedGradients as UnconnectedGradients
from .graph.gradients import custom_gradient as custom_gradient
from .graph.gradients import get_gradient_function as get_gradient_function
from .graph.gradients import gradients as gradients
from .graph.graph import Graph as Graph
from .graph.graph import GraphKeys as GraphKeys
from .graph.graph import get_default_graph as get_default_graph
from .graph.graph import reset_default_graph as reset_default_graph
from .graph.graph_def import GraphDef as GraphDef
from .graph.graph_def import NodeDef as NodeDef
from .graph.shapes import Dimension as Dimension
from .graph.shapes import TensorShape as TensorShape
from .graph.shapes import dimension_value as dimension_value
from .graph.tensor import Operation as Operation
from .graph.tensor import Tensor as Tensor
from .graph.values import constant as constant
from .graph.values import convert_to_tensor as convert_to_tensor
from .graph.values import identity as identity
from .graph.values import no_op as no_op
from .graph.values import placeholder as placeholder
from .graph.values import placeholder_with_default as placeholder_with_default
from .graph.values import register_tensor_conversion_function as register_tensor_conversion_function
from .graph.values import stop_gradient as stop_gradient
from .operations.arrays import TensorArray as TensorArray
from .operations.checks import *  # noqa: F403
from .operations.clipping import *  # noqa: F403
from .operations.control_flow import case as case
from .operations.control_flow import cond as cond
from .operations.creation import *  # noqa: F403
from .operations.decompositions import *  # noqa: F403
from .operations.elementwise import abs as abs
from .operations.elementwise import accumulate_n as accumulate_n
from .operations.elementwise import acos as acos
from .operations.elementwise import acosh as acosh
from .operations.elementwise import add as add
from .operations.elementwise import add_n as add_n
from .operations.elementwise import asin as asin
from .operations.elementwise import asinh as asinh
from .operations.elementwise import atan as atan
from .operations.elementwise import atan2 as atan2
from .operations.elementwise import atanh as atanh
from .operations.elementwise import cast as cast
from .operations.elementwise import ceil as ceil
from .operations.elementwise import cos as cos
from .operations.elementwise import cosh as cosh
from .operations.elementwise import digamma as digamma
from .operations.elementwise import div as div
from .operations.elementwise import div_no_nan as div_no_nan
from .operations.elementwise import divide as divide
from .operations.elementwise import equal as equal
from .operations.elementwise import erf as erf
from .operations.elementwise import erfc as erfc
from .operations.elementwise import exp as exp
from .operations.elementwise import expm1 as expm1
from .operations.elementwise import floor as floor
from .operations.elementwise import floor_div as floor_div
from .operations.elementwise import floordiv as floordiv
from .operations.elementwise import floormod as floormod
from .operations.elementwise import greater as greater
from .operations.elementwise import greater_equal as greater_equal
from .operations.elementwise import is_finite as is_finite
from .operations.elementwise import is_inf as is_inf
from .operations.elementwise import is_nan as is_nan
from .operations.elementwise import less as less
from .operations.elementwise import less_equal as less_equal
from .operations.elementwise import lgamma as lgamma
from .operations.elementwise import log as log
from .operations.elementwise import log1p as log1p
from .operations.elementwise import log_sigmoid as log_sigmoid
from .operations.elementwise import logical_and as logical_and
from .operations.elementwise import logical_not as logical_not
from .operations.elementwise import logical_or as logical_or
from .operations.elementwise import logical_xor as logical_xor
from .operations.elementwise import maximum as maximum
from .operations.elementwise import minimum as minimum
from .operations.elementwise import mod as mod
from .operations.elementwise import multiply as multiply
from .operations.elementwise import negative as negative
from .operations.elementwise import not_equal as not_equal
from .operations.elementwise import pow as pow
from .operations.elementwise import realdiv as realdiv
from .operations.elementwise import reciprocal as reciprocal
from .operations.elementwise import rint as rint
from .operations.elementwise import round as round
from .operations.elementwise import rsqrt as rsqrt
from .operations.elementwise import saturate_cast as saturate_cast
from .operations.elementwise import scalar_mul as scalar_mul
from .operations.elementwise import sigmoid as sigmoid
from .operations.elementwise import sign as sign
from .operations.elementwise import sin as sin
from .operations.elementwise import sinh as sinh
from .operations.elementwise import sqrt as sqrt
from .operations.elementwise import square as square
from .operations.elementwise import squared_difference as squared_difference
from .operations.elementwise import subtract as subtract
from .operations.elementwise import tan as tan
from .operations.elementwise import tanh as tanh
from .operations.elementwise import to_double as to_double
from .operations.elementwise import to_float as to_float
from .operations.elementwise import to_int32 as to_int32
from .operations.elementwise import to_int64 as to_int64
from .operations.elementwise import truediv as truediv
from .operations.elementwise import truncatediv as truncatediv
from .operations.elementwise import truncatemod as truncatemod
from .operations.functional import foldl as foldl
from .operations.functional import foldr as foldr
from .operations.functional import map_fn as map_fn
from .operations.functional import scan as scan
from .operations.gathering import confusion_matrix as confusion_matrix
from .operations.gathering import gather as gather
from .operations.gathering import gather_nd as gather_nd
from .operations.gathering import invert_permutation as invert_permutation
from .operations.gathering import one_hot as one_hot
from .operations.gathering import scatter_nd as scatter_nd
from .operations.gathering import sequence_mask as sequence_mask
from .operations.gathering import tensor_scatter_nd_add as tensor_scatter_nd_add
from .operations.gathering import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from .operations.gathering import tensor_scatter_nd_update as tensor_scatter_nd_update
from .operations.gathering import where_v2 as where_v2
from .operations.joining import *  # noqa: F403
from .operations.known import *  # noqa: F403
from .operations.matrices import diag as diag
from .operations.matrices import diag_part as diag_part
from .operations.matrices import einsum as einsum
from .operations.matrices import eye as eye
from .operations.matrices import matmul as matmul
from .operations.matrices import matrix_determinant as matrix_determinant
from .operations.matrices import matrix_diag as matrix_diag
from .operations.matrices import matrix_diag_part as matrix_diag_part
from .operations.matrices import matrix_inverse as matrix_inverse
from .operations.matrices import matrix_transpose as matrix_transpose
from .operations.matrices import norm as norm
from .operations.matrices import tensordot as tensordot
from .operations.matrices import trace as trace
from .operations.nn.blocks import *  # noqa: F403
from .operations.ordering import arg_max as arg_max
from .operations.ordering import arg_min as arg_min
from .operations.ordering import argmax as argmax
from .operations.ordering import argmin as argmin
from .operations.ordering import argsort as argsort
from .operations.ordering import cumprod as cumprod
from .operations.ordering import cumsum as cumsum
from .operations.ordering import sort as sort
from .operations.ordering import unsorted_segment_max as unsorted_segment_max
from .operations.ordering import unsorted_segment_mean as unsorted_segment_mean
from .operations.ordering import unsorted_segment_min as unsorted_segment_min
from .operations.ordering import unsorted_segment_sum as unsorted_segment_sum
from .operations.parting import *  # noqa: F403
from .operations.random import multinomial as multinomial
from .operations.random import random_crop as random_crop
from .operations.random import random_normal as random_normal
from .operations.random import random_shuffle as random_shuffle
from .operations.random import random_uniform as random_uniform
from .operations.random import truncated_normal as truncated_normal
from .operations.reduction import count_nonzero as count_nonzero
from .operations.reduction import reduce_all as reduce_all
from .operations.reduction import reduce_any as reduce_any
from .operations.reduction import reduce_logsumexp as reduce_logsumexp
from .operations.reduction import reduce_max as reduce_max
from .operations.reduction import reduce_mean as reduce_mean
from .operations.reduction import reduce_min as reduce_min
from .operations.reduction import reduce_prod as reduce_prod
from .operations.reduction import reduce_sum as reduce_sum
from .operations.reshaping import *  # noqa: F403
from .operations.scripts import boolean_mask as boolean_mask
from .operations.scripts import numpy_function as numpy_function
from .operations.scripts import py_func as py_func
from .operations.scripts import unique as unique
from .operations.scripts import unique_with_counts as unique_with_counts
from .operations.scripts import where as where
from .operations.segments import *  # noqa: F403
from .operations.slicing import newaxis as newaxis
from .operations.slicing import slice as slice
from .operations.slicing import strided_slice as strided_slice
from .operations.sparse.functions import sparse_add as sparse_add
from .operations.sparse.functions import sparse_reduce_sum as sparse_reduce_sum
from .operations.sparse.functions import sparse_reorder as sparse_reorder
from .operations.sparse.functions import sparse_reshape as sparse_reshape
from .operations.sparse.functions import sparse_tensor_dense_matmul as sparse_tensor_dense_matmul
from .operations.sparse.functions import sparse_tensor_to_dense as sparse_tensor_to_dense
from .operations.sparse.functions import sparse_to_dense as sparse_to_dense
from .operations.sparse.parts import *  # noqa: F403
from .operations.sparse.strings import string_split as string_split
from .operations.sparse.tensor import IndexedSlices as IndexedSlices
from .operations.sparse.tensor import SparseTensor as SparseTensor
from .operations.sparse.tensor import SparseTensorValue as SparseTensorValue
from .operations.sparse.tensor import (
    convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor,
)
from .operations.sparse.tensor import sparse_placeholder as sparse_placeholder
from .operations.strings import as_string as as_string
from .operations.strings import decode_raw as decode_raw
from .operations.strings import reduce_join as reduce_join
from .operations.strings import regex_replace as regex_replace
from .operations.strings import string_join as string_join
from .operations.strings import string_strip as string_strip
from .operations.strings import string_to_number as string_to_number
from .operations.strings import substr as substr
from .operations.while_loop import while_loop as while_loop
from .queues.queue import FIFOQueue as FIFOQueue
from .queues.queue import PaddingFIFOQueue as PaddingFIFOQueue
from .queues.queue import PriorityQueue as PriorityQueue
from .queues.queue import QueueBase as QueueBase
from .queues.queue import RandomShuffleQueue as RandomShuffleQueue
from .session.config import ConfigProto as ConfigProto
from .session.config import GPUOptions as GPUOptions
from .session.config import GraphOptions as GraphOptions
from .session.config import OptimizerOptions as OptimizerOptions
from .session.session import InteractiveSession as InteractiveSession
from .session.session import RunMetadata as RunMetadata
from .session.session import RunOptions as RunOptions
from .session.session import Session as Session
from .session.session import get_default_session as get_default_session
from .summaries.events import Event as Event
from .summaries.events import Summary as Summary
from .tables.table import tables_initializer as tables_initializer
from .training.accumulators import ConditionalAccumulator as ConditionalAccumulator
from .training.accumulators import ConditionalAccumulatorBase as ConditionalAccumulatorBase
from .training.accumulators import SparseConditionalAccumulator as SparseConditionalAccumulator
from .training.derivatives import hessians as hessians
from .variables.initial import constant_initializer as constant_initializer
from .variables.initial import glorot_normal_initializer as glorot_normal_initializer
from .variables.initial import glorot_uniform_initializer as glorot_uniform_initializer
from .variables.initial import ones_initializer as ones_initializer
from .variables.initial import orthogonal_initializer as orthogonal_initializer
from .variables.initial import random_normal_initializer as random_normal_initializer
from .variables.initial import random_uniform_initializer as random_uniform_initializer
from .variables.initial import truncated_normal_initializer as truncated_normal_initializer
from .variables.initial import uniform_unit_scaling_initializer as uniform_unit_scaling_initializer
from .variables.initial import variance_scaling_initializer as variance_scaling_initializer
from .variables.initial import zeros_initializer as zeros_initializer
from .variables.lists import all_variables as all_variables
from .variables.lists import global_variables as global_variables
from .variables.lists import global_variables_initializer as global_variables_initializer
from .variables.lists import initialize_all_variables as initialize_all_variables
from .variables.lists import initialize_variables as initialize_variables
from .variables.lists import local_variables as local_variables
from .variables.lists import local_variables_initializer as local_variables_initializer
from .variables.lists import model_variables as model_variables
from .variables.lists import moving_average_variables as moving_average_variables
from .variables.lists import trainable_variables as trainable_variables
from .variables.lists import variables_initializer as variables_initializer
from .variables.partitioned import fixed_size_partitioner as fixed_size_partitioner
from .variables.partitioned import min_max_variable_partitioner as min_max_variable_partitioner
from .variables.partitioned import variable_axis_size_partitioner as variable_axis_size_partitioner
from .variables.scatter import scatter_add as scatter_add
from .variables.scatter import scatter_max as scatter_max
from .variables.scatter import scatter_min as scatter_min
from .variables.scatter import scatter_nd_add as scatter_nd_add
from .variables.scatter import scatter_nd_sub as scatter_nd_sub
from .variables.scatter import scatter_nd_update as scatter_nd_update
from .variables.scatter import scatter_sub as scatter_sub
from .variables.scatter import scatter_update as scatter_update
from .variables.scope import AUTO_REUSE as AUTO_REUSE
from .variables.scope import VariableScope as VariableScope
from .variables.scope import get_local_variable as get_local_variable
from .variables.scope import get_variable as get_variable
from .variables.scope import get_variable_scope as get_variable_scope
from .variables.scope import no_regularizer as no_regularizer
from .variables.scope import variable_op_scope as variable_op_scope
from .variables.scope import variable_scope as variable_scope
from .variables.template import make_template as make_template
from .variables.uninitialized import (
    report_uninitialized_variables as report_uninitialized_variables,
)
from .variables.variable import Variable as Variable
from .variables.variable import assign as assign
from .variables.variable import assign_add as assign_add
from .variables.variable import assign_sub as assign_sub
from .variables.variable import is_variable_initialized as is_variable_initialized

#: That of TensorFlow whose names these are.
__version__ = "1.15.0"
VERSION = __version__

#: What is not here on purpose, and what to use.
_INSTEAD = {
    "estimator": "write the loop with tf.train.MonitoredTrainingSession, or use hybridnet.gluon",
    "keras": "use tf.layers, or hybridnet.gluon",
    "enable_eager_execution": "use hybridnet.nd and hybridnet.gluon for eager code",
    "lite": "use hybridnet.export or hybridnet.onnx",
}


def __getattr__(name: str) -> object:
    """Says what to use in the place of what is not here.

    Raises:
        AttributeError: always.
    """
    instead = f": {_INSTEAD[name]}" if name in _INSTEAD else "; docs/tensorflow.md lists what is"
    raise AttributeError(f"tf.{name} is not in hybridnet.compat.tf1{instead}")
