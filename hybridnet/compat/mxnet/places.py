"""Where hybridnet has what MXNet keeps in modules of other names.

A module of MXNet's own name wins; so a row may stay when one is added.
"""

from __future__ import annotations

from typing import Final

__all__ = ["PLACES"]

#: MXNet's module -> hybridnet's, both without the package.
PLACES: Final[dict[str, str]] = {
    "gluon.contrib.nn.basic_layers": "gluon.contrib.nn",
    "gluon.contrib.rnn.conv_rnn_cell": "gluon.contrib.rnn",
    "gluon.contrib.rnn.rnn_cell": "gluon.contrib.rnn",
    "gluon.nn.activations": "gluon.nn",
    "gluon.nn.basic_layers": "gluon.nn",
    "gluon.nn.conv_layers": "gluon.nn",
    "gluon.rnn.rnn_cell": "gluon.rnn",
    "gluon.rnn.rnn_layer": "gluon.rnn",
    "image.image": "image",
    "image.detection": "image",
    "io.io": "io",
    "io.utils": "io",
    "kvstore.base": "kv",
    "kvstore.kvstore": "kv",
    "kvstore.kvstore_server": "kv",
    "libinfo": "compat.mxnet.libinfo",
    "misc": "lr_scheduler",
    "ndarray._internal": "ndarray",
    "ndarray.numpy": "numpy",
    "ndarray.numpy.linalg": "numpy.linalg",
    "ndarray.numpy.random": "numpy.random",
    "ndarray.numpy_extension": "numpy_extension",
    "ndarray.op": "ndarray",
    "ndarray.utils": "ndarray",
    "numpy.utils": "numpy",
    "numpy.arrayprint": "numpy",
    "numpy.function_base": "numpy",
    "numpy.io": "numpy",
    "numpy.stride_tricks": "numpy",
    "numpy_extension.utils": "numpy_extension",
    "symbol._internal": "symbol",
    "symbol.numpy_extension": "numpy_extension",
    "symbol.op": "symbol",
    "symbol.sparse": "symbol",
}
