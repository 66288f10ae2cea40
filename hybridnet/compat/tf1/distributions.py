"""``tf.distributions``: random numbers, and how likely they are."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, final

from .dtypes import as_dtype, int32
from .graph import Tensor, TensorShape, convert_to_tensor, known_numbers, name_scope, require_same
from .operations import argmax, concat, one_hot, reduce_sum, reshape, transpose, where
from .operations.creation import ones_like, zeros_like
from .operations.creation import shape as shape_of
from .operations.elementwise import (
    add,
    cast,
    divide,
    erf,
    exp,
    greater,
    greater_equal,
    less,
    log,
    logical_or,
    multiply,
    negative,
    sigmoid,
    sqrt,
    square,
    subtract,
)  # fmt: skip
from .operations.nn.activation import log_softmax, softmax, softplus
from .operations.nn.entropy import sigmoid_cross_entropy_with_logits
from .operations.random import multinomial, random_normal, random_uniform

__all__ = ["Bernoulli", "Categorical", "Normal", "Uniform", "kl_divergence"]

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)


class Distribution(ABC):
    """Random numbers: one distribution, or several side by side.

    `validate_args` and `allow_nan_stats` of all of them are without meaning here; `name` is that of
    the scope of what they make.

    Args:
        base: a tensor of the shape of one sample of each.
        dtype: of samples.

    Attributes:
        dtype, name: as given.
        batch_shape: the shape of the distributions side by side, as far as it is known.
        event_shape: the shape of one sample of one of them: none has more than a number.
    """

    def __init__(self, base: Tensor, dtype: Any, name: str) -> None:
        self._base = base
        self.batch_shape, self.event_shape = base.shape, TensorShape([])
        self.dtype = as_dtype(dtype).base_dtype
        self.name = name

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Returns the shape of the distributions side by side, as a tensor."""
        return shape_of(self._base, name=name)

    @abstractmethod
    def _sample(self, shape: Any, count: Any) -> Tensor:
        """Returns samples of a shape; `count` are how many of each there are, where it is known."""

    @abstractmethod
    def _log_prob(self, value: Tensor) -> Tensor: ...

    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Any:
        """Returns samples, (*sample_shape, *batch_shape).

        Args:
            sample_shape: a number, or a shape.
            seed: without meaning here; see `tf.set_random_seed`.
        """
        with name_scope(f"{self.name}/{name}"):
            count = reshape(convert_to_tensor(sample_shape, int32), [-1])
            known = known_numbers(sample_shape)
            known = [known] if isinstance(known, int) else known
            made = self._sample(concat([count, shape_of(self._base)], 0), known)
            if known is not None:
                made.set_shape(TensorShape(known).concatenate(self.batch_shape))
            return made

    def log_prob(self, value: Any, name: str = "log_prob") -> Tensor:
        """Returns the logarithm of how likely (or dense) values are."""
        with name_scope(f"{self.name}/{name}", values=[value]):
            return self._log_prob(convert_to_tensor(value, preferred_dtype=self.dtype))

    def prob(self, value: Any, name: str = "prob") -> Tensor:
        """Returns how likely (or dense) values are."""
        with name_scope(f"{self.name}/{name}", values=[value]):
            return exp(self._log_prob(convert_to_tensor(value, preferred_dtype=self.dtype)))

    @abstractmethod
    def entropy(self, name: str = "entropy") -> Tensor:
        """Returns the entropies in nats."""

    @abstractmethod
    def mean(self, name: str = "mean") -> Tensor:
        """Returns the means."""

    @abstractmethod
    def variance(self, name: str = "variance") -> Tensor:
        """Returns the variances."""

    def stddev(self, name: str = "stddev") -> Tensor:
        """Returns the roots of the variances."""
        return sqrt(self.variance(), name=f"{self.name}/{name}")

    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """Returns how far other distributions of the same kind are from these, in nats."""
        return kl_divergence(self, other, name=f"{self.name}/{name}")


