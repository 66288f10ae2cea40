"""Random numbers: ``tf.random_normal``, ``tf.random_uniform``, ``tf.multinomial``.

A session's numbers come from one generator: they depend on the graph's seed and the order of the
draws, not on the ``seed`` of each function, and are not TensorFlow's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import dtypes
from ..dtypes import DType, as_dtype, string
from ..graph import as_floats, convert_to_tensor, known_numbers, require_kind, static_value
from ..graph.adding import EdgeHandle, Tensor, described, fused, handle, name_scope, of_shape, op
from .creation import range_of, shape_of, size_of
from .gathering import gather
from .slicing import slice

__all__ = [
    "categorical", "multinomial", "random_crop", "random_normal", "random_shuffle",
    "random_uniform", "truncated_normal",
]  # fmt: skip

_KINDS = {
    "normal": "RandomStandardNormal",
    "truncated_normal": "TruncatedNormal",
    "uniform": "RandomUniform",
}


def _samples(shape: Any, dtype: DType, distribution: str, name: str | None = None) -> Tensor:
    kind = _KINDS[distribution]
    params = {"dtype": dtype.numpy.name, "distribution": distribution}
    return of_shape(kind, "_standard_samples", [], shape, dtype, params, name=name or kind)


def _floating(dtype: Any, kind: str) -> DType:
    found = as_dtype(dtype).base_dtype
    if not found.is_floating:
        raise TypeError(f"{kind}: dtype must be floating point, got {found.name}")
    return found


def _scaled(samples: Tensor, factor: Tensor, offset: Tensor, name: str) -> Tensor:
    inputs = [samples, factor, offset]
    shape = samples.shape if factor.shape.ndims == offset.shape.ndims == 0 else None
    return fused("AddV2", lambda x, by, more: x * by + more, inputs, name=name, shape=shape)


def _normal(distribution: str, called: str, beyond: str) -> Callable[..., Tensor]:
    def function(
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = dtypes.float32,
        seed: int | None = None,
        name: str | None = None,
    ) -> Tensor:
        kind = _floating(dtype, called)
        with name_scope(name, called) as own:
            offset = convert_to_tensor(mean, kind, name="mean")
            factor = convert_to_tensor(stddev, kind, name="stddev")
            samples = _samples(shape, kind, distribution)
            return _scaled(samples, factor, offset, own)

    doc = f"""Returns samples of a normal distribution{beyond}.

        Args:
            shape: a list of numbers (some may be tensors), or a tensor.
            mean: a number or a tensor.
            stddev: the standard deviation, likewise.
            dtype: floating point.
            seed: without meaning here; see `tf.set_random_seed`.
        """
    return described(function, called, doc)


random_normal = _normal("normal", "random_normal", "")
truncated_normal = _normal(
    "truncated_normal", "truncated_normal", " without what is beyond two standard deviations"
)


def random_uniform(
    shape: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns samples that are spread evenly from one number up to, not including, another.

    Args:
        shape: a list of numbers (some may be tensors), or a tensor.
        minval: the least, a number or a tensor; default 0.
        maxval: the end; default 1; must be given for whole numbers.
        dtype: floating point, int32 or int64.
        seed: without meaning here; see `tf.set_random_seed`.

    Raises:
        ValueError: the end of whole numbers is missing, or not known when the graph is built.
    """
    kind = as_dtype(dtype).base_dtype
    if maxval is None:
        if kind.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {kind.name}")
        maxval = 1
    with name_scope(name, "random_uniform") as scope:
        if kind.is_integer:
            return _whole(shape, minval, maxval, kind, scope)
        plain = not isinstance(minval, Tensor) and not isinstance(maxval, Tensor)
        if plain and minval == 0 and maxval == 1:
            return _samples(shape, _floating(kind, "random_uniform"), "uniform")
        low = convert_to_tensor(minval, kind, name="min")
        high = convert_to_tensor(maxval, kind, name="max")
        width = fused("Sub", lambda high, low: high - low, [high, low], name="sub")
        return _scaled(_samples(shape, kind, "uniform"), width, low, scope)


