"""Stand-ins for `jax.custom_vjp` and `jax.custom_jvp` where gradients are taken on the host."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from .control_flow import leaves, mapped
from .namespace import NoHostForm, on_host
from .table import FUNCTIONS
from .traced import TRACING, Pull, TracedArray, is_traced, noted, noted_all, plain, vjp


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
        made, kept = self._run_forward(args)
        results = leaves(made)
        found: list[Any] = []  # by the first source that asks, for all

        def pull(number: int) -> Pull:
            def of_source(grads: list[Any]) -> Any:
                if not found:
                    pairs = zip(grads, results, strict=True)
                    whole = iter([np.zeros(x.shape, x.dtype) if g is None else g for g, x in pairs])
                    found.extend(
                        _beside(args, self._backward(kept, mapped(lambda _: next(whole), made)))
                    )
                grad = found[number]
                source = given[number]
                return np.zeros(source.shape, source.dtype) if grad is None else grad

            return of_source

        sources = [(x, pull(i)) for i, x in enumerate(given) if type(x) is TracedArray]
        noted_results = iter(noted_all(results, sources))
        return mapped(lambda _: next(noted_results), made)

    def _run_forward(self, args: Sequence[Any]) -> tuple[Any, Any]:
        """Returns the results and what is kept; results that no gradient needs may be `Pending`."""
        tape = itertools.count()

        def traced(x: Any) -> TracedArray:
            return TracedArray(x.held if type(x) is TracedArray else np.asarray(x), (), tape)

        try:
            made, kept = on_host(TRACING, self._forward, *mapped(traced, args))
        except NoHostForm:  # some function has no rule, and needs none
            made, kept = on_host(FUNCTIONS, self._forward, *mapped(plain, args))
        held = mapped(lambda x: x.held if type(x) is TracedArray else x, made)
        return held, mapped(plain, kept)


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
