"""`tf.test`: which assertions hold; see `tf1_case.py`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, numbers


def _ready(tf: Any) -> Any:
    class Some(tf.test.TestCase):  # type: ignore[misc]
        def runTest(self) -> None:
            """Needed to make one."""

    made = Some()
    made.setUp()
    return made


def _raise(error: Exception) -> None:
    raise error


@case
def assertions(tf: Any) -> Any:
    t = _ready(tf)
    x = np.arange(6, dtype="float32").reshape(2, 3)
    made: dict[str, Callable[[], Any]] = {
        "close": lambda: t.assertAllClose(x, x + 1e-7),
        "not close": lambda: t.assertAllClose(x, x + 1e-3),
        "close enough": lambda: t.assertAllClose(x, x + 1e-3, atol=1e-2),
        "close shapes": lambda: t.assertAllClose(x, x[0]),
        "close lists": lambda: t.assertAllClose([1.0, [2.0, 3.0]], [1.0, [2.0, 3.0]]),
        "close dicts": lambda: t.assertAllClose({"a": x, "b": 1.0}, {"a": x, "b": 1.0}),
        "other dicts": lambda: t.assertAllClose({"a": x}, {"b": x}),
        "nested": lambda: t.assertAllClose([x, {"a": 1.0}], [x, {"a": 2.0}]),
        "nan": lambda: t.assertAllClose([np.nan, 1.0], [np.nan, 1.0]),
        "half": lambda: t.assertAllCloseAccordingToType(x.astype("float16"), x + 1e-4),
        "not half": lambda: t.assertAllCloseAccordingToType(x.astype("float32"), x + 1e-4),
        "not all close": lambda: t.assertNotAllClose(x, x),
        "different": lambda: t.assertNotAllClose(x, x + 1),
        "equal": lambda: t.assertAllEqual(x, x.tolist()),
        "not equal": lambda: t.assertAllEqual(x, x + 1),
        "equal shapes": lambda: t.assertAllEqual(x, x[:1]),
        "equal nan": lambda: t.assertAllEqual([np.nan], [np.nan]),
        "texts": lambda: t.assertAllEqual([b"a"], [b"b"]),
        "near": lambda: t.assertNear(1.0, 1.1, 0.2), "not near": lambda: t.assertNear(1, 2, 0.2),
        "arrays near": lambda: t.assertArrayNear([1.0, 2.0], [1.0, 2.05], 0.1),
        "arrays far": lambda: t.assertArrayNear([1.0, 2.0], [1.0, 2.5], 0.1),
        "nd near": lambda: t.assertNDArrayNear(x, x + 0.01, 0.1),
        "nd far": lambda: t.assertNDArrayNear(x, x + 1, 0.1),
        "shapes": lambda: t.assertShapeEqual(x, tf.zeros([2, 3])),
        "other shapes": lambda: t.assertShapeEqual(x, tf.zeros([3, 2])),
        "greater": lambda: t.assertAllGreater(x, -1), "less": lambda: t.assertAllLess(x, 4),
        "begins": lambda: t.assertStartsWith("abc", "ab"),
        "ends": lambda: t.assertStartsWith("abc", "bc"),
        "empty": lambda: t.assertEmpty([]), "not empty": lambda: t.assertEmpty([1]),
    }  # fmt: skip
    return {key: error_of(one) for key, one in made.items()}


@case
def sessions_of_tests(tf: Any) -> Any:
    t = _ready(tf)
    with t.test_session() as one:
        a = tf.constant(2.0)
        found = [one.run(a), a.eval(), t.evaluate([a, {"b": a * 3.0}])]
    with t.cached_session() as two:
        found += [one is two, two.run(a)]
    with t.session(graph=tf.Graph()) as other:
        found += [other is one, other.run(tf.constant(4.0)), other.graph is one.graph]
    t.assertAllEqual(tf.constant([1, 2]), [1, 2])

    def op_error() -> None:
        with t.assertRaisesOpError("was bad"):
            _raise(tf.errors.InvalidArgumentError(None, None, "it was bad"))

    def other_error() -> None:
        with t.assertRaisesOpError("was bad"):
            _raise(tf.errors.InvalidArgumentError(None, None, "good"))

    def by_function() -> None:
        with t.assertRaisesWithPredicateMatch(ValueError, lambda e: "x" in str(e)):
            _raise(ValueError("x"))

    def none_raised() -> None:
        with t.assertRaisesOpError("was bad"):
            pass

    folder = t.get_temp_dir()
    return [*found, *map(error_of, (op_error, other_error, by_function, none_raised)),
            os.path.isdir(folder), folder == t.get_temp_dir(),
            os.path.isdir(tf.test.get_temp_dir())]  # fmt: skip


@case
def gradients_by_differences(tf: Any) -> Any:
    with tf.Session():
        x, w = tf.constant(numbers(2, 3)), tf.constant(numbers(3, 2))
        y = tf.matmul(tf.tanh(x), w)
        made = tf.test.compute_gradient(x, [2, 3], y, [2, 2], x_init_value=numbers(2, 3))
        both = tf.test.compute_gradient(
            [x, w], [[2, 3], [3, 2]], y, [2, 2], [numbers(2, 3), numbers(3, 2)]
        )
        error = tf.test.compute_gradient_error(x, [2, 3], y, [2, 2], numbers(2, 3))
    return [made[0], np.round(made[1], 2), both[1][0], bool(error < 1e-2)]
