"""What stands for `jax.custom_vjp` and `jax.custom_jvp` where gradients are taken on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from .control_flow import leaves, mapped
from .namespace import NoHostForm, on_host
from .table import FUNCTIONS
from .traced import TRACING, Pull, TracedArray, is_traced, noted, plain, vjp

__all__: list[str] = []


@final
class _Grads:
    """Gradients of some of a function's results, by number; added up as one gradient is."""

    def __init__(self, of: dict[int, Any]) -> None:
        self.of = of

    def __add__(self, other: _Grads) -> _Grads:
        made = dict(self.of)
        for number, grad in other.of.items():
            made[number] = made[number] + grad if number in made else grad
        return _Grads(made)


def _of_result(number: int) -> Pull:
    return lambda g: _Grads({number: g})


def _beside(tree: Any, grads: Any) -> list[Any]:
    """Returns the gradients of a tree's arrays; None stands for that of any part of it."""
    if grads is None:
        return [None] * len(leaves(tree))
    if isinstance(tree, (tuple, list)):
        return [one for pair in zip(tree, grads, strict=True) for one in _beside(*pair)]
    return [] if tree is None else [grads]


@final
class _WithVjp:
    """A function with a rule of its own for going backward."""

    def __init__(self, function: Callable[..., Any], nondiff_argnums: Sequence[int] = ()) -> None:
        self._function = function
        if nondiff_argnums:
            raise NoHostForm("custom_vjp with nondiff_argnums")

    def defvjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Sets the rule."""
        self._forward, self._backward = forward, backward

    def __call__(self, *args: Any) -> Any:
        given = leaves(args)
        if not any(map(is_traced, given)):
            return self._function(*args)
        made, kept = on_host(FUNCTIONS, self._forward, *mapped(plain, args))
        results = leaves(made)
        found: list[Any] = []  # by the first source that asks, for all

        def pull(number: int) -> Pull:
            def of_source(grads: _Grads) -> Any:
                if not found:
                    whole = [
                        grads.of[i] if i in grads.of else np.zeros_like(x)
                        for i, x in enumerate(results)
                    ]
                    given_back = mapped(lambda _: whole.pop(0), made)
                    found.extend(_beside(args, self._backward(kept, given_back)))
                grad = found[number]
                return np.zeros_like(given[number].value) if grad is None else grad

            return of_source

        sources = [(x, pull(i)) for i, x in enumerate(given) if type(x) is TracedArray]
        # All results come from one node, so that the rule is asked once, with all their gradients.
        whole = noted(None, sources)
        numbers = iter(range(len(results)))
        return mapped(lambda x: noted(x, [(whole, _of_result(next(numbers)))]), made)


@final
class _WithJvp:
    """Stands for `jax.custom_jvp`: the rule gives the tangent, whose transpose is the pull."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def defjvp(self, tangent: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the rule."""
        self._tangent = tangent
        return tangent

    def __call__(self, *args: Any) -> Any:
        values = [plain(x) for x in args]
        made = self._function(*values)
        if not any(map(is_traced, args)):
            return made

        def pull(number: int) -> Pull:
            def tangent(dx: Any) -> Any:
                tangents = [np.zeros_like(x) for x in values]
                tangents[number] = dx
                return self._tangent(tuple(values), tuple(tangents))[1]

            return lambda g: vjp(tangent, np.zeros_like(values[number]))[1](g)[0]

        sources = [(x, pull(i)) for i, x in enumerate(args) if type(x) is TracedArray]
        return noted(made, sources)


TRACING["custom_vjp"] = _WithVjp
TRACING["custom_jvp"] = _WithJvp
