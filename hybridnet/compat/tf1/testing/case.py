"""`TestCase`: unit tests with sessions, and assertions about arrays."""

from __future__ import annotations

import os
import random
import re
import shutil
import tempfile
import unittest
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from ..errors import OpError
from ..graph.graph import Graph, get_default_graph, reset_default_graph
from ..nest import flatten, pack_sequence_as
from ..session.session import Session, get_default_session

__all__ = ["TestCase", "get_temp_dir"]

#: Where random numbers of a test begin.
_SEED = 87654321


def get_temp_dir() -> str:
    """Returns a folder for files of tests: that of the variable TEST_TMPDIR, or of the system."""
    made = os.path.join(os.environ.get("TEST_TMPDIR") or tempfile.gettempdir(), "hybridnet_test")
    os.makedirs(made, exist_ok=True)
    return made


class TestCase(unittest.TestCase):
    """A unit test: each begins with an empty default graph, and the same random numbers."""

    __test__ = False  # it is no test itself

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        cls.__test__ = True

    def setUp(self) -> None:
        """Empties the default graph, and lets random numbers begin anew."""
        super().setUp()
        if self._testMethodName == "test_session":
            self.skipTest("Not a test.")  # unittest takes it for one by its name
        self._session: Session | None = None
        self._folder: str | None = None
        random.seed(_SEED)
        np.random.seed(_SEED)
        with suppress(AssertionError):  # a block of the caller's has another one
            reset_default_graph()
        get_default_graph().seed = _SEED

    def tearDown(self) -> None:
        """Closes the session."""
        if self._session is not None:
            self._session.close()
            self._session = None
        super().tearDown()

    def get_temp_dir(self) -> str:
        """Returns a folder of this test's own, the same at each call."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp(dir=get_temp_dir())
            self.addCleanup(shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    # -- sessions ----------------------------------------------------------------------------

    @contextmanager
    def session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> Iterator[Session]:  # fmt: skip
        """A block with a new session, which is the default one.

        Args:
            graph: that it runs; default the default one.
            config: of the session.
            use_gpu: without meaning here: devices are where the graph says.
            force_gpu: likewise.
        """
        chosen = get_default_graph() if graph is None else graph
        with chosen.as_default(), Session(graph=chosen, config=config) as made:
            yield made

    @contextmanager
    def cached_session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> Iterator[Session]:  # fmt: skip
        """As `session`, with the same session each time in a test."""
        if self._session is None:
            self._session = Session(graph=graph or get_default_graph(), config=config)
        with self._session.graph.as_default(), self._session.as_default():
            yield self._session

    @contextmanager
    def test_session(
        self, graph: Graph | None = None, config: Any = None, use_gpu: bool = True,
        force_gpu: bool = False,
    ) -> Iterator[Session]:  # fmt: skip
        """The older name: a new session for a graph that is given, else the test's own."""
        block = self.cached_session if graph is None else self.session
        with block(graph, config, use_gpu, force_gpu) as made:
            yield made

    def evaluate(self, tensors: Any) -> Any:
        """Returns the values of a nest of tensors, by the default session, or the test's."""
        session = get_default_session()
        if session is not None:
            return session.run(tensors)
        with self.cached_session() as own:
            return own.run(tensors)

    def _value(self, given: Any) -> Any:
        """Returns what is given as an array, tensors by a run."""
        if hasattr(given, "graph") and not isinstance(given, np.ndarray):
            given = self.evaluate(given)
        return np.asarray(given)

    # -- arrays ------------------------------------------------------------------------------

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Fails unless the arrays of two nests differ by no more than ``atol + rtol * |b|``."""
        self._compare(a, b, lambda x, y: _assert_close(x, y, rtol, atol, msg))

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """As `assertAllClose`, with other limits for dtypes that are less exact."""
        limits = {
            "bfloat16": (bfloat16_rtol, bfloat16_atol),
            "float16": (half_rtol, half_atol),
            "float32": (float_rtol, float_atol),
        }
        order = list(limits)

        def close(x: Any, y: Any) -> None:
            names = [one.dtype.name for one in (x, y) if one.dtype.name in limits]
            least = min(names, key=order.index) if names else None
            _assert_close(x, y, *((rtol, atol) if least is None else limits[least]), msg)

        self._compare(a, b, close)

    def assertNotAllClose(self, a: Any, b: Any, **limits: Any) -> None:
        """Fails if `assertAllClose` would not."""
        try:
            self.assertAllClose(a, b, **limits)
        except AssertionError:
            return
        raise AssertionError("The two values are close at all elements")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fails unless two arrays have the same shape and elements; NaN is equal to NaN."""
        x, y = self._value(a), self._value(b)
        _assert_shapes(x, y, msg)
        same = x == y
        if x.dtype.kind in "fc" and y.dtype.kind in "fc":
            same = same | (np.isnan(x) & np.isnan(y))
        if not np.all(same):
            raise AssertionError(f"{msg or ''}\nnot equal:\n{x}\n{y}")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fails if `assertAllEqual` would not."""
        try:
            self.assertAllEqual(a, b)
        except AssertionError:
            return
        raise AssertionError(f"The two values are equal at all elements. {msg or ''}")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are greater than a number."""
        self.assertGreater(np.min(self._value(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are as great as a number, or greater."""
        self.assertGreaterEqual(np.min(self._value(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are less than a number."""
        self.assertLess(np.max(self._value(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Fails unless all elements are as small as a number, or smaller."""
        self.assertLessEqual(np.max(self._value(a)), comparison_target)

    def assertArrayNear(
        self, farray1: Any, farray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Fails unless two lists are as long, and no two numbers differ by more than `err`."""
        self.assertEqual(len(farray1), len(farray2), msg=msg)
        for one, other in zip(farray1, farray2, strict=True):
            self.assertNear(float(one), float(other), err, msg)

    def assertNDArrayNear(
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Fails unless the distance of two arrays, as vectors, is less than `err`."""
        distance = np.linalg.norm(self._value(ndarray1) - self._value(ndarray2))
        self.assertTrue(distance < err, msg=msg)

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Fails unless two numbers differ by no more than `err`."""
        near = f1 == f2 or abs(f1 - f2) <= err
        self.assertTrue(near, f"{f1!r} != {f2!r} +/- {err!r} {msg or ''}")

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Fails unless the shapes of two arrays, or tensors, are known and the same."""
        shapes = [
            list(one.shape) if isinstance(one, np.ndarray) else one.shape.as_list()
            for one in (input_a, input_b)
        ]
        self.assertEqual(shapes[0], shapes[1], msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Fails unless an array, or a tensor, is of a dtype."""
        self.assertEqual(self._value(target).dtype, np.dtype(expected_dtype))

    # -- errors ------------------------------------------------------------------------------

    @contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: Any, expected_err_re_or_predicate: str | Callable[[Any], bool]
    ) -> Iterator[None]:
        """A block that must raise an error, of which a function or an expression holds."""
        wanted = expected_err_re_or_predicate
        try:
            yield
        except Exception as error:
            text = str(error)
            holds = wanted(error) if callable(wanted) else re.search(wanted, text) is not None
            if not isinstance(error, exception_type) or not holds:
                raise AssertionError(
                    f"Exception of type {type(error)}: {text} is not what was expected: {wanted}"
                ) from error
            return
        self.fail(f"{getattr(exception_type, '__name__', exception_type)} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """As `assertRaisesWithPredicateMatch`, for `tf.errors.OpError`."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    # -- texts and lists ---------------------------------------------------------------------

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """Fails unless a text begins with another."""
        self.assertTrue(actual.startswith(expected_start), msg or f"{actual!r}: {expected_start!r}")

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        """Fails unless something has no elements."""
        self.assertEqual(len(container), 0, msg)

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        """Fails if something has no elements."""
        self.assertGreater(len(container), 0, msg)

    assertItemsEqual = unittest.TestCase.assertCountEqual

    def _compare(self, a: Any, b: Any, check: Callable[[Any, Any], None]) -> None:
        """Calls a function of two arrays with those of two nests that are alike."""
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            self.assertCountEqual(a, b)
            for key in a:
                self._compare(a[key], b[key], check)
            return
        pair = [self._whole(one) for one in (a, b)]
        if all(one is not None for one in pair):
            check(*pair)
            return
        self.assertEqual(len(a), len(b))
        for one, other in zip(a, b, strict=True):
            self._compare(one, other, check)

    def _whole(self, given: Any) -> Any:
        """Returns a nest as one array; None where its arrays differ in shape."""
        leaves = [self._value(one) for one in flatten(given)]
        try:
            found = np.asarray(pack_sequence_as(given, leaves))
        except ValueError:
            return None
        return None if found.dtype == object and isinstance(given, (list, tuple)) else found


def _assert_shapes(x: Any, y: Any, msg: str | None) -> None:
    if x.shape != y.shape:
        raise AssertionError(f"Shape mismatch: expected {x.shape}, got {y.shape}. {msg or ''}")


def _assert_close(x: Any, y: Any, rtol: float, atol: float, msg: str | None) -> None:
    _assert_shapes(x, y, msg)
    np.testing.assert_allclose(x, y, rtol=rtol, atol=atol, err_msg=msg or "", equal_nan=True)
