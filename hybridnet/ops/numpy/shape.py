"""NumPy's functions of shape: reshaping, joining, splitting, repeating and turning around."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final, Literal

import numpy as np

from hybridnet.base.attrs import Axis, Range, Shape
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.families import promoted, signed
from ..core.registry import operator
from ..math.reduce import type_of

_REST: Final = -1
_KEEP: Final = -2


def _with_rest(name: str, size: int, wanted: Sequence[int], asked: Any, a: TensorType) -> Shape:
    """Returns a shape of `size` elements with the one -1 in `wanted` filled in."""
    rest = math.prod(n for n in wanted if n != _REST)
    fits = wanted.count(_REST) <= 1 and min(wanted, default=0) >= _REST
    if fits and _REST in wanted:
        fits = rest != 0 and size % rest == 0
        wanted = [size // max(rest, 1) if n == _REST else n for n in wanted]
    if not fits or math.prod(wanted) != size:
        raise ShapeError(f"{name}: cannot give a, which is {a}, the shape {tuple(asked)}")
    return tuple(wanted)


def _reshape_type(a: TensorType, *, newshape: Shape, order: str) -> tuple[TensorType]:
    wanted = _with_rest("_np_reshape", a.size, list(newshape), newshape, a)
    return (tensor_type(wanted, a.dtype),)


@operator("_np_reshape", aliases=("_npi_reshape",), infer=_reshape_type)
def _reshape(a: Any, *, newshape: Shape, order: Literal["C"] = "C") -> Any:
    """The elements in another shape, in which one -1 stands for what is left.

    Args:
        newshape: the dimensions; unlike in ``nd.reshape``, 0 means no elements.
        order: 'C', the last axis changing fastest.
    """
    return a.reshape(newshape)


def coded_shape(a: TensorType, codes: Sequence[int]) -> tuple[int, ...]:
    """Returns the shape that npx.reshape's codes stand for.

    -1 is inferred, -2 keeps a dimension, -3 drops one of size 1, -4 keeps all that are left, -5
    joins two, -6 splits one into the two that follow.

    Raises:
        ShapeError: they do not fit the array.
    """
    source, made = list(a.shape), list[int]()
    rest = list(codes)
    wrong = ShapeError(f"_npx_reshape: the codes {tuple(codes)} do not fit a, which is {a}")
    try:
        while rest:
            code = rest.pop(0)
            if code >= _REST:
                made.append(code)
                if source:
                    source.pop(0)
            elif code == _KEEP:
                made.append(source.pop(0))
            elif code == -3:
                if source.pop(0) != 1:
                    raise wrong
            elif code == -4:
                made, source = made + source, []
            elif code == -5:
                made.append(source.pop(0) * source.pop(0))
            elif code == -6:
                parts = [rest.pop(0), rest.pop(0)]
                made += _with_rest("_npx_reshape", source.pop(0), parts, codes, a)
            else:
                raise wrong
    except IndexError:
        raise wrong from None
    return _with_rest("_npx_reshape", a.size, made, codes, a)


def _coded_shape(a: TensorType, codes: Shape, reverse: bool) -> Shape:
    if not reverse:
        return coded_shape(a, codes)
    return coded_shape(tensor_type(a.shape[::-1], a.dtype), codes[::-1])[::-1]


def _npx_reshape_type(
    a: TensorType, *, newshape: Shape, reverse: bool, order: str
) -> tuple[TensorType]:
    return (tensor_type(_coded_shape(a, newshape, reverse), a.dtype),)


@operator("_npx_reshape", infer=_npx_reshape_type)
def _npx_reshape(
    a: Any, *, newshape: Shape, reverse: bool = False, order: Literal["C"] = "C"
) -> Any:
    """The elements in another shape, given in codes.

    Args:
        newshape: the dimensions: -1 is inferred, -2 keeps one, -3 drops one of size 1, -4 keeps
            the rest, -5 joins two, -6 splits one into the two numbers that follow.
        reverse: whether the codes are read from the last one on, and count from the last axis: the
            two numbers of a -6 stand before it then.
        order: 'C'.
    """
    return a.reshape(_coded_shape(type_of(a), newshape, reverse))


@operator("_np_squeeze")
def _squeeze(a: Any, *, axis: Axis = None) -> Any:
    """Drops axes of size 1: those given, or all of them."""
    if not a.ndim and axis in (0, -1):  # as NumPy has it
        return a
    return jnp.squeeze(a, axis)


@operator("_np_transpose")
def _transpose(a: Any, *, axes: Shape | None = None) -> Any:
    """The axes in another order; in reverse order by default."""
    return jnp.transpose(a, axes or None)


@operator("_np_moveaxis")
def _moveaxis(a: Any, *, source: Shape, destination: Shape) -> Any:
    """Moves axes to other positions; the rest keep their order."""
    return jnp.moveaxis(a, source, destination)


@operator("_npi_rollaxis")
def _rollaxis(a: Any, *, axis: int, start: int = 0) -> Any:
    """Moves one axis back until it is before another."""
    return jnp.rollaxis(a, axis, start)


def _wanted_shape(array: TensorType, shape: Shape) -> Shape:
    """Returns the shape to broadcast to, with -2 replaced by the size that the array has there."""
    before = len(shape) - len(array.shape)
    known = [
        array.shape[axis - before] if size == _KEEP and axis >= before else size
        for axis, size in enumerate(shape)
    ]
    fits = before >= 0 and all(
        a in (1, b) for a, b in zip(array.shape, known[before:], strict=True)
    )
    if not fits or any(size < 0 for size in (*known[:before], *set(shape) - {_KEEP})):
        raise ShapeError(f"_npi_broadcast_to: cannot broadcast array, {array}, to {shape}")
    return tuple(known)


def _broadcast_type(array: TensorType, *, shape: Shape) -> tuple[TensorType]:
    return (tensor_type(_wanted_shape(array, shape), array.dtype),)


@operator("_npi_broadcast_to", infer=_broadcast_type)
def _broadcast_to(array: Any, *, shape: Shape) -> Any:
    """Repeats axes of size 1, and adds axes in front, up to a shape.

    Args:
        shape: the shape; -2 stands for the size that the array has there, counted from the last.
    """
    return jnp.broadcast_to(array, _wanted_shape(type_of(array), shape))


def _at_least(rank: int) -> None:
    def lowering(*arys: Any, num_args: int = 0) -> Any:
        return tuple(getattr(jnp, f"atleast_{rank}d")(array) for array in arys)

    def infer(*arys: TensorType, num_args: int = 0) -> Any:
        return [tensor_type(_padded(array.shape, rank), array.dtype) for array in arys]

    operator(
        f"_np_atleast_{rank}d",
        infer=infer,
        outputs=lambda *, num_args: max(num_args, 1),
        doc=f"""Arrays with axes of size 1 added up to {rank} dimensions.

        Args:
            arys: the arrays.""",
    )(lowering)


def _padded(shape: Shape, rank: int) -> Shape:
    if len(shape) >= rank:
        return shape
    if rank == 3 and shape:  # NumPy's rule puts the third axis behind
        return (1, *shape, 1) if len(shape) == 1 else (*shape, 1)
    return (1,) * (rank - len(shape)) + shape


for _rank in (1, 2, 3):
    _at_least(_rank)


def _join(name: str, function: Callable[..., Any], doc: str, *, axis: bool = False) -> None:
    """Registers a function that joins any number of arrays, in their promoted dtype."""

    def lowering(*data: Any, num_args: int = 0, **where: Any) -> Any:
        return function(promoted(*data), **where)

    keywords: dict[str, tuple[Any, Any]] = {"num_args": (int, 0)}
    args = "    data: the arrays.\n"
    if axis:
        keywords["axis"] = (int | None, 0)
        args += "    axis: along which; None for the flattened arrays.\n"
    operator(name, doc=f"{doc}\n\nArgs:\n{args}")(signed(lowering, ("*data",), keywords))


_join(
    "_npi_concatenate",
    lambda data, axis=0: jnp.concatenate(data, axis),
    "Joins arrays along an axis that they have.",
    axis=True,
)
_join(
    "_npi_stack", lambda data, axis=0: jnp.stack(data, axis), "Joins along a new axis.", axis=True
)
_join("_npi_vstack", lambda data: jnp.vstack(data), "Joins arrays as rows, along the first axis.")
_join("_npi_hstack", lambda data: jnp.hstack(data), "Joins arrays along the second axis.")
_join("_npi_dstack", lambda data: jnp.dstack(data), "Joins arrays along the third axis.")
_join("_npi_column_stack", lambda data: jnp.column_stack(data), "Joins 1-d arrays as columns.")


def _cuts(size: int, indices: Shape, sections: int) -> list[int]:
    """Returns where parts end, without the last."""
    if sections:
        # As NumPy's array_split: the first parts are one longer where it does not divide.
        each, more = divmod(size, sections)
        return [each * i + min(i, more) for i in range(1, sections)]
    return list(indices)


@operator(
    "_npi_split",
    outputs=lambda *, indices, sections, **_: sections or len(indices) + 1,
)
def _split(
    ary: Any, *, indices: Shape = (), axis: int = 0, sections: Annotated[int, Range(0)] = 0
) -> Any:
    """Cuts an array into parts along an axis.

    Args:
        indices: the positions to cut at.
        sections: cut into so many parts instead, the first being one longer where the size of the
            axis is not a multiple.
    """
    return tuple(jnp.split(ary, _cuts(ary.shape[axis], indices, sections), axis))


@operator("_npi_flip")
def _flip(data: Any, *, axis: Axis = None) -> Any:
    """Turns axes around: those given, or all of them."""
    return jnp.flip(data, axis)


@operator("_np_roll")
def _roll(data: Any, *, shift: Axis, axis: Axis = None) -> Any:
    """Moves elements along axes; what leaves at the end comes in at the start.

    Args:
        shift: how far; one number for each axis.
        axis: an axis or several; None for the flattened array.
    """
    return jnp.roll(data, shift, axis)


@operator("_npi_rot90")
def _rot90(data: Any, *, k: int = 1, axes: Shape = (0, 1)) -> Any:
    """Turns a plane by 90 degrees, k times, from the first of its axes towards the second."""
    return jnp.rot90(data, k, (axes[0], axes[1]))


@operator("_npi_pad")
def _pad(
    data: Any,
    *,
    pad_width: Shape,
    mode: Literal["constant", "edge", "reflect", "symmetric", "maximum", "minimum"] = "constant",
    constant_values: float = 0.0,
    reflect_type: Literal["even"] = "even",
) -> Any:
    """Widens an array at its borders.

    Args:
        pad_width: how much before and after, axis by axis: (before0, after0, before1, ...).
        mode: fill with a constant, the border elements, a reflection without or with the border
            elements, or the largest or smallest element along the axis.
        constant_values: the constant.
        reflect_type: 'even'.
    """
    widths = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    if mode == "constant":
        return jnp.pad(data, widths, constant_values=np.asarray(constant_values, data.dtype))
    return jnp.pad(data, widths, mode=mode)
