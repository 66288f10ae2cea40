"""Other shapes for the same elements: ``tf.reshape``, ``tf.transpose``, ``tf.pad``, ``tf.tile``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..graph import Kind, as_shape, axes_of, axis_of, dims_of, known_count, known_numbers, renamed
from ..graph.adding import EdgeHandle, Tensor, apply_shaped, described, fused, handle, of_shape, op
from ..graph.building import apply
from ..graph.control import name_scope
from ..graph.shapes import TensorShape
from ..graph.values import constant_value, convert_to_tensor, identity

__all__ = [
    "broadcast_to", "depth_to_space", "ensure_shape", "expand_dims", "pad", "repeat", "reshape",
    "reverse", "reverse_sequence", "reverse_v2", "roll", "space_to_depth", "squeeze", "tile",
    "transpose",
]  # fmt: skip


def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """Returns the elements in another shape.

    Args:
        tensor: a tensor.
        shape: a list of numbers (some may be tensors), or a tensor; one may be -1, what is left.

    Raises:
        ValueError: the numbers of elements differ.
    """
    x = convert_to_tensor(tensor, name="tensor")
    sizes = as_shape(shape)
    dims = _completed(dims_of(shape), x.shape, known_numbers(shape))
    if not isinstance(sizes, Tensor) and list(sizes).count(-1) > 1:
        raise ValueError(f"Reshape: only one size may be -1, got {list(sizes)}")
    given = {"newshape": sizes}
    if not isinstance(sizes, Tensor) and x.shape.num_elements() is None:
        # The sizes say what comes out; those of the input that would do cannot be found by trial.
        _require_fitting(x.shape, sizes)
        kinds = [Kind(x.dtype.base_dtype.numpy, dims)]
        found: Tensor = apply("Reshape", "_np_reshape", [x], given, name=name, kinds=kinds)
        return found
    made = apply_shaped("Reshape", "_np_reshape", [x], given, dtype=x.dtype, dims=dims, name=name)
    if dims is not None:
        made.set_shape(dims)
    return made


def _require_fitting(source: TensorShape, sizes: Sequence[int]) -> None:
    """Raises ValueError where no sizes for the unknown ones of an input would do."""
    if min(sizes, default=0) < -1:
        raise ValueError(f"Reshape: sizes must be at least 0, or -1, got {list(sizes)}")
    if source.ndims is None or -1 in sizes:
        return
    known = math.prod(one for one in source.as_list() if one is not None)
    total = math.prod(sizes)
    if total % known if known else total:
        raise ValueError(
            f"Reshape: cannot give a tensor of shape {source} the shape {list(sizes)}: it must "
            f"have a multiple of {known} elements, but that is {total}"
        )


def _completed(
    dims: tuple[int | None, ...] | None, source: TensorShape, numbers: Any
) -> tuple[int | None, ...] | None:
    """Returns sizes with the one that -1 stands for, where the others tell it."""
    total = source.num_elements()
    if dims is None or total is None or dims.count(None) != 1:
        return dims
    if isinstance(numbers, list) and -1 not in numbers:
        return dims
    rest = int(np.prod([one for one in dims if one is not None]))
    if not rest or total % rest:
        return dims
    return tuple(total // rest if one is None else one for one in dims)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Returns the elements repeated along axes of size 1 and new axes in front."""
    x = convert_to_tensor(input, name="input")
    return of_shape("BroadcastTo", "_npi_broadcast_to", [x], shape, x.dtype, name=name)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Tensor:
    """Returns a tensor of which a shape is known besides.

    Raises:
        ValueError: what is known of the tensor's shape contradicts it.
    """
    tensor = convert_to_tensor(x)
    wanted = TensorShape(shape)
    if not tensor.shape.is_compatible_with(wanted):
        raise ValueError(f"Shapes {tensor.shape} and {wanted} are not compatible")
    made = op("EnsureShape", "_copy", [tensor], name=name)
    made.set_shape(wanted)
    return made


