"""MXNet's names that hybridnet knows and does not have: one table, one error, for all namespaces.

A namespace ends with ``__getattr__`` that raises `missing`.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from .errors import MXNetError

_DGL: Final = "sampling graphs belongs to the graph library that brought it"
_DOWNLOAD: Final = "its server is gone; bring the files, or use bundled data"
_QUANTIZED: Final = "contrib.quantization leaves such layers in floats"

_CONTRIB: Final = {
    _DGL: "dgl_adjacency dgl_csr_neighbor_non_uniform_sample dgl_csr_neighbor_uniform_sample "
    "dgl_graph_compact dgl_subgraph edge_id",
    _QUANTIZED: "intgemm_fully_connected intgemm_maxabsolute intgemm_prepare_data "
    "intgemm_prepare_weight intgemm_take_weight quantize_asym quantized_batch_norm "
    "quantized_elemwise_mul quantized_embedding quantized_rnn",
    "cut masks with ROIAlign": "mrcnn_mask_target",
    "contrib.quantization.calib_graph finds the threshold": "calibrate_entropy",
    "pool with PSROIPooling or RROIAlign instead": "DeformablePSROIPooling",
    "it is rarely used": "hawkesll",
    "apply BatchNorm and then relu": "BatchNormWithReLU",
}

#: Namespace -> reason -> the names in it that are missing for that reason.
UNSUPPORTED: Final[dict[str, dict[str, str]]] = {
    "": {
        "write operators as lowerings on JAX (docs/extending.md) or as mx.operator.CustomOp": (
            "library rtc tvmop"
        ),
        "call PyTorch in hn.py_func; arrays are shared by DLPack": "th torch",
        "there is no C library below": "_api_internal _ctypes _cy3 _ffi api cython space",
        "use callbacks, or a progress bar of your choice": "notebook",
        "docstrings stand at the functions themselves": "ndarray_doc symbol_doc",
    },
    "nd": {
        "decode with Pillow or OpenCV, and make an array of the result": "imdecode",
    },
    "nd.contrib": _CONTRIB,
    "sym.contrib": _CONTRIB,
    "test_utils": {
        _DOWNLOAD: "download_model get_mnist_pkl",
        "make one with rand_sparse_ndarray": "create_sparse_array create_sparse_array_zd "
        "shuffle_csr_column_indices",
    },
}


class NotSupportedError(MXNetError, NotImplementedError, AttributeError):
    """A name of MXNet's that hybridnet does not have; an AttributeError too, for ``hasattr``."""


def missing(namespace: str, name: str, known: Iterable[str] = ()) -> AttributeError:
    """Returns the error for a name that a namespace does not have.

    Args:
        namespace: as users write it after the package, such as 'nd.contrib'; '' is the package.
        known: the names that it has, to suggest near ones.

    Returns:
        A NotSupportedError for a name in the table, else an AttributeError.
    """
    owner = f"hybridnet.{namespace}".removesuffix(".")
    full = f"{namespace}.{name}".removeprefix(".")
    for reason, names in UNSUPPORTED.get(namespace, {}).items():
        if name in names.split():
            return NotSupportedError(f"{full} of MXNet is not supported by hybridnet: {reason}")
    near = ", ".join(get_close_matches(name, list(known), 3))
    hint = f"; did you mean one of {near}?" if near else ""
    what = "function" if namespace else "attribute"
    return AttributeError(f"{owner} has no {what} {name!r}{hint}")
