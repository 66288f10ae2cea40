"""Rotary position embedding: pairs of units turned by angles that grow with the position.

Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021.
"""

from __future__ import annotations

from typing import Any

from hybridnet.base.dtype import is_float
from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import jnp

from ...core.checks import require_floats, wide
from ...core.operator import describe
from ...core.registry import operator

_OP = "rotary_embedding"
_NAMES = ("data", "positions", "frequencies")


def _check(data: TensorType, positions: TensorType, frequencies: TensorType, **_: Any) -> None:
    types = (data, positions, frequencies)
    require_floats(_OP, _NAMES, types)
    if len(data.shape) != 4 or positions.shape not in (data.shape[:2], data.shape[1:2]):
        raise ShapeError(
            f"{_OP}: data must have shape (batch, length, heads, units), and positions (length,) "
            f"or (batch, length), got {describe(_NAMES, types)}"
        )
    if len(frequencies.shape) != 1 or 2 * frequencies.shape[0] > data.shape[3]:
        raise ShapeError(
            f"{_OP}: frequencies must be a vector, one for each pair of the {data.shape[3]} units "
            f"or fewer, got {describe(_NAMES, types)}"
        )
    if not is_float(frequencies.dtype):
        raise DTypeError(f"{_OP}: frequencies must be floating point, got {frequencies}")


@operator(
    "_contrib_rotary_embedding",
    aliases=("_npx_rotary_embedding",),
    check=_check,
    infer=lambda data, *_, **__: (data,),
    cost=lambda data, *_, **__: 4.0 * data.size,
)
def rotary_embedding(
    data: Any, positions: Any, frequencies: Any, *, interleaved: bool = False
) -> Any:
    """Turns pairs of units (x, y) by ``position * frequency``.

    Su et al., "RoFormer: enhanced transformer with rotary position embedding", 2021.

    Args:
        data: (batch, length, heads, units), floating point: queries or keys.
        positions: (length,) or (batch, length).
        frequencies: (n,), the angle in radians of each pair at position 1; n is half of the units,
            or less: then the units after the first 2 n stay.
        interleaved: whether pairs are neighbours, as in the paper; else unit i goes with unit
            ``i + n``, as in Llama.

    Returns:
        The shape and dtype of `data`; narrow floats are computed in float32.
    """
    dtype = wide(data.dtype)
    angles = jnp.astype(positions, dtype)[..., None] * jnp.astype(frequencies, dtype)
    if positions.ndim == 1:
        angles = angles[None]
    cos, sin = jnp.cos(angles)[:, :, None], jnp.sin(angles)[:, :, None]
    count = frequencies.shape[0]
    turned, rest = jnp.astype(data[..., : 2 * count], dtype), data[..., 2 * count :]
    pairs = turned.reshape(*turned.shape[:-1], *((count, 2) if interleaved else (2, count)))
    axis = -1 if interleaved else -2
    x, y = (pairs[..., 0], pairs[..., 1]) if interleaved else (pairs[..., 0, :], pairs[..., 1, :])
    made = jnp.stack([x * cos - y * sin, x * sin + y * cos], axis).reshape(turned.shape)
    made = jnp.astype(made, data.dtype)
    return made if not rest.shape[-1] else jnp.concatenate([made, rest], -1)