def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Returns a tensor with one more axis, of size 1.

    Args:
        axis: where the axis is in the result.
        dim: the older name of `axis`.
    """
    axis = renamed("axis", axis, "dim", dim)
    if axis is None:
        raise ValueError("Must specify an axis argument to tf.expand_dims()")
    x = convert_to_tensor(input, name="input")
    rank = x.shape.ndims
    number = axis_of("ExpandDims", axis, None if rank is None else rank + 1)
    return op("ExpandDims", "expand_dims", [x], name=name, axis=number)


def squeeze(
    input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None
) -> Tensor:
    """Returns a tensor without axes of size 1.

    Args:
        axis: which; default all of size 1.
        squeeze_dims: the older name of `axis`.
    """
    axis = renamed("axis", axis, "squeeze_dims", squeeze_dims)
    x = convert_to_tensor(input)
    axes = axes_of("Squeeze", axis if axis != [] else None, x.shape.ndims)
    made = op("Squeeze", "_np_squeeze", [x], name=name, axis=axes)
    dims = x.shape._dims
    if axes is None and dims is not None and None in dims:
        # An axis of unknown size may have size 1.
        made._shape = TensorShape(None)
    return made


def transpose(a: Any, perm: Any = None, name: str = "transpose", conjugate: bool = False) -> Tensor:
    """Returns a tensor with its axes in another order.

    Args:
        perm: the axes in their new order, known when the graph is built; default reversed.
        conjugate: without meaning here: there are no complex numbers.

    Raises:
        ValueError: `perm` does not hold each axis once.
    """
    with name_scope(name, "transpose", [a]) as scope:
        x = convert_to_tensor(a, name="a")
        axes = axes_of("Transpose", perm, x.shape.ndims)
        if axes is not None and x.shape.ndims is not None:
            positive = [one % max(x.shape.ndims, 1) for one in axes]
            if sorted(positive) != list(range(x.shape.ndims)):
                raise ValueError(
                    f"Transpose: perm must hold each axis of shape {x.shape} once, got {perm}"
                )
        if axes == () or x.shape.ndims == 0:
            return identity(x, name=scope)
        return op("Transpose", "transpose", [x], name=scope, axes=axes or ())


def tile(input: Any, multiples: Any, name: str | None = None) -> Tensor:
    """Returns a tensor repeated along its axes.

    Args:
        multiples: how often along each axis: a list of numbers (some may be tensors), or a tensor.

    Raises:
        ValueError: there is not one number for each axis.
    """
    x = convert_to_tensor(input, name="input")
    counts = as_shape(multiples)
    known = dims_of(multiples)
    own = x.shape._dims
    if known is not None and own is not None and len(known) != len(own):
        raise ValueError(
            f"Tile: multiples must have one number for each dimension of {x.shape}, got {multiples}"
        )
    dims: tuple[int | None, ...] | None = own and (None,) * len(own)
    if known is not None and own is not None:
        dims = tuple(
            None if n is None or m is None else n * m for n, m in zip(own, known, strict=True)
        )
    given = {"reps": counts}
    return apply_shaped("Tile", "tile", [x], given, dtype=x.dtype, dims=dims, name=name)


def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """Returns a tensor with more elements around it.

    Args:
        paddings: (rank, 2) numbers, known when the graph is built: how many before and after.
        mode: 'CONSTANT', 'REFLECT' (without the border) or 'SYMMETRIC' (with it).
        constant_values: the number for 'CONSTANT'.

    Raises:
        ValueError: `mode` is something else, or `paddings` does not fit.
    """
    x = convert_to_tensor(tensor, name="input")
    widths = known_numbers(paddings)
    rank = x.shape.ndims
    if widths is None or any(not isinstance(one, list) or len(one) != 2 for one in widths):
        raise ValueError(f"Pad: paddings must be pairs of known numbers, got {paddings}")
    if rank is not None and len(widths) != rank:
        raise ValueError(f"Pad: paddings must be a pair for each of {rank} axes, got {paddings}")
    number = known_number(constant_values)
    kinds = {
        "CONSTANT": ("PadV2" if number else "Pad", "constant"),
        "REFLECT": ("MirrorPad", "reflect"),
        "SYMMETRIC": ("MirrorPad", "symmetric"),
    }
    if mode.upper() not in kinds:
        raise ValueError(f"Unknown padding mode: {mode}.")
    kind, ours = kinds[mode.upper()]
    flat = tuple(width for pair in widths for width in pair)
    params = {"pad_width": flat, "mode": ours, "constant_values": float(number)}
    return op(kind, "_npi_pad", [x], name=name, **params)


def known_number(value: Any) -> Any:
    """Returns a number that is given as one, or as a constant."""
    found = constant_value(value) if isinstance(value, Tensor) else value
    if found is None:
        raise ValueError(f"a number that is known when the graph is built is needed, got {value}")
    return np.asarray(found).item()


def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with the order along some axes reversed."""
    x = convert_to_tensor(tensor, name="tensor")
    axes = axes_of("ReverseV2", axis, x.shape.ndims)
    if not axes:
        return identity(x, name=name)
    return op("ReverseV2", "reverse", [x], name=name, axis=axes)


