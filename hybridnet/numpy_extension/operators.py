"""The operators of `npx`, made from the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from hybridnet.numpy.calls import operator_of_either
from hybridnet.ops.core import registry

__all__ = ["NAMES", "OPERATORS", "functions"]

_SAME_NAMES: Final = (
    "activation batch_dot batch_flatten batch_norm cast convolution deconvolution dropout "
    "embedding erf erfinv fully_connected gamma gammaln gather_nd layer_norm leaky_relu "
    "log_softmax nonzero one_hot pick pooling relu reshape reshape_like rnn shape_array "
    "sigmoid slice smooth_l1 softmax topk"
)
#: Public name -> the operator, where that is not ``_npx_`` and the name.
NAMES: Final[dict[str, str]] = {
    "arange_like": "_contrib_arange_like",
    "multibox_detection": "_contrib_MultiBoxDetection",
    "multibox_prior": "_contrib_MultiBoxPrior",
    "multibox_target": "_contrib_MultiBoxTarget",
    "roi_pooling": "ROIPooling",
    "sequence_mask": "SequenceMask",
    "stop_gradient": "BlockGrad",
    **{name: f"_npx_{name}" for name in _SAME_NAMES.split()},
}


def functions(names: Mapping[str, str]) -> dict[str, Callable[..., Any]]:
    """Returns a function for each of these operators: public name -> name in the registry."""
    return {
        public: operator_of_either(registry.get(name), public)
        for public, name in names.items()
        if name in registry.REGISTRY
    }


OPERATORS: Final = functions(NAMES)