@final
class Normal(Distribution):
    """The normal distribution.

    Args:
        loc: its mean.
        scale: its standard deviation; broadcasts with `loc`.
    """

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[loc, scale]):
            self.loc, self.scale = require_same("Normal", ("loc", "scale"), (loc, scale))
            super().__init__(add(self.loc, self.scale), self.loc.dtype, name)

    def _sample(self, shape: Any, count: Any) -> Tensor:
        return add(multiply(random_normal(shape, dtype=self.dtype), self.scale), self.loc)

    def _log_prob(self, value: Tensor) -> Tensor:
        far = square(divide(subtract(value, self.loc), self.scale))
        return subtract(multiply(-0.5, far), add(log(self.scale), _HALF_LOG_TWO_PI))

    def cdf(self, value: Any, name: str = "cdf") -> Tensor:
        """Returns how likely a sample is not greater than values."""
        with name_scope(f"{self.name}/{name}", values=[value]):
            far = divide(subtract(value, self.loc), multiply(self.scale, math.sqrt(2.0)))
            return multiply(0.5, add(1.0, erf(far)))

    def entropy(self, name: str = "entropy") -> Tensor:
        """Returns the entropies in nats."""
        spread = multiply(self.scale, ones_like(self._base))
        return add(log(spread), 0.5 + _HALF_LOG_TWO_PI, name=f"{self.name}/{name}")

    def mean(self, name: str = "mean") -> Tensor:
        """Returns the means."""
        return multiply(self.loc, ones_like(self._base), name=f"{self.name}/{name}")

    mode = mean

    def stddev(self, name: str = "stddev") -> Tensor:
        """Returns the standard deviations."""
        return multiply(self.scale, ones_like(self._base), name=f"{self.name}/{name}")

    def variance(self, name: str = "variance") -> Tensor:
        """Returns the variances."""
        return square(self.stddev(), name=f"{self.name}/{name}")


@final
class Uniform(Distribution):
    """Numbers that are all as likely, from `low` up to but not including `high`.

    Args:
        low: the least.
        high: the end; broadcasts with `low`.
    """

    def __init__(
        self, low: Any = 0.0, high: Any = 1.0, validate_args: bool = False,
        allow_nan_stats: bool = True, name: str = "Uniform",
    ) -> None:  # fmt: skip
        with name_scope(name, values=[low, high]):
            self.low, self.high = require_same("Uniform", ("low", "high"), (low, high))
            super().__init__(subtract(self.high, self.low), self.low.dtype, name)

    def range(self, name: str = "range") -> Tensor:
        """Returns `high` - `low`."""
        return subtract(self.high, self.low, name=f"{self.name}/{name}")

    def _sample(self, shape: Any, count: Any) -> Tensor:
        return add(multiply(random_uniform(shape, dtype=self.dtype), self._base), self.low)

    def _log_prob(self, value: Tensor) -> Tensor:
        whole = add(value, zeros_like(self._base))
        outside = logical_or(less(whole, self.low), greater_equal(whole, self.high))
        dense = divide(ones_like(whole), self._base)
        return log(where(outside, zeros_like(dense), dense))

    def entropy(self, name: str = "entropy") -> Tensor:
        """Returns the entropies in nats."""
        return log(self._base, name=f"{self.name}/{name}")

    def mean(self, name: str = "mean") -> Tensor:
        """Returns the means."""
        return multiply(add(self.low, self.high), 0.5, name=f"{self.name}/{name}")

    def variance(self, name: str = "variance") -> Tensor:
        """Returns the variances."""
        return divide(square(self._base), 12.0, name=f"{self.name}/{name}")


@final
class Bernoulli(Distribution):
    """1 with some probability, else 0.

    Args:
        logits: the logarithms of how much likelier 1 is than 0.
        probs: or the probabilities of 1.
        dtype: of samples.

    Attributes:
        logits, probs: as given, and what follows.

    Raises:
        ValueError: both are given, or none.
    """

    def __init__(
        self, logits: Any = None, probs: Any = None, dtype: Any = int32,
        validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Bernoulli",
    ) -> None:  # fmt: skip
        _require_one(logits, probs)
        with name_scope(name, values=[logits, probs]):
            if probs is None:
                self.logits = convert_to_tensor(logits, name="logits")
                self.probs = sigmoid(self.logits, name="probs")
            else:
                self.probs = convert_to_tensor(probs, name="probs")
                self.logits = subtract(log(self.probs), log(subtract(1.0, self.probs)))
            super().__init__(self.probs, dtype, name)

    def _sample(self, shape: Any, count: Any) -> Tensor:
        drawn = less(random_uniform(shape, dtype=self.probs.dtype), self.probs)
        made: Tensor = cast(drawn, self.dtype)
        return made

    def _log_prob(self, value: Tensor) -> Tensor:
        event = cast(value, self.logits.dtype)
        whole = add(event, zeros_like(self.logits)), add(self.logits, zeros_like(event))
        return negative(sigmoid_cross_entropy_with_logits(labels=whole[0], logits=whole[1]))

    def entropy(self, name: str = "entropy") -> Tensor:
        """Returns the entropies in nats."""
        part = multiply(negative(self.logits), subtract(self.probs, 1.0))
        return add(part, softplus(negative(self.logits)), name=f"{self.name}/{name}")

    def mean(self, name: str = "mean") -> Tensor:
        """Returns the probabilities of 1."""
        return add(self.probs, 0.0, name=f"{self.name}/{name}")

    def variance(self, name: str = "variance") -> Tensor:
        """Returns the variances."""
        return multiply(self.probs, subtract(1.0, self.probs), name=f"{self.name}/{name}")

    def mode(self, name: str = "mode") -> Tensor:
        """Returns the likelier of 0 and 1."""
        made: Tensor = cast(greater(self.probs, 0.5), self.dtype, name=f"{self.name}/{name}")
        return made


