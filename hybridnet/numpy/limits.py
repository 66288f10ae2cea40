"""The limits of the parameters of distributions, and the check of parameters against them.

A number beyond its limits is refused at once. The values of an array may be still to come: a task
looks at them when they are there, and where it finds fault what was drawn raises when it is read,
as in MXNet. (The samples fail, and not the draw, which makes the generator's next state as well.)
Where autograd records, and in traced functions, nobody looks, so that a training step stays one
program: what is drawn from impossible parameters means nothing there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as onp

from hybridnet import tape
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.runtime.recording import recorder
from hybridnet.runtime.tasks import push_task

__all__ = ["check_number", "watched"]


class _Limits(NamedTuple):
    """From where to where numbers may be.

    Attributes:
        strict: whether 0, the lower limit, is none.
        high: the upper limit, which is one.
    """

    strict: bool
    high: float = math.inf

    def hold(self, values: Any) -> Any:
        """Whether values, an array or a number, are inside; NaN is not."""
        return (values > 0 if self.strict else values >= 0) & (values <= self.high)

    def __str__(self) -> str:
        if self.high < math.inf:
            return f"from 0 to {self.high:g}"
        return "> 0" if self.strict else ">= 0"


_POSITIVE: Final = _Limits(True)
_NOT_NEGATIVE: Final = _Limits(False)
#: Distribution -> parameter -> what it may be.
_LIMITS: Final[dict[str, dict[str, _Limits]]] = {
    "bernoulli": {"prob": _Limits(False, 1.0)},
    "beta": {"a": _POSITIVE, "b": _POSITIVE},
    "chisquare": {"df": _POSITIVE},
    "exponential": {"scale": _NOT_NEGATIVE},
    "gamma": {"shape": _POSITIVE, "scale": _POSITIVE},
    "gumbel": {"scale": _NOT_NEGATIVE},
    "logistic": {"scale": _NOT_NEGATIVE},
    "lognormal": {"sigma": _NOT_NEGATIVE},
    "normal": {"scale": _NOT_NEGATIVE},
    "pareto": {"a": _POSITIVE},
    "powerd": {"a": _POSITIVE},
    "rayleigh": {"scale": _NOT_NEGATIVE},
    "weibull": {"a": _POSITIVE},
}


def check_number(name: str, key: str, value: float) -> float:
    """Returns a parameter of a distribution that is a number.

    Args:
        name: of the distribution.
        key: of the parameter.
        value: the number.

    Raises:
        ParameterError: the parameter cannot be that.
    """
    limits = _LIMITS.get(name, {}).get(key)
    if limits is not None and not limits.hold(value):
        raise ParameterError(f"{_public(name)}: {key} must be {limits}, got {value:g}")
    return value


def watched(name: str, parameters: Mapping[str, object], drawn: object) -> Any:
    """Returns what was drawn, which is an error to read where a parameter in an array is none.

    Args:
        name: of the distribution.
        parameters: all of them, by their names.
        drawn: an array, or a symbol, which is returned as it is.
    """
    known = _LIMITS.get(name, {})
    given = {
        key: value
        for key, value in parameters.items()
        if key in known and isinstance(value, NDArray)
    }
    if not given or not isinstance(drawn, NDArray):
        return drawn
    if tape.state.recording or recorder.current_trace() is not None:
        return drawn

    def look(array: object, *values: object) -> Sequence[object]:
        for key, value in zip(given, values, strict=True):
            host = onp.asarray(value)
            fits = onp.asarray(known[key].hold(host))
            if not fits.all():
                wrong = host[~fits].reshape(-1)[0]
                raise ParameterError(
                    f"{_public(name)}: {key} must be {known[key]} everywhere, got {wrong:g}"
                )
        return [array]

    reads = [drawn.read(), *(value.read() for value in given.values())]
    (made,) = push_task(look, reads, (drawn.type,), name=_public(name))
    return type(drawn).from_value(made, drawn.context)


def _public(name: str) -> str:
    where = "npx" if name == "bernoulli" else "np"
    return f"{where}.random.{name.removesuffix('d')}"
