"""`np.random`: arrays of random numbers, drawn in program order from the context's generator.

Parameters are numbers or arrays that broadcast; without `size` one sample is drawn for each.
"""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar, cast

import numpy as onp

from hybridnet.base.array_types import Dims, DTypeLike
from hybridnet.base.context import Context, current_context
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Operand, registry

from .calls import apply, dimensions, dtype_name, operand
from .limits import check_number, watched
from .multiarray import array, ndarray
from .operands import ArrayLike

__all__ = [
    "beta",
    "chisquare",
    "choice",
    "exponential",
    "gamma",
    "gumbel",
    "logistic",
    "lognormal",
    "multinomial",
    "multivariate_normal",
    "normal",
    "pareto",
    "power",
    "rand",
    "randint",
    "randn",
    "rayleigh",
    "shuffle",
    "uniform",
    "weibull",
]

#: The names of the parameters in the rows of the registry, where they are others.
_SPELLED: Final = {"shape": "alpha"}

K = TypeVar("K", bound=Operand)


class Random(Generic[K]):
    """The functions, for one kind of operand.

    Args:
        kind: `ndarray`, or the class of symbols with NumPy's semantics.
    """

    current_context = staticmethod(current_context)

    def __init__(self, kind: type[K]) -> None:
        self._kind = kind

    def _draw(
        self,
        name: str,
        params: dict[str, Any],
        size: Dims | None,
        dtype: DTypeLike = None,
        ctx: Context | None = None,
        out: Any = None,
    ) -> K:
        """Draws from a distribution whose parameters are numbers or arrays."""
        inputs: list[ndarray] = []
        attrs: dict[str, object] = {}
        given = ""
        for number, (key, value) in enumerate(params.items(), 1):
            if isinstance(value, (Operand, onp.ndarray, list, tuple)):
                params[key] = operand(value)
                inputs.append(params[key])
                given += str(number)
            else:
                attrs[_SPELLED.get(key, key)] = check_number(name, key, float(value))
        attrs |= {"given": given, "size": dimensions(size, None), "dtype": dtype_name(dtype)}
        if out is not None and not inputs:
            attrs["size"], ctx = out.shape, out.context
            attrs["dtype"] = attrs["dtype"] or onp.dtype(out.dtype).name
        if out is None or not inputs:
            return self._watched(name, params, self._call(f"_npi_{name}", inputs, attrs, ctx, out))
        drawn = self._watched(name, params, self._call(f"_npi_{name}", inputs, attrs, ctx))
        return self._apply("_np_copy", drawn, out=out)

    def _watched(self, name: str, params: dict[str, object], drawn: K) -> K:
        watching: K = watched(name, params, drawn)
        return watching

    def _apply(self, name: str, *inputs: ArrayLike, **attrs: Any) -> K:
        """`apply`, for this kind of operand."""
        made: Any = apply(name, *inputs, **attrs)
        return cast("K", made)

    def _call(
        self,
        name: str,
        inputs: list[ndarray],
        attrs: dict[str, object],
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        if inputs:
            return self._apply(name, *inputs, out=out, **attrs)
        kind: Any = self._kind
        where = {"ctx": ctx} if issubclass(kind, ndarray) else {}
        made: K = kind.apply_operator(registry.get(name), (), attrs, out=out, **where)
        return made

    def uniform(
        self,
        low: ArrayLike = 0.0,
        high: ArrayLike = 1.0,
        size: Dims | None = None,
        dtype: DTypeLike = None,
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        """Draws from the uniform distribution on [low, high).

        Args:
            low, high: numbers or arrays, which broadcast.
            size: the shape; default that of the parameters.
            dtype: float32 by default.
            ctx: where; default the current context.
            out: an array for the result.
        """
        return self._draw("uniform", {"low": low, "high": high}, size, dtype, ctx, out)

    def normal(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Dims | None = None,
        dtype: DTypeLike = None,
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        """Draws from the normal distribution with mean `loc` and standard deviation `scale`.

        The other arguments are those of `uniform`.
        """
        return self._draw("normal", {"loc": loc, "scale": scale}, size, dtype, ctx, out)

    def lognormal(
        self,
        mean: ArrayLike = 0.0,
        sigma: ArrayLike = 1.0,
        size: Dims | None = None,
        dtype: DTypeLike = None,
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        """Draws numbers whose logarithm is normal with a mean and a standard deviation."""
        return self._draw("lognormal", {"mean": mean, "sigma": sigma}, size, dtype, ctx, out)

    def logistic(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Dims | None = None,
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        """Draws from the logistic distribution."""
        return self._draw("logistic", {"loc": loc, "scale": scale}, size, None, ctx, out)

    def gumbel(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Dims | None = None,
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        """Draws from the Gumbel distribution."""
        return self._draw("gumbel", {"loc": loc, "scale": scale}, size, None, ctx, out)

    def exponential(
        self,
        scale: ArrayLike = 1.0,
        size: Dims | None = None,
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        """Draws from the exponential distribution of mean `scale`."""
        return self._draw("exponential", {"scale": scale}, size, None, ctx, out)

    def rayleigh(
        self,
        scale: ArrayLike = 1.0,
        size: Dims | None = None,
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        """Draws from the Rayleigh distribution of mode `scale`."""
        return self._draw("rayleigh", {"scale": scale}, size, None, ctx, out)

    def weibull(
        self,
        a: ArrayLike,
        size: Dims | None = None,
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        """Draws from the Weibull distribution of shape `a` and scale 1."""
        return self._draw("weibull", {"a": a}, size, None, ctx, out)

    def pareto(
        self,
        a: ArrayLike,
        size: Dims | None = None,
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        """Draws from the Pareto distribution of shape `a`, less 1."""
        return self._draw("pareto", {"a": a}, size, None, ctx, out)

    def power(self, a: ArrayLike, size: Dims | None = None) -> K:
        """Draws from the power distribution with exponent ``a - 1`` on [0, 1]."""
        return self._draw("powerd", {"a": a}, size)

    def gamma(
        self,
        shape: ArrayLike,
        scale: ArrayLike = 1.0,
        size: Dims | None = None,
        dtype: DTypeLike = None,
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        """Draws from the gamma distribution of a shape and a scale."""
        return self._draw("gamma", {"shape": shape, "scale": scale}, size, dtype, ctx, out)

    def beta(
        self,
        a: ArrayLike,
        b: ArrayLike,
        size: Dims | None = None,
        dtype: DTypeLike = None,
        ctx: Context | None = None,
    ) -> K:
        """Draws from the beta distribution."""
        return self._draw("beta", {"a": a, "b": b}, size, dtype, ctx)

    def chisquare(
        self,
        df: ArrayLike,
        size: Dims | None = None,
        dtype: DTypeLike = None,
        ctx: Context | None = None,
    ) -> K:
        """Draws from the chi-square distribution with `df` degrees of freedom."""
        return self._draw("chisquare", {"df": df}, size, dtype, ctx)

    def rand(self, *size: int, **kwargs: Any) -> K:
        """Draws an array of the given dimensions from the uniform distribution on [0, 1)."""
        return self.uniform(0.0, 1.0, size, **kwargs)

    def randn(self, *size: int, **kwargs: Any) -> K:
        """Draws an array of the given dimensions from the standard normal distribution."""
        return self.normal(0.0, 1.0, size, **kwargs)

    def randint(
        self,
        low: int,
        high: int | None = None,
        size: Dims | None = None,
        dtype: DTypeLike = None,
        ctx: Context | None = None,
        out: Any = None,
    ) -> K:
        """Draws whole numbers from [low, high), or [0, low) where `high` is None, as int64."""
        first, last = (0, low) if high is None else (low, high)
        attrs: dict[str, object] = {"low": int(first), "high": int(last)}
        attrs["dtype"] = dtype_name(dtype, "int64")
        attrs["size"] = dimensions(size) if out is None else out.shape
        return self._call("_npi_random_randint", [], attrs, ctx, out)

    def choice(
        self,
        a: Any,
        size: Dims | None = None,
        replace: bool = True,
        p: ArrayLike | None = None,
        ctx: Context | None = None,
        out: K | None = None,
    ) -> K:
        """Chooses among the elements of an array, or the whole numbers below one.

        Args:
            a: a 1-d array, or a number.
            size: the shape; default one choice, without dimensions.
            replace: whether an element can be chosen again.
            p: the probability of each.
            ctx: where; default the current context.
            out: an array for the result.

        Raises:
            ParameterError: more elements are to be chosen than there are, without replacement.
        """
        one_of = operand(a) if not isinstance(a, (int, onp.integer)) else None
        count = int(a) if one_of is None else one_of.shape[0]
        shape = dimensions(size)
        if not replace and int(onp.prod(shape, dtype=int)) > count:
            raise ParameterError(
                f"np.random.choice: without replacement at most {count} can be chosen, got size "
                f"{shape}"
            )
        attrs = {"a": count, "size": shape, "replace": replace, "weighted": p is not None}
        weights = [] if p is None else [operand(p)]
        chosen = self._call("_npi_choice", weights, attrs, ctx)
        if one_of is not None:
            return self._apply("_npi_take", one_of, chosen, axis=0, out=out)
        return chosen if out is None else self._apply("_np_copy", chosen, out=out)

    def multinomial(
        self, n: int, pvals: ArrayLike, size: Dims | None = None, **kwargs: object
    ) -> K:
        """Draws how often each of some categories comes in n trials, as int64.

        Args:
            n: the number of trials.
            pvals: the probabilities of the categories.
            size: how many such draws.
            kwargs: none.
        """
        weights: ArrayLike = pvals
        if isinstance(weights, Operand):
            weights = apply("_npi_cast", weights, dtype="float64")
        else:
            weights = array(onp.asarray(pvals, onp.float64))
        if weights.type is not None and not weights.type.size:
            none: object = array(onp.zeros((*(dimensions(size) or ()), 0)), dtype="int64")
            return cast("K", none)
        return self._apply("_npi_multinomial", weights, n=int(n), size=dimensions(size))

    def multivariate_normal(
        self,
        mean: ArrayLike,
        cov: ArrayLike,
        size: Dims | None = None,
        check_valid: object = None,
        tol: object = None,
    ) -> K:
        """Draws vectors from a normal distribution of a mean and a covariance matrix.

        Args:
            mean: (..., n).
            cov: (..., n, n), positive definite.
            size: how many draws for each.
            check_valid, tol: must be None.
        """
        if check_valid is not None or tol is not None:
            raise ParameterError("np.random.multivariate_normal: check_valid and tol must be None")
        return self._apply("_npi_multivariate_normal", mean, cov, size=dimensions(size))

    def shuffle(self, x: ArrayLike) -> None:
        """Puts the rows (first axis) of an array in random order, in place."""
        if not isinstance(x, NDArray):
            raise ParameterError("np.random.shuffle: needs an array, which is changed in place")
        x[...] = apply("_npi_shuffle", x)


_arrays = Random(ndarray)
beta = _arrays.beta
chisquare = _arrays.chisquare
choice = _arrays.choice
exponential = _arrays.exponential
gamma = _arrays.gamma
gumbel = _arrays.gumbel
logistic = _arrays.logistic
lognormal = _arrays.lognormal
multinomial = _arrays.multinomial
multivariate_normal = _arrays.multivariate_normal
normal = _arrays.normal
pareto = _arrays.pareto
power = _arrays.power
rand = _arrays.rand
randint = _arrays.randint
randn = _arrays.randn
rayleigh = _arrays.rayleigh
shuffle = _arrays.shuffle
uniform = _arrays.uniform
weibull = _arrays.weibull
