"""Graphs made of rules' own expressions, and arrays full of special values, for tests of passes."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
from traced import hurried_jit

from hybridnet import passes, sym
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.evaluate import evaluate
from hybridnet.graph.node import Graph
from hybridnet.ops.core.registry import REGISTRY
from hybridnet.passes.pattern import FAMILIES

#: Numbers at which rules of algebra tend to fail. There are none below the normal ones: XLA takes
#: those for zero on a CPU.
SPECIAL = (
    *(np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 0.3, -0.3, 3e38),
    *(-3e38, 2.0**-100, 123456.79, 7.0, -0.1, 16777217.0),
)
WHOLE = (0, 1, -1, 2, 3, -7, 100, 127, -128, 2**31 - 1, -(2**31), 2**30, 5, 6, 7, 8, 9, 10, 11, 12)


def special(shape: Sequence[int], dtype: Any, seed: int) -> np.ndarray[Any, Any]:
    """Returns special values in a random order, many pairs of which meet in two of these arrays."""
    dtype = np.dtype(dtype)
    pool = np.array(SPECIAL if dtype.kind == "f" else WHOLE)
    with np.errstate(all="ignore"):
        values = np.random.default_rng(seed).choice(pool, size=tuple(shape))
        return values.astype(np.int64).astype(dtype) if dtype.kind != "f" else values.astype(dtype)


def positive(shape: Sequence[int], dtype: Any, seed: int) -> np.ndarray[Any, Any]:
    """Returns numbers from 0.5 to 2, at which the rules that are not exact are close."""
    return np.random.default_rng(seed).uniform(0.5, 2, size=tuple(shape)).astype(dtype)


class _Names(dict[str, Any]):
    """What the names in a rule's expression stand for: operators, and else variables."""

    def __init__(self, given: Mapping[str, Any], family: int) -> None:
        super().__init__(given)
        self._family = family

    def __missing__(self, name: str) -> Any:
        members = FAMILIES.get(name, (name,))
        operator = REGISTRY.get(members[self._family % len(members)])
        if operator is None:
            self[name] = sym.var(name)
            return self[name]

        def call(*args: Any, **attrs: Any) -> sym.Symbol:
            operands = [one for one in args if isinstance(one, sym.Symbol)]
            numbers = dict(zip(operator.dynamic, args[len(operands) :], strict=False))
            return sym.Symbol.apply_operator(operator, operands, {**attrs, **numbers})

        return call


def symbol_of(text: str, given: Mapping[str, Any], family: int = 0) -> sym.Symbol:
    """Returns the symbol that an expression of a rule stands for.

    Args:
        text: the expression.
        given: numbers, parameters and symbols by name; other names become variables.
        family: which operator ``add``, ``mul`` and so on are.
    """
    return eval(text, {}, _Names(given, family))


def operators_in(text: str) -> int:
    """Returns how many operators an expression applies."""
    calls = [one for one in ast.walk(ast.parse(text, mode="eval")) if isinstance(one, ast.Call)]
    return sum(ast.unparse(one.func) in {*FAMILIES, *REGISTRY} for one in calls)


def context_of(
    graph: Graph, arrays: Mapping[str, np.ndarray[Any, Any]], **kwargs: Any
) -> passes.PassContext:
    """Returns the context for a graph that will run on these arrays, by name."""
    named = [arrays[node.name] for node in graph.inputs]
    types = tuple(tensor_type(one.shape, one.dtype) for one in named)
    return passes.PassContext(types, **kwargs)


def run(graph: Graph, arrays: Mapping[str, np.ndarray[Any, Any]]) -> list[np.ndarray[Any, Any]]:
    """Runs a graph operator by operator."""
    with jax.enable_x64(True):
        named = [jax.numpy.asarray(arrays[node.name]) for node in graph.inputs]
        return [np.asarray(one) for one in evaluate(graph, "cpu", named)]


def run_whole(
    graph: Graph, arrays: Mapping[str, np.ndarray[Any, Any]]
) -> list[np.ndarray[Any, Any]]:
    """Runs a graph as one program, which compiles sooner than its operators one by one."""
    given = [arrays[node.name] for node in graph.inputs]
    with jax.enable_x64(True):
        made = hurried_jit(lambda *operands: evaluate(graph, "cpu", operands))(*given)
        return [np.asarray(one) for one in made]


def arrays_of(symbol: sym.Symbol, **shapes: tuple[int, ...]) -> dict[str, np.ndarray[Any, Any]]:
    """Returns random arrays for the inputs of a symbol; variances are positive."""
    found, _, aux = symbol.infer_shape(**shapes)
    named = dict(zip(symbol.list_arguments(), found, strict=True))
    named.update(zip(symbol.list_auxiliary_states(), aux, strict=True))
    random = np.random.default_rng(3)
    made = {name: random.standard_normal(one).astype("float32") for name, one in named.items()}
    return {name: abs(one) + 0.3 if name.endswith("var") else one for name, one in made.items()}


def close(got: Sequence[np.ndarray[Any, Any]], wanted: Sequence[np.ndarray[Any, Any]]) -> None:
    """Compares results; passes that are not exact may round otherwise."""
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * abs(other).max())


def assert_same_bits(
    got: Sequence[np.ndarray[Any, Any]], wanted: Sequence[np.ndarray[Any, Any]], where: object
) -> None:
    """Compares results to the bit; one NaN is as good as another."""
    for one, other in zip(got, wanted, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype), where
        if one.dtype.kind == "f":
            nan = np.isnan(other)
            np.testing.assert_array_equal(np.isnan(one), nan, err_msg=str(where))
            one, other = np.where(nan, 0, one), np.where(nan, 0, other)
            np.testing.assert_array_equal(np.signbit(one), np.signbit(other), err_msg=str(where))
        np.testing.assert_array_equal(one, other, err_msg=str(where))


def size(graph: Graph) -> int:
    """Returns the number of operators in a graph."""
    return sum(not node.is_variable for node in graph.nodes)


def names(graph: Graph) -> list[str]:
    """Returns the names of the operators in a graph, in its order."""
    return [node.call.name for node in graph.nodes if node.call is not None]
