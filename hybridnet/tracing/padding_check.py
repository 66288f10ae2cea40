"""Whether a traced function that is run on padded arrays computes what it does without padding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from hybridnet.base.array_types import NumpyArray, Shape
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import MXNetError, ShapeError
from hybridnet.base.lazy import jnp
from hybridnet.ndarray import NDArray, array

from .concrete import ConcreteFunction

_DEPENDS: Final = (
    "{name}: padding its arguments would change its results: something in it mixes positions along "
    "the padded axis (a sum, mean or maximum, a softmax, a loss, batch normalization, the last "
    "state of a recurrence). Take a mask, hn.Buckets(..., mask='mask'), and leave the padding out "
    "by it, as in (x * mask).sum() / mask.sum(); or leave this check out with check=False"
)
_DIFFERS: Final = (
    "{name}: for padded arguments it computes something else than without padding, though the "
    "padding's values do not matter: it uses the size of the padded axis (x.shape[0], a mean, a "
    "backward recurrence). Take a mask, hn.Buckets(..., mask='mask'), and use mask.sum() in the "
    "place of the size; or leave this check out with check=False"
)
# One program on other padding: where padding does not count, not even the rounding differs, unless
# the device adds in no fixed order.
_ROUNDING: Final = 16  # times the dtype's precision
# Two programs, of different shapes: what uses the size is wrong by a share of the padding.
_OTHER_PROGRAM: Final = 5e-3
# Bounds what is put into the padding, so that its squares and exponentials are finite.
_LARGEST: Final = 20.0


class PaddingError(MXNetError):
    """A function whose arguments are padded would compute something else."""


class UncutError(PaddingError, ShapeError):
    """Results of a function whose arguments are padded cannot be cut back: nothing tells how."""


def check_padding(
    name: str,
    padded: tuple[ConcreteFunction, Sequence[NDArray], Mapping[int, Shape]],
    plain: tuple[ConcreteFunction, Sequence[NDArray]],
) -> bool:
    """Runs a trace with two paddings, and one for the true lengths; compares what they compute.

    That includes what they would write. Random numbers are the same for the two paddings, but not
    for the third run, which is left out then. Nothing is changed.

    Args:
        name: of the function.
        padded: the trace, its arguments, and the shapes of those that are padded, by number, had
            before.
        plain: the trace for the arguments that are not padded, and these.

    Returns:
        False where the arguments are such that nothing can be told.

    Raises:
        PaddingError: the outputs depend on the padding.
    """
    concrete, arrays, true_shapes = padded
    varied = list(arrays)
    tells = False
    for number, shape in true_shapes.items():
        host = arrays[number].asnumpy()
        other = _with_other_padding(host, shape)
        tells = tells or bool((other != host).any())
        varied[number] = array(other, arrays[number].context, host.dtype)
    if not tells:
        return False
    shapes = plain[0].tried_shapes
    outputs = _corners(name, concrete.try_out(arrays), shapes)
    others = _corners(name, concrete.try_out(varied), shapes)
    for output, other in zip(outputs, others, strict=True):
        tolerance = _ROUNDING * float(jnp.finfo(output.dtype).eps) if is_float(output.dtype) else 0
        if not _close(output, other, tolerance):
            raise PaddingError(_DEPENDS.format(name=name))
    if not concrete.draws:
        wanted = [output.asnumpy() for output in plain[0].try_out(plain[1])]
        for output, other in zip(outputs, wanted, strict=True):
            if not _close(output, other, _OTHER_PROGRAM):
                raise PaddingError(_DIFFERS.format(name=name))
    return True


def _with_other_padding(host: NumpyArray, shape: Shape) -> NumpyArray:
    """Returns a padded array with other values in its padding.

    Floats are larger than all true ones, and negative only if some true ones are. Whole numbers may
    be indices, so they are taken from the true ones.
    """
    corner = tuple(slice(0, size) for size in shape)
    true = host[corner]
    generator = np.random.default_rng(0)
    if is_float(host.dtype):
        sizes = np.abs(true.astype(np.float64))
        largest = min(float(np.nanmax(sizes, initial=0)), _LARGEST)
        made = np.asarray(generator.uniform(1 + largest, 2 + 2 * largest, host.shape))
        if (true < 0).any():
            made *= generator.choice([-1, 1], host.shape)
    else:
        made = generator.choice(true.reshape(-1), host.shape)
    made = made.astype(host.dtype)
    made[corner] = true
    return made


def _corners(name: str, outputs: Sequence[NDArray], shapes: Sequence[Shape]) -> list[NumpyArray]:
    """Returns what of outputs is not padding."""
    if len(outputs) != len(shapes):
        raise PaddingError(_DIFFERS.format(name=name))
    found = []
    for output, shape in zip(outputs, shapes, strict=True):
        if len(output.shape) != len(shape) or any(map(int.__lt__, output.shape, shape)):
            raise PaddingError(_DIFFERS.format(name=name))
        found.append(output.asnumpy()[tuple(slice(0, size) for size in shape)])
    return found


def _close(output: NumpyArray, other: NumpyArray, tolerance: float) -> bool:
    """Whether arrays are equal to within a part of their largest element."""
    if not is_float(output.dtype):
        return bool((output == other).all())
    output, other = output.astype(np.float64), other.astype(np.float64)
    finite = np.abs(output[np.isfinite(output)])
    bound = tolerance * float(finite.max(initial=0))
    return np.allclose(output, other, rtol=0, atol=bound, equal_nan=True)
