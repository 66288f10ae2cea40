"""Reading and overwriting variables at a point of a graph, and running nothing.

As TensorFlow's graphs have them (Abadi et al., "TensorFlow: Large-Scale Machine Learning on
Heterogeneous Distributed Systems", 2015, section 2, "Variables"): a variable is read and
overwritten where a node for that stands, in the order that values and control edges give.
"""

from __future__ import annotations

from typing import Any, Final

from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.tensor_type import TensorType

from ..core.call import Call
from ..core.operator import describe
from ..core.registry import get, operator


def _check_assign(ref: TensorType, value: TensorType) -> None:
    got = describe(("ref", "value"), (ref, value))
    if ref.shape != value.shape:
        raise ShapeError(f"_assign: value must have the shape of ref, got {got}")
    if ref.dtype != value.dtype:
        raise DTypeError(f"_assign: value must have the dtype of ref, got {got}; cast it first")


@operator("_read_variable", infer=lambda data: [data], gradient=lambda back: [back.grads[0]])
def read_variable(data: Any) -> Any:
    """Reads what a variable holds at this point of a run.

    Other nodes that read it see what it held when the run began, whatever is assigned to it.
    """
    return data


@operator(
    "_assign",
    mutates={"ref": 0},
    check=_check_assign,
    infer=lambda ref, value: [ref],
    gradient=lambda back: [None, back.grads[0]],
)
def assign(ref: Any, value: Any) -> Any:
    """Overwrites `ref` with `value`, of the same shape and dtype; returns the value."""
    return value


@operator("_no_op", outputs=0, infer=list, no_gradient="it has no outputs")
def no_op() -> Any:
    """Does nothing, after what it is controlled by has run."""
    return ()


#: The calls of the three, which have no parameters.
READ: Final[Call] = get("_read_variable").bind({})[0]
ASSIGN: Final[Call] = get("_assign").bind({})[0]
NO_OP: Final[Call] = get("_no_op").bind({})[0]
