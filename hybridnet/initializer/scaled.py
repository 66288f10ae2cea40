"""Initializers that keep the scale of values, or of gradients, from layer to layer."""

from __future__ import annotations

import math

import numpy as np

from hybridnet import nd
from hybridnet.base.errors import ShapeError
from hybridnet.ndarray import NDArray

from .base import Initializer, register, require_one_of

__all__ = ["MSRAPrelu", "Orthogonal", "Xavier"]


@register
class Orthogonal(Initializer):
    """Makes the rows (or, if there are more rows than columns, the columns) orthogonal.

    The factor of a random matrix' singular value decomposition that has its shape, as (shape[0],
    the rest), times `scale` (Saxe, McClelland and Ganguli, 2013). Computed on the host.

    Args:
        scale: the length of each row or column.
        rand_type: 'uniform' or 'normal', what the matrix is drawn from.
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
        super().__init__(scale=scale, rand_type=rand_type)
        require_one_of("Orthogonal", "rand_type", rand_type, ("uniform", "normal"))
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, name: str, arr: NDArray) -> None:
        shape = (arr.shape[0], math.prod(arr.shape[1:]))
        draw = nd.random.uniform if self.rand_type == "uniform" else nd.random.normal
        low_or_mean = -1.0 if self.rand_type == "uniform" else 0.0
        matrix = draw(low_or_mean, 1.0, shape=shape, ctx=arr.context).asnumpy()
        left, _, right = np.linalg.svd(matrix, full_matrices=False)
        factor = left if left.shape == shape else right
        arr[:] = self.scale * factor.reshape(arr.shape)


@register
class Xavier(Initializer):
    """Draws weights so that values keep their scale from layer to layer (Glorot and Bengio, 2010).

    The scale is ``sqrt(magnitude / factor)``: the bound of the uniform distribution, or the
    standard deviation of the normal one. A weight has the shape (outputs, inputs, kernel...).

    Args:
        rnd_type: 'uniform' or 'gaussian'.
        factor_type: 'in', 'out' or 'avg': the factor is the number of values that a value is
            computed from, that it goes into, or the mean of both.
        magnitude: see above.

    Raises:
        ParameterError: an argument is none of these.
    """

    def __init__(
        self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3
    ) -> None:
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        require_one_of(type(self).__name__, "rnd_type", rnd_type, ("uniform", "gaussian"))
        require_one_of(type(self).__name__, "factor_type", factor_type, ("avg", "in", "out"))
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name: str, arr: NDArray) -> None:
        shape = arr.shape
        if len(shape) < 2:
            raise ShapeError(
                f"{type(self).__name__}: requires at least 2 dimensions, got {str(name)!r} of "
                f"shape {shape}; give it another initializer"
            )
        kernel = math.prod(shape[2:])
        fan_in, fan_out = shape[1] * kernel, shape[0] * kernel
        factors = {"avg": (fan_in + fan_out) / 2, "in": fan_in, "out": fan_out}
        scale = math.sqrt(self.magnitude / factors[self.factor_type])
        if self.rnd_type == "uniform":
            nd.random.uniform(-scale, scale, out=arr)
        else:
            nd.random.normal(0, scale, out=arr)


@register
class MSRAPrelu(Xavier):
    """Draws weights for layers followed by a leaky ReLU (He, Zhang, Ren and Sun, 2015).

    That is `Xavier` from the normal distribution with magnitude ``2 / (1 + slope**2)``.

    Args:
        factor_type: as in `Xavier`.
        slope: of the leaky ReLU, where it is negative.
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}
