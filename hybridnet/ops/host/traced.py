"""Gradients of lowerings on NumPy arrays: reverse accumulation, as `jax.vjp` does it for XLA.

Inputs are wrapped as `TracedArray`. Each function of a traced array notes how a gradient of its
result becomes gradients of its arguments (its pull); going through the notes backwards gives the
gradients of the inputs (Griewank and Walther, "Evaluating Derivatives", 2008, chapter 3).
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from typing import Any, Final, final

import numpy as np

from .functions import FUNCTIONS
from .namespace import NoHostForm, on_host
from .table import words

Pull = Callable[[Any], Any]
#: Given the result and the arguments, returns a pull for each argument.
Rule = Callable[..., Sequence[Pull | None]]


@final
class Pending:
    """A result that is computed if it is asked for: most gradients need the arguments alone.

    Args:
        shape: of the result.
        dtype: likewise.
        compute: returns it.
    """

    __slots__ = ("_compute", "dtype", "shape")

    def __init__(
        self, shape: tuple[int, ...], dtype: np.dtype[Any], compute: Callable[[], Any]
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self._compute = compute

    ndim = property(lambda self: len(self.shape))
    size = property(lambda self: math.prod(self.shape))

    def value(self) -> Any:
        """Computes it."""
        return self._compute()


@final
class TracedArray:
    """An array whose derivation is noted.

    Args:
        held: the array, or what stands for it.
        sources: as below.
        tape: likewise.

    Attributes:
        held: the array, or what stands for it.
        sources: what it was computed from, each with the pull of its gradient.
        tape: numbers what is computed, of one `vjp` (what is older does not refer to what is newer,
            so that all of it goes when it is done, without the garbage collector).
        number: of this array.
    """

    __slots__ = ("held", "number", "sources", "tape")
    __array_ufunc__ = None  # NumPy's arrays leave arithmetic to this

    def __init__(
        self, held: Any, sources: Sequence[tuple[TracedArray, Pull]], tape: Iterator[int]
    ) -> None:
        self.held = held
        self.sources = sources
        self.tape = tape
        self.number = next(tape)

    @property
    def value(self) -> Any:
        """The array."""
        if type(self.held) is Pending:
            self.held = self.held.value()
        return self.held

    shape = property(lambda self: self.held.shape)
    dtype = property(lambda self: self.held.dtype)
    ndim = property(lambda self: self.held.ndim)
    size = property(lambda self: self.held.size)
    T = property(lambda self: call("transpose", self))
    mT = property(lambda self: call("swapaxes", self, -1, -2))

    def __getattr__(self, name: str) -> Any:
        raise NoHostForm(f"the gradient of an array's {name}")

    def reshape(self, *shape: Any) -> Any:
        """As NumPy's; takes the dimensions one by one, too."""
        return call("reshape", self, *_as_one(shape))

    def transpose(self, *axes: Any) -> Any:
        """As NumPy's; takes the axes one by one, too."""
        return call("transpose", self, *_as_one(axes))

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self.value)))

    def __getitem__(self, key: Any) -> Any:
        return call("getitem", self, plain(key))

    def __neg__(self) -> Any:
        return call("negative", self)

    def __abs__(self) -> Any:
        return call("abs", self)

    def __bool__(self) -> bool:
        return bool(self.value)


def _as_one(given: tuple[Any, ...]) -> tuple[Any, ...]:
    """Returns arguments that stand for one, as a sequence, as that one."""
    if not given or isinstance(given[0], (tuple, list)):
        return given
    return (given,) if given[0] is not None else ()


def _method(name: str) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: call(name, self, *args, **kwargs)


for _name in words("""
    all any argmax argmin astype clip cumsum diagonal dot flatten max mean min prod ravel repeat
    round sort squeeze std sum swapaxes take trace var
"""):
    setattr(TracedArray, _name, _method(_name))


def _operators(name: str, function: str) -> None:
    setattr(TracedArray, f"__{name}__", lambda self, other: call(function, self, other))
    setattr(TracedArray, f"__r{name}__", lambda self, other: call(function, other, self))


for _name, _function in {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "pow": "power",
    "matmul": "matmul",
}.items():
    _operators(_name, _function)


