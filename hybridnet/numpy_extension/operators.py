"""The operators of `npx`, made from the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from hybridnet.ndarray import NDArray
from hybridnet.numpy.calls import operand
from hybridnet.numpy.multiarray import ndarray
from hybridnet.ops.core import registry
from hybridnet.ops.core.documentation import documentation, signature_of
from hybridnet.ops.core.handle import split_arguments
from hybridnet.ops.core.operator import Operator

__all__ = ["OPERATORS", "functions", "operator_of_either"]

_SAME: Final = (
    "activation batch_dot batch_flatten batch_norm cast convolution deconvolution dropout "
    "embedding erf erfinv fully_connected gamma gammaln gather_nd layer_norm leaky_relu "
    "log_softmax nonzero one_hot pick pooling relu reshape reshape_like rnn shape_array "
    "sigmoid slice smooth_l1 softmax topk"
)
#: Public name -> the operator, where that is not ``_npx_`` and the name.
_NAMES: Final[dict[str, str]] = {
    "arange_like": "_contrib_arange_like",
    "multibox_detection": "_contrib_MultiBoxDetection",
    "multibox_prior": "_contrib_MultiBoxPrior",
    "multibox_target": "_contrib_MultiBoxTarget",
    "roi_pooling": "ROIPooling",
    "sequence_mask": "SequenceMask",
    "stop_gradient": "BlockGrad",
    **{name: f"_npx_{name}" for name in _SAME.split()},
}


def operator_of_either(op: Operator, public: str) -> Callable[..., Any]:
    """Makes the function users call, which takes np arrays or symbols."""

    def function(*args: Any, **kwargs: Any) -> Any:
        out, name = kwargs.pop("out", None), kwargs.pop("name", None)
        inputs, attrs = split_arguments(op, args, kwargs)
        values = [None if x is None else operand(x, public) for x in inputs]
        kinds = [
            type(value) for value in values if value is not None and not isinstance(value, NDArray)
        ]
        kind: Any = kinds[0] if kinds else ndarray
        return kind.apply_operator(op, values, attrs, name=name, out=out)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = documentation(op)
    function.__signature__ = signature_of(op)  # type: ignore[attr-defined]
    return function


def functions(names: Mapping[str, str]) -> dict[str, Callable[..., Any]]:
    """Returns a function for each of these operators: public name -> name in the registry."""
    return {
        public: operator_of_either(registry.get(name), public)
        for public, name in names.items()
        if name in registry.REGISTRY
    }


OPERATORS: Final = functions(_NAMES)