def _whole(shape: Any, minval: Any, maxval: Any, kind: DType, name: str) -> Tensor:
    bounds = [static_value(one) for one in (minval, maxval)]
    if None in bounds:
        raise ValueError("random_uniform: bounds of whole numbers must be known, got tensors")
    low, high = (int(one) for one in bounds)
    if low >= high:
        raise ValueError(f"Need minval < maxval, got {low} >= {high}")
    params = {"low": low, "high": high, "dtype": kind.numpy.name}
    return of_shape(
        "RandomUniformInt", "_npi_random_randint", [], shape, kind, params, name=name, by="size"
    )


def random_shuffle(value: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Returns a tensor with its slices along the first axis in a random order."""
    x = convert_to_tensor(value, name="value")
    if x.dtype.base_dtype is string:  # these are on the host: numbers of them are shuffled
        count = shape_of(x)[0]  # type: ignore[index]  # overloaded
        order = op("RandomShuffle", "_shuffle", [range_of(count)])
        return gather(x, order, name=name)
    return op("RandomShuffle", "_shuffle", [x], name=name)


def random_crop(value: Any, size: Any, seed: int | None = None, name: str | None = None) -> Tensor:
    """Returns a block of a tensor, of known sizes, at a random place.

    Raises:
        ValueError: a size is not known, or larger than the tensor's.
    """
    with name_scope(name, "random_crop", [value]) as scope:
        x = convert_to_tensor(value, name="value")
        sizes = known_numbers(size)
        dims = x.shape._dims
        if sizes is None or dims is None or None in dims:
            raise ValueError("random_crop: the sizes of value and size must be known")
        if len(sizes) != len(dims) or any(n > m for n, m in zip(sizes, dims, strict=True)):
            raise ValueError(f"Need value.shape >= size, got {x.shape} and {sizes}")
        params: dict[str, Any] = {"low": 0, "dtype": "int32", "size": ()}
        begin = [
            op("RandomUniformInt", "_npi_random_randint", [], high=m - n + 1, **params)
            for n, m in zip(sizes, dims, strict=True)
        ]
        return slice(x, begin, sizes, name=scope)


def multinomial(
    logits: Any,
    num_samples: Any,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: Any = None,
) -> Tensor:
    """Returns classes drawn with unnormalized log-probabilities.

    Args:
        logits: (batch, classes).
        num_samples: how many for each row, known when the graph is built.
        seed: without meaning here; see `tf.set_random_seed`.
        output_dtype: int64 (the default) or int32.

    Returns:
        (batch, num_samples).
    """
    with name_scope(name, "multinomial", [logits]):
        rows = as_floats("Multinomial", logits, "logits")
        count = known_numbers(num_samples)
        wanted = as_dtype(output_dtype or dtypes.int64)
        require_kind("Multinomial", "output_dtype", rows, lambda _: wanted.is_integer)
        dims = rows.shape._dims
        if dims is None or len(dims) != 2 or dims[1] is None or not isinstance(count, int):
            raise ValueError(
                f"multinomial: logits must be (batch, classes) with known classes, got {rows.shape}"
            )
        sizes = [size_of(rows, 0), count, dims[1]]
        uniform = _samples(sizes, rows.dtype.base_dtype, "uniform", "uniform")

        def drawn(rows: EdgeHandle, uniform: EdgeHandle) -> EdgeHandle:
            # The largest of logits with Gumbel noise is a sample (Maddison, Tarlow and Minka,
            # "A* Sampling", 2014).
            noise = handle("_maximum_scalar", -(-uniform).log1p(), scalar=1e-30)
            noisy = rows.expand_dims(axis=1) + -noise.log()
            return handle("Cast", handle("_npi_argmax", noisy, axis=-1), dtype=wanted.numpy.name)

        return fused("Multinomial", drawn, [rows, uniform], name="Multinomial")


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns classes drawn with unnormalized log-probabilities; see `multinomial`."""
    return multinomial(logits, num_samples, seed, name or "categorical", dtype)