def _comparing(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: compare(self.value, plain(other))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(TracedArray, f"__{_name}__", _comparing(getattr(operator, _name)))


_SEVERAL: Final = frozenset({tuple, list})


def plain(x: Any) -> Any:
    """Returns what is the same without notes."""
    if type(x) is TracedArray:
        return x.value
    if type(x) in (tuple, list):
        return type(x)(map(plain, x))
    return x


def is_traced(x: Any) -> bool:
    """Whether something is traced, or holds what is."""
    return type(x) is TracedArray or (type(x) in _SEVERAL and _has_traced(x))


def _has_traced(args: Iterable[Any]) -> bool:
    """Whether one of some things is traced, or holds what is."""
    for x in args:  # `any` takes three times as long for the one or two there are
        kind = type(x)
        if kind is TracedArray or (kind in _SEVERAL and _has_traced(x)):
            return True
    return False


def vjp(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[..., Any]]:
    """Computes a function, and what gives the gradients of its arguments; as `jax.vjp`.

    Args:
        function: of arrays; returns an array, or several.
        primals: NumPy arrays.

    Returns:
        The result or results, which may be traced, and a function from their gradients to those of
        the arguments.
    """
    tape = itertools.count()
    if _has_traced(primals):
        raise NoHostForm("the gradient of a gradient")
    inputs = [TracedArray(np.asarray(x), (), tape) for x in primals]
    made = on_host(TRACING, function, *inputs)
    several = isinstance(made, (tuple, list))
    outputs = made if several else (made,)

    def pull_back(cotangents: Any) -> tuple[Any, ...]:
        given = cotangents if several else (cotangents,)
        seeds = [
            (out, g) for out, g in zip(outputs, given, strict=True) if type(out) is TracedArray
        ]
        return on_host(FUNCTIONS, _accumulate, seeds, inputs)

    return made, pull_back


def _accumulate(
    seeds: Sequence[tuple[TracedArray, Any]], inputs: Sequence[TracedArray]
) -> tuple[Any, ...]:
    """Goes back from the results to the inputs; returns the gradients of these."""
    grads: dict[int, Any] = {}
    waiting: list[tuple[int, TracedArray]] = []  # a heap: the newest first

    def add(node: TracedArray, grad: Any) -> None:
        number = node.number
        if number in grads:
            grads[number] = grads[number] + grad
        else:
            grads[number] = grad
            if node.sources:
                heappush(waiting, (-number, node))

    for node, grad in seeds:
        add(node, grad)
    while waiting:
        number, node = heappop(waiting)
        grad = grads.pop(-number)
        for source, pull in node.sources:
            add(source, pull(grad))
    return tuple(
        [
            np.asarray(grads[x.number], x.dtype)
            if x.number in grads
            else np.zeros(x.shape, x.dtype)
            for x in inputs
        ]
    )


#: The functions of `FUNCTIONS`, of arrays that may be traced.
TRACING: Final[dict[str, Callable[..., Any]]] = {}


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Calls a function of `TRACING`."""
    found = TRACING.get(name)
    if found is None:
        raise NoHostForm(f"the gradient of {name}")
    return found(*args, **kwargs)


def noted(value: Any, sources: Sequence[tuple[TracedArray, Pull]]) -> TracedArray:
    """Returns a result of traced arrays, which must be of one tape."""
    if len(sources) == 1:
        return TracedArray(value, sources, sources[0][0].tape)
    if not sources or any(x.tape is not sources[0][0].tape for x, _ in sources):
        raise NoHostForm("the gradient of a gradient")
    return TracedArray(value, sources, sources[0][0].tape)


class _Grads(dict[int, Any]):
    """Gradients of some of a function's results, by number; added up as one gradient is."""

    def __add__(self, other: _Grads) -> _Grads:
        made = _Grads(self)
        for number, grad in other.items():
            made[number] = made[number] + grad if number in made else grad
        return made


def noted_all(
    values: Sequence[Any], sources: Sequence[tuple[TracedArray, Callable[[list[Any]], Any]]]
) -> list[TracedArray]:
    """Returns several results of traced arrays.

    Args:
        values: the results.
        sources: the arrays, each with the pull of the gradients of all results, where None stands
            for the gradient of one that nothing was made of.
    """

    def pull_all(pull: Callable[[list[Any]], Any]) -> Pull:
        return lambda grads: pull([grads.get(i) for i in range(len(values))])

    def pull_one(number: int) -> Pull:
        return lambda grad: _Grads({number: grad})

    whole = noted(None, [(x, pull_all(pull)) for x, pull in sources])
    return [noted(value, [(whole, pull_one(i))]) for i, value in enumerate(values)]


def _noting(path: str, compute: Callable[..., Any], derive: Rule) -> Callable[..., Any]:
    """Returns a function that notes its pulls where an argument is traced."""

    sums = path in _SUMS

    def function(*args: Any, **kwargs: Any) -> Any:
        if not _has_traced(args):
            if kwargs and _has_traced(kwargs.values()):
                raise NoHostForm(f"the gradient of {path} for an argument by name")
            return compute(*args, **kwargs)
        if sums:
            values = [x.held if type(x) is TracedArray else x for x in args]
        else:
            values = [x.value if type(x) is TracedArray else x for x in args]
        compute_now_or_later = LATER.get(path)
        if compute_now_or_later is None:
            result = compute(*values, **kwargs)
        else:
            result = compute_now_or_later(compute, *values, **kwargs)
        pulls = derive(result, *values, **kwargs)
        sources = []
        for x, pull in zip(args, pulls, strict=False):
            if type(x) is TracedArray:
                if pull is None:
                    raise NoHostForm(f"the gradient of {path}")
                sources.append((x, pull))
        return noted(result, sources)

    return function


def constant(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function whose derivative is 0 wherever there is one."""
    return lambda *args, **kwargs: compute(
        *map(plain, args), **{name: plain(value) for name, value in kwargs.items()}
    )


def rule(*paths: str) -> Callable[[Rule], Rule]:
    """Decorator of the rule by which functions are differentiated."""

    def put(pulls: Rule) -> Rule:
        for path in paths:
            compute = FUNCTIONS.get(path) or ONLY_TRACED[path]
            TRACING[path] = _noting(path, compute, pulls)
        return pulls

    return put


def composed(path: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator of a function that says one in terms of others, which have rules."""

    def put(function: Callable[..., Any]) -> Callable[..., Any]:
        compute = FUNCTIONS.get(path)

        def chosen(*args: Any, **kwargs: Any) -> Any:
            if compute is not None and not any(map(is_traced, (*args, *kwargs.values()))):
                return compute(*args, **kwargs)
            return function(*args, **kwargs)

        TRACING[path] = chosen
        return function

    return put


def summed_like(grad: Any, x: Any) -> Any:
    """Sums a gradient over the axes along which an argument was broadcast."""
    shape = np.shape(x)
    whole = np.shape(grad)
    if whole != shape:
        more = len(whole) - len(shape)
        one = [i for i, size in enumerate(shape, more) if size == 1 and whole[i] != 1]
        grad = FUNCTIONS["sum"](grad, axis=(*range(more), *one)).reshape(shape)
    dtype = getattr(x, "dtype", None)
    return grad if dtype is None or grad.dtype == dtype else grad.astype(dtype)


def _sum(compute: Callable[..., Any], x: Any, y: Any) -> Any:
    """Adds now, or when what is pending is asked for."""

    def finish() -> Any:
        return compute(*[each.value() if type(each) is Pending else each for each in (x, y)])

    pending = type(x) is Pending or type(y) is Pending
    if not pending or getattr(x, "dtype", None) != getattr(y, "dtype", None):
        return finish()
    return Pending(np.broadcast_shapes(x.shape, y.shape), x.dtype, finish)


#: What gives the results of functions, given what computes them: these may be `Pending`.
LATER: Final[dict[str, Callable[..., Any]]] = {"add": _sum, "lax.add": _sum}
# Whose arguments may be, too: the rules need no more of them than their types.
_SUMS: Final = frozenset(LATER)

# Methods and brackets, which are no functions of JAX's modules.
ONLY_TRACED: Final[dict[str, Callable[..., Any]]] = {
    "flatten": lambda x: x.flatten(),
    "getitem": operator.getitem,
    "ravel": lambda x: x.ravel(),
}