reverse_v2 = reverse


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Returns a tensor with the first elements of each example's sequence reversed.

    Args:
        input: a tensor of at least two dimensions.
        seq_lengths: (batch,) how many elements; the others stay where they are.
        seq_axis: that of the sequences.
        batch_axis: that of the examples; default 0.
        seq_dim: the older name of `seq_axis`.
        batch_dim: the older name of `batch_axis`.
    """
    x = convert_to_tensor(input, name="input")
    lengths = convert_to_tensor(seq_lengths, name="seq_lengths")
    kind, rank = "ReverseSequence", x.shape.ndims
    if rank is None:
        raise ValueError(f"{kind}: the number of dimensions of input must be known")
    time = axis_of(kind, renamed("seq_axis", seq_axis, "seq_dim", seq_dim), rank) % rank
    first = renamed("batch_axis", batch_axis, "batch_dim", batch_dim)
    batch = axis_of(kind, first or 0, rank) % rank
    order = (time, batch, *(one for one in range(rank) if one not in (time, batch)))
    back = tuple(int(one) for one in np.argsort(order))

    def turned(x: EdgeHandle, lengths: EdgeHandle) -> EdgeHandle:
        rows = x.transpose(axes=order)
        made = handle("SequenceReverse", rows, lengths, use_sequence_length=True)
        return made.transpose(axes=back)

    return fused(kind, turned, [x, lengths], name=name, shape=x.shape)


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """Returns a tensor whose elements are moved along axes; those that leave come in again."""
    x = convert_to_tensor(input, name="input")
    steps, axes = known_numbers(shift), axes_of("Roll", axis, x.shape.ndims)
    listed = tuple(steps) if isinstance(steps, list) else (steps,)
    return op("Roll", "_np_roll", [x], name=name, shift=listed, axis=axes)


def repeat(input: Any, repeats: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """Returns a tensor with each element repeated `repeats` times, one number, along an axis."""
    with name_scope(name, "Repeat", [input]):
        x = convert_to_tensor(input)
        count = known_count(repeats, f"repeat: repeats must be one known number, got {repeats}")
        number = None if axis is None else axis_of("Repeat", axis, x.shape.ndims)
        return op("Reshape", "repeat", [x], name="Reshape_1", repeats=count, axis=number)


def _by_blocks(kind: str, operator: str, doc: str) -> Callable[..., Any]:
    def function(
        input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC"
    ) -> Any:
        if data_format not in ("NHWC", "NCHW"):
            raise ValueError(f"{kind}: data_format must be NHWC or NCHW, got {data_format}")
        last = data_format == "NHWC"

        def moved(x: EdgeHandle) -> EdgeHandle:
            first = x.transpose(axes=(0, 3, 1, 2)) if last else x
            found = handle(operator, first, block_size=block_size)
            return found.transpose(axes=(0, 2, 3, 1)) if last else found

        return fused(kind, moved, [convert_to_tensor(input)], name=name)

    return described(function, operator, doc)


space_to_depth = _by_blocks(
    "SpaceToDepth", "space_to_depth",
    "Returns images whose blocks of pixels became channels; `data_format` is NHWC or NCHW.",
)  # fmt: skip
depth_to_space = _by_blocks("DepthToSpace", "depth_to_space", "Undoes `space_to_depth`.")
