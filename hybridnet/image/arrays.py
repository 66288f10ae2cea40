"""Between images as arrays and images as NumPy has them."""

from __future__ import annotations

from collections.abc import Callable

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import cpu
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.adopt import adopt
from hybridnet.util import is_np_array

__all__ = ["apply", "finish", "require_image"]


def require_image(src: object, what: str) -> NDArray:
    """Returns `src` if it is an array (height, width, channels).

    Raises:
        ParameterError: it is no array.
        ShapeError: it has another number of axes.
    """
    if not isinstance(src, NDArray):
        raise ParameterError(
            f"{what}: src must be an NDArray, got {type(src).__name__}; nd.array(...) makes one"
        )
    if src.ndim != 3:
        raise ShapeError(f"{what}: src must be (height, width, channels), got shape {src.shape}")
    return src


def apply(
    work: Callable[[NumpyArray], NumpyArray], src: object, out: NDArray | None, what: str
) -> NDArray:
    """Runs a function of NumPy's arrays on an image; returns an array of the same class.

    Args:
        work: makes a new array of one that it only reads.
        src: the image.
        out: an array for the result, or None.
        what: who asks, for messages.
    """
    image = require_image(src, what)
    made = adopt(work(image.host_view()), image.context)
    return _into(made, out, what) if out is not None else made.as_kind(type(image))


def finish(image: NumpyArray, out: NDArray | None, what: str) -> NDArray:
    """Returns an image that was read, as an array on cpu(0) of the class that is in force.

    Args:
        image: in memory that nobody else holds.
        out: an array for the result, or None.
        what: who asks, for messages.
    """
    made = adopt(image, cpu())
    if out is not None:
        return _into(made, out, what)
    return made.as_np_ndarray() if is_np_array() else made


def _into(made: NDArray, out: NDArray | None, what: str) -> NDArray:
    if not isinstance(out, NDArray) or out.shape != made.shape:
        got = getattr(out, "shape", type(out).__name__)
        raise ShapeError(f"{what}: out must be an array of shape {made.shape}, got {got}")
    out[:] = made.as_in_context(out.context)
    return out
