"""Initializers: what makes the first values of variables, called with a shape and a dtype."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hybridnet.ops.core import registry

from .. import dtypes
from ..dtypes import DType, as_dtype
from ..graph import Tensor, TensorShape, compose, constant, described, handle
from ..operations import ones, random_normal, random_uniform, truncated_normal, zeros

__all__ = [
    "constant_initializer", "glorot_normal_initializer", "glorot_uniform_initializer",
    "ones_initializer", "orthogonal_initializer", "random_normal_initializer",
    "random_uniform_initializer", "truncated_normal_initializer",
    "uniform_unit_scaling_initializer", "variance_scaling_initializer", "zeros_initializer",
]  # fmt: skip

#: The standard deviation of a normal distribution that is cut off at two, as a part of its own.
_CUT: Final = 0.87962566103423978


class Initializer:
    """Makes the first value of a variable: ``initializer(shape, dtype)`` returns a tensor.

    Its fields are its arguments, and what `get_config` returns: of most a `dtype`, for where a call
    gives none, and a `seed`, which has no meaning here; see `tf.set_random_seed`.
    """

    #: Used where a call gives none.
    dtype: Any = dtypes.float32

    def __post_init__(self) -> None:
        self.dtype = as_dtype(self.dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """Returns the value.

        Args:
            shape, dtype: of the variable.
            partition_info: of a part of a variable, what it is a part of.
        """
        sizes: Any = tuple(TensorShape(shape).as_list())
        kind = self.dtype if dtype is None else as_dtype(dtype).base_dtype
        whole = sizes if partition_info is None else partition_info.full_shape
        offset = [0] * len(sizes) if partition_info is None else partition_info.var_offset
        return self._made(sizes, kind, whole, offset)

    def _made(
        self, shape: tuple[int, ...], dtype: DType, whole: Sequence[int], offset: Sequence[int]
    ) -> Tensor:
        """Returns the value of a variable, or of a part of one.

        Args:
            shape, dtype: of it.
            whole: the shape of the whole.
            offset: where in the whole it begins.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Returns what it was made with."""
        return {key: one for key, one in vars(self).items() if not key.startswith("_")}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Returns the initializer that `get_config` describes."""
        return cls(**config)


@dataclass(eq=False, repr=False)
class Zeros(Initializer):
    """Zeros."""

    dtype: Any = dtypes.float32

    def _made(self, shape: tuple[int, ...], dtype: DType, *part: Sequence[int]) -> Tensor:
        return zeros(shape, dtype)


@dataclass(eq=False, repr=False)
class Ones(Initializer):
    """Ones."""

    dtype: Any = dtypes.float32

    def _made(self, shape: tuple[int, ...], dtype: DType, *part: Sequence[int]) -> Tensor:
        return ones(shape, dtype)


class Constant(Initializer):
    """Given numbers: one for all elements, or an array with as many as there are.

    Args:
        value: the numbers.
        verify_shape: whether the shape must be that of `value`.
    """

    def __init__(
        self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False
    ) -> None:
        self.value = value
        self.dtype = as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self,
        shape: Any,
        dtype: Any = None,
        partition_info: Any = None,
        verify_shape: bool | None = None,
    ) -> Tensor:
        """Returns the value; see `Initializer.__call__`."""
        kind = self.dtype if dtype is None else as_dtype(dtype).base_dtype
        verify = self._verify_shape if verify_shape is None else verify_shape
        sizes = TensorShape(shape).as_list()
        return constant(self.value, kind, sizes, verify_shape=verify)


@dataclass(eq=False, repr=False)
class RandomNormal(Initializer):
    """Samples of a normal distribution.

    Args:
        mean: of it.
        stddev: its standard deviation.
    """

    mean: Any = 0.0
    stddev: Any = 1.0
    seed: int | None = None
    dtype: Any = dtypes.float32

    def _made(self, shape: tuple[int, ...], dtype: DType, *part: Sequence[int]) -> Tensor:
        return random_normal(shape, self.mean, self.stddev, dtype)


class TruncatedNormal(RandomNormal):
    """As `RandomNormal`, without what is beyond two standard deviations."""

    def _made(self, shape: tuple[int, ...], dtype: DType, *part: Sequence[int]) -> Tensor:
        return truncated_normal(shape, self.mean, self.stddev, dtype)


@dataclass(eq=False, repr=False)
class RandomUniform(Initializer):
    """Samples spread evenly between two numbers.

    Args:
        minval: the least.
        maxval: the end; default 1.
    """

    minval: Any = 0.0
    maxval: Any = None
    seed: int | None = None
    dtype: Any = dtypes.float32

    def _made(self, shape: tuple[int, ...], dtype: DType, *part: Sequence[int]) -> Tensor:
        return random_uniform(shape, self.minval, self.maxval, dtype)


@dataclass(eq=False, repr=False)
class UniformUnitScaling(Initializer):
    """Uniform samples that keep the size of what passes a layer.

    Args:
        factor: times that.
    """

    factor: float = 1.0
    seed: int | None = None
    dtype: Any = dtypes.float32

    def _made(
        self, shape: tuple[int, ...], dtype: DType, whole: Sequence[int], offset: Sequence[int]
    ) -> Tensor:
        size = max(math.prod(whole[:-1]), 1)
        limit = math.sqrt(3 / size) * self.factor
        return random_uniform(shape, -limit, limit, dtype)


