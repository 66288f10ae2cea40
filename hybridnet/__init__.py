"""hybridnet: eager arrays, symbols and traced functions over one graph, program cache and engine.

    import hybridnet as hn          # or, for MXNet's programs: import hybridnet as mx

Modules are loaded when first used: importing hybridnet starts no thread and loads no JAX.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any, Final

if not os.path.isdir(os.path.join(__path__[0], "engine")):
    from . import _checkout as _checkout

from .base.context import Context as Context
from .base.context import cpu as cpu
from .base.context import cpu_pinned as cpu_pinned
from .base.context import current_context as current_context
from .base.context import gpu as gpu
from .base.device_scope import device as device
from .base.errors import MXNetError as MXNetError
from .base.mesh import Mesh as Mesh
from .base.modules import set_loader as _set_loader
from .base.unsupported import missing as _missing

__version__ = "0.1.0"

#: Public names of modules that are called so.
_OWN: Final = (
    "attribute autograd base callback checkpoint clusters context contrib debug distributed engine "
    "error executor executor_manager gluon image initializer io kv kvstore log lr_scheduler "
    "metric model module monitor name ndarray numpy numpy_extension numpy_op_signature onnx "
    "operator optimizer parallel passes profiler random recordio rnn runtime session symbol "
    "test_utils util visualization"
)
#: Public name -> the module it stands for.
_MODULES: Final = {name: name for name in _OWN.split()} | {
    "img": "image",
    "init": "initializer",
    "mod": "module",
    "mon": "monitor",
    "nd": "ndarray",
    "np": "numpy",
    "_numpy_op_doc": "numpy_op_signature",
    "npx": "numpy_extension",
    "rnd": "random",
    "sym": "symbol",
    "viz": "visualization",
}
#: Module -> the public names that are in it.
_SOURCES: Final = {
    "attribute": "AttrScope",
    "autograd": "GradientTape custom_gradient",
    "clusters": "cluster",
    "context": "num_gpus",
    "exported": "export load",
    "ndarray": "NDArray waitall",
    "session": "Session",
    "symbol": "Symbol",
    "tracing": "Buckets CachedOp RetracingWarning TensorSpec function print py_func",
    "tuning": "tune",
    "util": "is_np_array is_np_shape np_array np_shape set_np_shape use_np use_np_array "
    "use_np_shape",
}
_NAMES: Final = {name: module for module, names in _SOURCES.items() for name in names.split()}

if TYPE_CHECKING:
    from . import attribute as attribute
    from . import autograd as autograd
    from . import callback as callback
    from . import checkpoint as checkpoint
    from . import clusters as clusters
    from . import context as context
    from . import contrib as contrib
    from . import debug as debug
    from . import distributed as distributed
    from . import engine as engine
    from . import error as error
    from . import executor as executor
    from . import executor_manager as executor_manager
    from . import gluon as gluon
    from . import image as image
    from . import initializer as initializer
    from . import io as io
    from . import kv as kv
    from . import kvstore as kvstore
    from . import log as log
    from . import lr_scheduler as lr_scheduler
    from . import metric as metric
    from . import model as model
    from . import module as module
    from . import monitor as monitor
    from . import name as name
    from . import ndarray as ndarray
    from . import numpy as numpy
    from . import numpy_extension as numpy_extension
    from . import numpy_op_signature as numpy_op_signature
    from . import onnx as onnx
    from . import operator as operator
    from . import optimizer as optimizer
    from . import parallel as parallel
    from . import passes as passes
    from . import profiler as profiler
    from . import random as random
    from . import recordio as recordio
    from . import rnn as rnn
    from . import runtime as runtime
    from . import session as session
    from . import symbol as symbol
    from . import test_utils as test_utils
    from . import util as util
    from . import visualization as visualization
    from .attribute import AttrScope as AttrScope
    from .autograd import GradientTape as GradientTape
    from .autograd import custom_gradient as custom_gradient
    from .clusters import cluster as cluster
    from .context import num_gpus as num_gpus
    from .exported import export as export
    from .exported import load as load
    from .ndarray import NDArray as NDArray
    from .ndarray import waitall as waitall
    from .session import Session as Session
    from .symbol import Symbol as Symbol
    from .tracing import Buckets as Buckets
    from .tracing import CachedOp as CachedOp
    from .tracing import RetracingWarning as RetracingWarning
    from .tracing import TensorSpec as TensorSpec
    from .tracing import function as function
    from .tracing import print as print
    from .tracing import py_func as py_func
    from .tuning import tune as tune
    from .util import is_np_array as is_np_array
    from .util import is_np_shape as is_np_shape
    from .util import np_array as np_array
    from .util import np_shape as np_shape
    from .util import set_np_shape as set_np_shape
    from .util import use_np as use_np
    from .util import use_np_array as use_np_array
    from .util import use_np_shape as use_np_shape

    # (One by one: what is unpacked from a tuple, pyright does not follow.)
    img = image
    init = initializer
    mod = module
    mon = monitor
    nd = ndarray
    np = numpy
    npx = numpy_extension
    rnd = random
    sym = symbol
    viz = visualization

__all__ = [
    "Context",
    "MXNetError",
    "cpu",
    "cpu_pinned",
    "current_context",
    "device",
    "gpu",
    *(name for name in _MODULES if not name.startswith("_")),
    *_NAMES,
]


if not TYPE_CHECKING:  # to checkers it would answer to any name

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            if name == "kvstore":
                __getattr__("kv")  # adds the names that MXNet has there
            value: Any = importlib.import_module(f"{__name__}.{_MODULES[name]}")
        elif name in _NAMES:
            value = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
        else:
            raise _missing("", name, __all__)
        globals()[name] = value
        return value

    _set_loader(__getattr__)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


if os.environ.get("DMLC_ROLE", "") in ("server", "scheduler"):
    # MXNet's launchers start the training script in these roles, too, and it must not train there.
    from .kvstore.supervise.job import become_server

    become_server()
