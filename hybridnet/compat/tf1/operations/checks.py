"""Looking into a run: ``tf.Print``, ``tf.Assert``, ``tf.assert_equal``, ``tf.check_numerics``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import bool as bool_
from ..errors import InvalidArgumentError
from ..graph import Operation, Tensor, control_dependencies, name_scope
from ..graph.values import constant_value, convert_to_tensor, identity, no_op, require_same
from .scripts import host_call

__all__ = [
    "Assert", "Print", "assert_equal", "assert_greater", "assert_greater_equal", "assert_less",
    "assert_less_equal", "assert_negative", "assert_non_negative", "assert_non_positive",
    "assert_none_equal", "assert_positive", "assert_rank", "check_numerics", "print",
    "verify_tensor_all_finite",
]  # fmt: skip

#: Python's own, which TensorFlow's function of that name hides.
print_ = print
#: How many elements are shown unless asked for more.
_SHOWN = 3


def _text(value: np.ndarray[Any, Any], summarize: int | None) -> str:
    """Returns an array's first elements, as TensorFlow prints them."""
    count = value.size if summarize is not None and summarize < 0 else summarize or _SHOWN
    flat = value.reshape(-1)
    shown = " ".join(_number(one) for one in flat[:count])
    return f"[{shown}{'...' if flat.size > count else ''}]"


def _number(one: Any) -> str:
    if isinstance(one, (bool, np.bool_)):
        return str(int(one))
    return f"{one:g}" if isinstance(one, (float, np.floating)) else str(one)


