"""The distributions of `nd.random` and `sym.random`, and how their functions are made."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any, Final

__all__ = ["DISTRIBUTIONS", "drawing_function"]

#: Of each distribution what is drawn, in words, and its parameters with their defaults.
DISTRIBUTIONS: Final[Mapping[str, tuple[str, Mapping[str, Any]]]] = {
    "uniform": ("from the uniform distribution on [low, high)", {"low": 0, "high": 1}),
    "normal": (
        "from the normal distribution with mean `loc` and standard deviation `scale`",
        {"loc": 0, "scale": 1},
    ),
    "exponential": ("from the exponential distribution with mean `scale`", {"scale": 1}),
    "gamma": (
        "from the gamma distribution with shape `alpha` and scale `beta`",
        {"alpha": 1, "beta": 1},
    ),
    "poisson": ("counts, as floats, from the Poisson distribution with mean `lam`", {"lam": 1}),
    "negative_binomial": (
        "the number of failures before `k` successes, each of probability `p`, as floats",
        {"k": 1, "p": 1},
    ),
    "generalized_negative_binomial": (
        "counts of mean `mu` and variance ``mu + alpha * mu**2``, as floats",
        {"mu": 1, "alpha": 1},
    ),
}


def drawing_function(name: str, draw: Callable[..., Any], arguments: str) -> Callable[..., Any]:
    """Makes the public function that draws from a distribution.

    Args:
        name: of the distribution, and of the function.
        draw: ``draw(name, params, ...)`` applies the operator; its further arguments come after
            the distribution's parameters.
        arguments: the last part of the docstring.
    """
    what, defaults = DISTRIBUTIONS[name]
    further = list(inspect.signature(draw).parameters.values())[2:]
    kind = Parameter.POSITIONAL_OR_KEYWORD
    params = [Parameter(key, kind, default=value) for key, value in defaults.items()]
    signature = inspect.Signature([*params, *further])
    names = [key for key, parameter in signature.parameters.items() if parameter.kind is kind]
    takes_all = len(names) < len(signature.parameters)
    others = frozenset(names) - defaults.keys()
    usual = {key: float(value) for key, value in defaults.items()}
    if name == "exponential":  # operators take the rate
        usual = {"lam": 1.0 / usual["scale"]}

    def function(*args: Any, **kwargs: Any) -> Any:
        if not args and others.issuperset(kwargs):
            return draw(name, usual, **kwargs)
        given = dict(zip(names, args, strict=False))
        expected = len(given) + len(kwargs)
        given.update(kwargs)
        known = takes_all or given.keys() <= signature.parameters.keys()
        if len(args) > len(names) or len(given) < expected or not known:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{name}: {error}") from None
        values = {key: given.pop(key, default) for key, default in defaults.items()}
        if name == "exponential":
            values = {"lam": 1.0 / values["scale"]}
        return draw(name, values, **given)

    function.__name__ = function.__qualname__ = name
    function.__module__ = draw.__module__
    function.__doc__ = f"Draws {what}.\n\n{arguments}"
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function
