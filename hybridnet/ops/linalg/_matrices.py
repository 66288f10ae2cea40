"""Requirements of operators on matrices, which are (..., rows, columns)."""

from __future__ import annotations

from collections.abc import Sequence

from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType

from ..core.checks import require_floats, require_one_dtype
from ..core.operator import describe


def require_matrices(op: str, names: Sequence[str], types: Sequence[TensorType]) -> None:
    """Raises unless all inputs are floating point, of one dtype and one rank of at least 2."""
    require_floats(op, names, types)
    require_one_dtype(op, names, types)
    rank = len(types[0].shape)
    if rank < 2 or any(len(given.shape) != rank for given in types):
        raise ShapeError(
            f"{op}: {' and '.join(names)} must be (..., rows, columns)"
            f"{' with as many dimensions each' if len(names) > 1 else ''}, got "
            f"{describe(names, types)}"
        )


def require_square(op: str, name: str, data: TensorType) -> None:
    """Raises unless an input is floating point and its matrices are square."""
    require_matrices(op, (name,), (data,))
    if data.shape[-2] != data.shape[-1]:
        raise ShapeError(f"{op}: {name} must hold square matrices (..., n, n), got {name} {data}")