def Print(
    input_: Any,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns a tensor with the same value; whenever it is computed, others are printed.

    Args:
        input_: the tensor.
        data: what is printed, to the standard error stream.
        message: what stands before.
        first_n: how often at most; default always.
        summarize: how many elements of each are shown, -1 for all; default 3.
    """
    x = convert_to_tensor(input_)
    shown = [convert_to_tensor(one) for one in data]
    left = [-1 if first_n is None else first_n]

    def printed(*values: np.ndarray[Any, Any]) -> list[Any]:
        if left[0]:
            left[0] -= 1
            text = "".join(_text(one, summarize) for one in values)
            print_(f"{message or ''}{text}", file=sys.stderr)
        return []

    return _passed("Print", x, shown, printed, name)


def _passed(
    kind: str, x: Tensor, shown: Sequence[Tensor], look: Callable[..., Any], name: str | None
) -> Tensor:
    """Returns a tensor with the same value, which is there once a function has looked at others."""
    with name_scope(name, kind, [x]) as scope:
        effect = host_call(kind, look, shown, [], name="values")
        with control_dependencies([effect]):
            return identity(x, name=scope)


def print(*inputs: Any, **options: Any) -> Operation:
    """Returns the Operation that prints values, to the standard error stream.

    Args:
        inputs: texts and tensors.
        options: ``sep`` (what stands between, default a space), ``end`` (default a new line),
            ``summarize`` (default 3 elements at each end), ``output_stream`` and ``name``.

    Raises:
        TypeError: there is an option that it does not have.
    """
    known = {"sep", "end", "summarize", "output_stream", "name"}
    if options.keys() - known:
        raise TypeError(f"tf.print got unexpected options: {sorted(options.keys() - known)}")
    parts = [one if isinstance(one, str) else convert_to_tensor(one) for one in inputs]
    tensors = [one for one in parts if not isinstance(one, str)]
    stream = options.get("output_stream") or sys.stderr
    edge = options.get("summarize") or _SHOWN

    def printed(*values: np.ndarray[Any, Any]) -> list[Any]:
        rest = list(values)
        texts = [one if isinstance(one, str) else _array(rest.pop(0), edge) for one in parts]
        print_(options.get("sep", " ").join(texts), end=options.get("end", "\n"), file=stream)
        return []

    made: Operation = host_call("PrintV2", printed, tensors, [], name=options.get("name"))
    return made


def _array(value: np.ndarray[Any, Any], edge: int) -> str:
    if not value.ndim:
        return _number(value[()])
    size = value.size + 1 if edge < 0 else 2 * edge
    return np.array2string(
        value, separator=" ", threshold=size, edgeitems=max(edge, 1), formatter={"all": _number}
    )


# Requirements -------------------------------------------------------------------------------------


def Assert(
    condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """Returns the Operation that fails unless a condition holds.

    Args:
        condition: a truth value.
        data: tensors that the message shows.
        summarize: how many elements of each; default 3.

    Raises:
        InvalidArgumentError: the condition is known not to hold, now or in a run.
    """
    with name_scope(name, "Assert", [condition]):
        chosen = convert_to_tensor(condition, bool_)
        shown = [one if isinstance(one, str) else convert_to_tensor(one) for one in data]
        return asserted(chosen, shown, lambda holds, *_: bool(holds), summarize)


def asserted(
    first: Tensor,
    data: Sequence[Any],
    holds: Callable[..., Any],
    summarize: int | None,
    others: Sequence[Tensor] = (),
    message: str = "assertion failed",
) -> Operation:
    """Adds the Operation that fails unless a function of arrays holds.

    Args:
        first: its first argument.
        data: texts and tensors that the message shows.
        holds: the function.
        summarize: how many elements of each are shown.
        others: its other arguments.
        message: what the message begins with.
    """
    tensors = [one for one in data if not isinstance(one, str)]
    count = 1 + len(others)

    def check(*values: np.ndarray[Any, Any]) -> list[Any]:
        if not holds(*values[:count]):
            rest = list(values[count:])
            texts = [one if isinstance(one, str) else _text(rest.pop(0), summarize) for one in data]
            raise InvalidArgumentError(f"{message}: {' '.join(texts)}")
        return []

    known = [constant_value(one) for one in (first, *others)]
    if not any(one is None for one in known):
        if not holds(*known):
            raise InvalidArgumentError(None, None, message)
        return no_op(name="static_checks_determined_all_ok")
    made: Operation = host_call("Assert", check, [first, *others, *tensors], [], name="Assert")
    return made


def _compared(scope: str, holds: Callable[[Any, Any], Any], sign: str) -> Callable[..., Operation]:
    def function(
        x: Any,
        y: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name, scope, [x, y]):
            one, *others = require_same(scope, "xy", (x, y))
            shown = data or ["x =", one, "y =", *others]
            text = message or f"Condition x {sign} y did not hold"
            return asserted(one, shown, lambda *of: np.all(holds(*of)), summarize, others, text)

    function.__doc__ = f"""Returns the Operation that fails unless x {sign} y for all elements.

        Args:
            x: a tensor.
            y: a tensor of its dtype; both broadcast.
            data: what the message shows; default both.
            summarize: how many elements of each; default 3.
            message: what the message begins with.
        """
    return function


assert_equal = _compared("assert_equal", lambda a, b: a == b, "==")
assert_greater = _compared("assert_greater", lambda a, b: a > b, ">")
assert_greater_equal = _compared("assert_greater_equal", lambda a, b: a >= b, ">=")
assert_less = _compared("assert_less", lambda a, b: a < b, "<")
assert_less_equal = _compared("assert_less_equal", lambda a, b: a <= b, "<=")
assert_none_equal = _compared("assert_none_equal", lambda a, b: a != b, "!=")


def _signed(scope: str, holds: Callable[[Any], Any], words: str) -> Callable[..., Operation]:
    def function(
        x: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation:
        with name_scope(name, scope, [x]):
            tensor = convert_to_tensor(x)
            shown = data or ["x =", tensor]
            text = message or f"Condition {words} did not hold element-wise"
            return asserted(tensor, shown, lambda a: np.all(holds(a)), summarize, (), text)

    function.__doc__ = f"Returns the Operation that fails unless {words} for all elements."
    return function


assert_negative = _signed("assert_negative", lambda a: a < 0, "x < 0")
assert_non_negative = _signed("assert_non_negative", lambda a: a >= 0, "x >= 0")
assert_non_positive = _signed("assert_non_positive", lambda a: a <= 0, "x <= 0")
assert_positive = _signed("assert_positive", lambda a: a > 0, "x > 0")


def assert_rank(
    x: Any,
    rank: int,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Returns the Operation that fails unless a tensor has a number of dimensions.

    Raises:
        ValueError: it is known to have another.
    """
    return of_rank(
        "assert_rank", x, lambda found: found == rank, f"{rank}", data, summarize, message, name,
        alone=True,
    )  # fmt: skip


def of_rank(
    scope: str, x: Any, holds: Callable[[int], bool], words: str, data: Any, summarize: int | None,
    message: str | None, name: str | None, *, alone: bool = False,
) -> Operation:  # fmt: skip
    """Returns the Operation that fails unless something holds of a number of dimensions.

    Args:
        holds: what must hold.
        words: the same in words.
        alone: whether a message stands alone where only a run tells, and not before the words.
    """
    with name_scope(name, scope, [x]):
        tensor = convert_to_tensor(x)
        text = f"{message or ''}Tensor {tensor.name} must have rank {words}"
        rank = tensor.shape.ndims
        if rank is None:
            said = message if alone and message else text
            return asserted(tensor, data or [], lambda a: holds(a.ndim), summarize, (), said)
        if not holds(rank):
            raise ValueError(f"{text}. Received rank {rank}, shape {tensor.shape}")
        return no_op(name="static_checks_determined_all_ok")


def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """Returns a tensor with the same value; a run fails if one is infinite or not a number."""
    x = convert_to_tensor(tensor)

    def checked(value: np.ndarray[Any, Any]) -> list[Any]:
        tests = (("Inf", np.isinf), ("NaN", np.isnan))
        found = [called for called, test in tests if test(value).any()]
        if found:
            raise InvalidArgumentError(f"{message} : Tensor had {' and '.join(found)} values")
        return []

    return _passed("CheckNumerics", x, [x], checked, name)


def verify_tensor_all_finite(
    t: Any = None,
    msg: str | None = None,
    name: str | None = None,
    x: Any = None,
    message: Any = None,
) -> Tensor:
    """Returns a tensor with the same value; a run fails if one is infinite or not a number."""
    return check_numerics(t if x is None else x, str(msg or message), name or "VerifyFinite")