def fans(shape: Sequence[int]) -> tuple[float, float]:
    """Returns how many numbers an output of a layer comes from, and how many an input goes to.

    Args:
        shape: of the weight, (*kernel, inputs, outputs).
    """
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return float(size), float(size)
    field = math.prod(shape[:-2])
    return float(shape[-2] * field), float(shape[-1] * field)


@dataclass(eq=False, repr=False)
class VarianceScaling(Initializer):
    """Samples whose variance is a number over that of a layer's inputs, outputs, or their mean.

    Args:
        scale: the number.
        mode: 'fan_in', 'fan_out' or 'fan_avg'.
        distribution: 'truncated_normal' (or 'normal'), 'untruncated_normal' or 'uniform'.

    Raises:
        ValueError: an argument is something else.
    """

    scale: float = 1.0
    mode: str = "fan_in"
    distribution: str = "truncated_normal"
    seed: int | None = None
    dtype: Any = dtypes.float32

    def __post_init__(self) -> None:
        if self.scale <= 0.0:
            raise ValueError(f"Argument `scale` must be a positive float. Received: {self.scale}")
        if self.mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"`mode` must be fan_in, fan_out or fan_avg. Received: {self.mode}")
        self.distribution = self.distribution.lower()
        known = ("normal", "uniform", "truncated_normal", "untruncated_normal")
        if self.distribution not in known:
            raise ValueError(f"Unknown `distribution`: {self.distribution}")
        super().__post_init__()

    def _made(
        self, shape: tuple[int, ...], dtype: DType, whole: Sequence[int], offset: Sequence[int]
    ) -> Tensor:
        inward, outward = fans(whole)
        size = {"fan_in": inward, "fan_out": outward, "fan_avg": (inward + outward) / 2}[self.mode]
        scale = self.scale / max(1.0, size)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * scale)
            return random_uniform(shape, -limit, limit, dtype)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(scale), dtype)
        return truncated_normal(shape, 0.0, math.sqrt(scale) / _CUT, dtype)


class GlorotUniform(VarianceScaling):
    """Uniform samples after Glorot and Bengio, "Understanding the difficulty of training deep
    feedforward neural networks", 2010: the default of ``tf.get_variable``.
    """

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class GlorotNormal(VarianceScaling):
    """Normal samples of the same variance as those of `GlorotUniform`; arguments as there."""

    def __init__(self, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


@dataclass(eq=False, repr=False)
class Identity(Initializer):
    """The identity matrix, times a number.

    Args:
        gain: the number.
    """

    gain: float = 1.0
    dtype: Any = dtypes.float32

    def _made(
        self, shape: tuple[int, ...], dtype: DType, whole: Sequence[int], offset: Sequence[int]
    ) -> Tensor:
        if len(shape) != 2:
            raise ValueError(f"Identity matrix initializer can only be used for 2D, got {shape}")
        ends = zip(offset, shape, strict=True)
        part = tuple(np.s_[at : at + size] for at, size in ends)
        return constant((np.eye(whole[0], whole[1]) * self.gain)[part], dtype)


@dataclass(eq=False, repr=False)
class Orthogonal(Initializer):
    """A random matrix whose rows or columns are orthogonal unit vectors, times a number.

    Args:
        gain: the number.
    """

    gain: float = 1.0
    seed: int | None = None
    dtype: Any = dtypes.float32

    def _made(self, shape: tuple[int, ...], dtype: DType, *part: Sequence[int]) -> Tensor:
        if len(shape) < 2:
            raise ValueError(f"Orthogonal: the shape must have 2 dimensions or more, got {shape}")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        flat = (min(rows, columns), max(rows, columns))
        samples = random_normal(flat, dtype=dtype)

        def orthogonal(x: Any) -> Any:
            # x = l q with a triangular l, whose diagonal is made positive so that q is uniform.
            q, lower = type(x).apply_operator(registry.get("_linalg_gelqf"), [x], {})
            signs = handle("sign", handle("_linalg_extractdiag", lower))
            q = handle("broadcast_mul", q, handle("expand_dims", signs, axis=-1))
            q = q if rows < columns else handle("transpose", q)
            return handle("_mul_scalar", handle("_np_reshape", q, newshape=shape), scalar=self.gain)

        made: Tensor = compose("Mul", orthogonal, [samples], name="mul")
        return made


def _by_inputs(name: str, scale: float, kind: str, whose: str = "") -> Callable[..., Any]:
    def initializer(seed: int | None = None) -> VarianceScaling:
        return VarianceScaling(scale, "fan_in", kind, seed)

    doc = f"Returns {kind.replace('_', ' ')} samples of variance {scale:g} / inputs{whose}."
    return described(initializer, name, doc)


he_normal = _by_inputs("he_normal", 2.0, "truncated_normal", " (He et al., 2015)")
he_uniform = _by_inputs("he_uniform", 2.0, "uniform", " (He et al., 2015)")
lecun_normal = _by_inputs("lecun_normal", 1.0, "truncated_normal")
lecun_uniform = _by_inputs("lecun_uniform", 1.0, "uniform")


constant_initializer = Constant
glorot_normal_initializer = GlorotNormal
glorot_uniform_initializer = GlorotUniform
ones_initializer = Ones
orthogonal_initializer = Orthogonal
random_normal_initializer = RandomNormal
random_uniform_initializer = RandomUniform
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
zeros_initializer = Zeros
