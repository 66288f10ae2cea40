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

Where a function says nothing else of it, its argument `name` is that of its Operation or scope.
"""

from __future__ import annotations

from hybridnet.events import Event as Event
from hybridnet.events import Summary as Summary

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
from .dtypes import *  # noqa: F403
from .files.parsing import *  # noqa: F403
from .files.readers import *  # noqa: F403
from .graph.device_spec import *  # noqa: F403
from .graph.gradients import *  # noqa: F403
from .graph.tensor import *  # noqa: F403
from .names import *  # noqa: F403
from .operations.arrays import TensorArray as TensorArray
from .operations.checks import *  # noqa: F403
from .operations.clipping import *  # noqa: F403
from .operations.control_flow import *  # noqa: F403
from .operations.creation import *  # noqa: F403
from .operations.decompositions import *  # noqa: F403
from .operations.joining import *  # noqa: F403
from .operations.known import *  # noqa: F403
from .operations.nn.blocks import *  # noqa: F403
from .operations.parting import *  # noqa: F403
from .operations.reshaping import *  # noqa: F403
from .operations.scripts import *  # noqa: F403
from .operations.segments import *  # noqa: F403
from .operations.slicing import *  # noqa: F403
from .operations.sparse.parts import *  # noqa: F403
from .operations.sparse.strings import *  # noqa: F403
from .operations.while_loop import *  # noqa: F403
from .queues.queue import *  # noqa: F403
from .session.config import *  # noqa: F403
from .session.session import *  # noqa: F403
from .tables.table import tables_initializer as tables_initializer
from .training.accumulators import *  # noqa: F403
from .training.derivatives import *  # noqa: F403
from .variables.initial import *  # noqa: F403
from .variables.lists import *  # noqa: F403
from .variables.partitioned import *  # noqa: F403
from .variables.scatter import *  # noqa: F403
from .variables.scope import *  # noqa: F403
from .variables.template import *  # noqa: F403
from .variables.variable import *  # noqa: F403

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