@final
class Categorical(Distribution):
    """One of several classes, 0 and on.

    Args:
        logits: (..., classes) the logarithms of probabilities, up to a constant.
        probs: or the probabilities.
        dtype: of samples.

    Attributes:
        logits, probs: as given, and what follows.

    Raises:
        ValueError: both are given, or none; or the number of dimensions is not known.
    """

    def __init__(
        self, logits: Any = None, probs: Any = None, dtype: Any = int32,
        validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Categorical",
    ) -> None:  # fmt: skip
        _require_one(logits, probs)
        with name_scope(name, values=[logits, probs]):
            if probs is None:
                self.logits = convert_to_tensor(logits, name="logits")
                self.probs = softmax(self.logits, name="probs")
            else:
                self.probs = convert_to_tensor(probs, name="probs")
                self.logits = log(self.probs, name="logits")
            if not self.logits.shape.ndims:
                raise ValueError(f"Categorical: classes are needed, got {self.logits}")
            super().__init__(reduce_sum(self.probs, -1), dtype, name)

    @property
    def event_size(self) -> Tensor:
        """The number of classes."""
        last: Tensor = shape_of(self.logits)[-1]  # type: ignore[index]  # overloaded
        return last

    def _sample(self, shape: Any, count: Any) -> Tensor:
        if count is None:
            raise ValueError("Categorical.sample: sample_shape must be known")
        rows = reshape(self.logits, [-1, self.logits.shape.as_list()[-1]])
        drawn = multinomial(rows, math.prod(count))
        return reshape(cast(transpose(drawn), self.dtype), shape)

    def _log_prob(self, value: Tensor) -> Tensor:
        classes = self.logits.shape.as_list()[-1]
        chosen = one_hot(cast(value, int32), classes, dtype=self.logits.dtype)
        return reduce_sum(multiply(chosen, log_softmax(self.logits)), -1)

    def entropy(self, name: str = "entropy") -> Tensor:
        """Returns the entropies in nats."""
        each = multiply(log_softmax(self.logits), softmax(self.logits))
        return negative(reduce_sum(each, -1), name=f"{self.name}/{name}")

    def mean(self, name: str = "mean") -> Tensor:
        """Raises NotImplementedError: classes have none."""
        raise NotImplementedError("mean is not implemented: Categorical")

    def variance(self, name: str = "variance") -> Tensor:
        """Raises NotImplementedError: classes have none."""
        raise NotImplementedError("variance is not implemented: Categorical")

    def mode(self, name: str = "mode") -> Tensor:
        """Returns the likeliest class."""
        made: Tensor = cast(argmax(self.logits, -1), self.dtype, name=f"{self.name}/{name}")
        return made


def _require_one(logits: Any, probs: Any) -> None:
    if (logits is None) is (probs is None):
        raise ValueError("Must pass probs or logits, but not both.")


def kl_divergence(
    distribution_a: Distribution,
    distribution_b: Distribution,
    allow_nan_stats: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns how far one distribution is from another of the same kind, in nats.

    Args:
        distribution_a: that by which the mean is taken.
        distribution_b: the other.
        allow_nan_stats: without meaning here.

    Raises:
        NotImplementedError: they are of two kinds.
    """
    a: Any = distribution_a
    b: Any = distribution_b
    with name_scope(name, "KullbackLeibler"):
        if isinstance(a, Normal) and isinstance(b, Normal):
            ratio = square(divide(a.scale, b.scale))
            far = divide(square(subtract(a.loc, b.loc)), multiply(2.0, square(b.scale)))
            return add(far, multiply(0.5, subtract(subtract(ratio, 1.0), log(ratio))))
        if isinstance(a, Categorical) and isinstance(b, Categorical):
            apart = subtract(log_softmax(a.logits), log_softmax(b.logits))
            return reduce_sum(multiply(softmax(a.logits), apart), -1)
        if isinstance(a, Bernoulli) and isinstance(b, Bernoulli):
            one = subtract(softplus(negative(b.logits)), softplus(negative(a.logits)))
            none = subtract(softplus(b.logits), softplus(a.logits))
            return add(multiply(a.probs, one), multiply(subtract(1.0, a.probs), none))
    raise NotImplementedError(
        f"No KL(distribution_a || distribution_b) registered for {type(a).__name__} and "
        f"{type(b).__name__}"
    )
