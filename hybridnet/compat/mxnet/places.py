"""Tables of the modules in which hybridnet has what MXNet has in modules of other names.

A module of hybridnet's that has MXNet's name takes precedence, so a row may stay when such a module
is added.
"""

from __future__ import annotations

from typing import Final

__all__ = ["PLACES", "WIDER"]

#: MXNet's module -> hybridnet's, both without the package.
PLACES: Final[dict[str, str]] = {
    "contrib.onnx.onnx2mx": "contrib.onnx2mx",
    "contrib.onnx.onnx2mx.import_model": "contrib.onnx",
    "contrib.onnx.onnx2mx.import_to_gluon": "contrib.onnx",
    "contrib.svrg_optimization.svrg_optimizer": "contrib.svrg_optimization",
    "gluon.contrib.nn.basic_layers": "gluon.contrib.nn",
    "gluon.contrib.rnn.conv_rnn_cell": "gluon.contrib.rnn",
    "gluon.contrib.rnn.rnn_cell": "gluon.contrib.rnn",
    "gluon.nn.activations": "gluon.nn",
    "gluon.nn.basic_layers": "gluon.nn",
    "gluon.nn.conv_layers": "gluon.nn",
    "gluon.rnn.rnn_cell": "gluon.rnn",
    "gluon.rnn.rnn_layer": "gluon.rnn",
    "image.detection": "image",
    "image.image": "image",
    "io.io": "io",
    "io.utils": "io",
    "kvstore.base": "kv",
    "kvstore.kvstore": "kv",
    "kvstore.kvstore_server": "kv",
    "libinfo": "compat.mxnet.libinfo",
    "misc": "lr_scheduler",
    "ndarray._internal": "ndarray",
    "ndarray.gen_op": "ndarray",
    "ndarray.numpy": "numpy",
    "ndarray.numpy._op": "numpy",
    "ndarray.numpy.linalg": "numpy.linalg",
    "ndarray.numpy.random": "numpy.random",
    "ndarray.numpy_extension": "numpy_extension",
    "ndarray.numpy_extension._op": "numpy_extension",
    "ndarray.op": "ndarray",
    "ndarray.utils": "ndarray",
    "numpy._op": "numpy",
    "numpy.arrayprint": "numpy",
    "numpy.fallback_linalg": "numpy.linalg",
    "numpy.function_base": "numpy",
    "numpy.io": "numpy",
    "numpy.stride_tricks": "numpy",
    "numpy.utils": "numpy",
    "numpy_extension._op": "numpy_extension",
    "numpy_extension.utils": "numpy_extension",
    "onnx.mx2onnx": "onnx",
    "symbol._internal": "symbol",
    "symbol.gen_op": "symbol",
    "symbol.numpy._symbol": "symbol.numpy",
    "symbol.numpy_extension": "numpy_extension",
    "symbol.numpy_extension._op": "numpy_extension",
    "symbol.op": "symbol",
    "symbol.sparse": "symbol",
}

#: Module of MXNet's that hybridnet has, too, but with fewer names -> where the others are.
WIDER: Final[dict[str, str]] = {
    "ndarray.ndarray": "ndarray",
    "numpy.fallback": "numpy",
    "numpy.multiarray": "numpy",
    "optimizer.optimizer": "optimizer",
    "symbol.symbol": "symbol",
}
