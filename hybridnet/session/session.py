"""`Session`: runs parts of symbols' graphs, and keeps the values of their variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, final

import numpy as np

from hybridnet.base import config
from hybridnet.base.context import Context, current_context
from hybridnet.base.dtype import DTYPE_OF_CODE, as_dtype
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.graph import Edge, Node, attributes_of
from hybridnet.ndarray import NDArray, array
from hybridnet.symbol import Symbol

from .errors import FeedError, MissingFeedError
from .fetches import Fetches
from .metadata import RunMetadata, RunOptions, Trace
from .runner import Runner
from .step import Request, RunStep


class StepRunner(Protocol):
    """A runner: it carries out the runs of a session, and keeps its variables; see `Runner`."""

    @property
    def ctx(self) -> Context:
        """The context in which given values are made."""

    @property
    def variables(self) -> Mapping[Node, NDArray]:
        """The values of the variables."""

    @property
    def step(self) -> Callable[[Request], RunStep]:
        """Returns the step of a request, which is made once."""

    def run_step(
        self, step: RunStep, feeds: Sequence[Any], trace: Trace | None = None
    ) -> list[NDArray]:
        """Runs a request of which `step` has made the step."""

    def set(self, values: Mapping[Node, NDArray]) -> None:
        """Gives variables values."""

    def clear(self) -> None:
        """Forgets variables that are its own, and programs."""


@final
class Session:
    """Runs what is asked for of a graph, and keeps the variables between runs.

        x, w = hn.sym.var("x"), hn.sym.var("w")
        with hn.Session() as session:
            session.set({w: np.ones((3, 2))})
            y = session.run(hn.sym.dot(x, w), {x: np.ones((1, 3))})

    What is fetched decides what runs: the rest of the graph does not. What was asked for before,
    with values of the same types, is compiled already. Several threads may run one session.

    Args:
        ctx: where nodes run that name no device; default the current context.
        seed: where its random numbers begin; None: it draws from the context's generator.
        soft_placement: whether nodes that cannot be on the device that they name are put on
            another, with a line in the log; default ``MXNET_SOFT_PLACEMENT``.
    """

    def __init__(
        self,
        ctx: Context | None = None,
        *,
        seed: int | None = None,
        soft_placement: bool | None = None,
    ) -> None:
        soft = config.soft_placement() if soft_placement is None else soft_placement
        self._runner: StepRunner
        self._runner = Runner(ctx or current_context(), {}, _declared, _missing, seed, soft)
        self._closed = False

    @classmethod
    def over(cls, make: Callable[..., StepRunner]) -> Session:
        """Returns a session whose runs something else carries out, as `hn.cluster` has it.

        Args:
            make: of `expected` and `missing` (see `Runner`) makes what carries them out.
        """
        made = cls.__new__(cls)
        made._runner, made._closed = make(expected=_declared, missing=_missing), False
        return made

    @property
    def variables(self) -> Mapping[str, NDArray]:
        """The values of the variables by name; runs and `set` do not change these arrays."""
        return {node.name: value for node, value in self._runner.variables.items()}

    def set(self, values: Mapping[Symbol, Any]) -> None:
        """Gives variables values, which runs may read and change.

        Args:
            values: NDArrays or NumPy arrays, by variable.

        Raises:
            ParameterError: a key is no variable.
            FeedError: a value is not of the shape or dtype that the variable was made with.
        """
        found = {}
        for variable, value in values.items():
            edge = _edge(variable)
            if not edge.node.is_variable:
                raise ParameterError(f"Session.set: {variable!r} is no variable; feed it to a run")
            host = fetched_host(edge.node, value)
            found[edge.node] = (
                host.copy()
                if isinstance(host, NDArray)
                else array(host, self._runner.ctx, host.dtype)
            )
        self._runner.set(found)

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
        *,
        train: bool = False,
    ) -> Any:
        """Computes values.

        Args:
            fetches: a symbol, or lists, tuples, named tuples and dicts of symbols. One of several
                outputs gives a list.
            feed_dict: values by symbol, of any value of the graph, variable or not; what only they
                need does not run. Python's numbers are float32 unless the variable was made with
                another dtype.
            options: what to note of the run.
            run_metadata: where to note it.
            train: whether it is a training pass, in which Dropout and the like count, and moving
                averages move.

        Returns:
            NumPy arrays (scalars for those without dimensions), nested as `fetches`.

        Raises:
            ParameterError: what is fetched or fed is no symbol.
            MissingFeedError: a variable has no value.
            FeedError: a value is of another shape or dtype than its variable was made with.
            ShapeError, DTypeError: a node's inputs do not fit; the message names node and line.
        """
        if self._closed:
            raise MXNetError("Session.run: the session is closed")
        asked = Fetches(fetches, _of_symbol)
        feeds: dict[Edge, Any] = {}
        for key, value in (feed_dict or {}).items():
            edge = _edge(key)
            feeds[edge] = fetched_host(edge.node, value)
        request = Request(asked.edges, (), tuple(feeds), train)
        trace = Trace.of(options, run_metadata)
        made = self._runner.run_step(self._runner.step(request), list(feeds.values()), trace)
        return asked.nested([fetched(output) for output in made])

    def close(self) -> None:
        """Forgets variables and programs; it cannot be used any more."""
        self._closed = True
        self._runner.clear()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def fetched(value: NDArray) -> Any:
    """Returns an output as users get it: a NumPy array, or a scalar."""
    host = value.asnumpy()
    return host if host.ndim else host[()]


def fetched_host(node: Node, value: Any) -> Any:
    """Returns a value for a node, as an NDArray or a NumPy array of the node's dtype.

    Raises:
        FeedError: it is not of the shape or dtype that the variable was made with.
    """
    if isinstance(value, NDArray):
        found: Any = value
    else:
        found = np.asarray(value)
        plain = not isinstance(value, (np.ndarray, np.generic))
        if plain and found.dtype.kind in "fi":  # Python's numbers, as `hn.nd.array` takes them
            found = found.astype(np.float32)
    known = _declared_parts(node)
    if known is None:
        return found
    shape, dtype = known
    if dtype is not None and found.dtype != dtype:
        if isinstance(found, NDArray) or not np.can_cast(found.dtype, dtype, "same_kind"):
            raise FeedError(
                f"Session: {node.title} has dtype {dtype}, got a value of {found.dtype}", node
            )
        found = found.astype(dtype)
    if shape is not None and (
        len(shape) != len(found.shape)
        or any(a not in (0, b) for a, b in zip(shape, found.shape, strict=True))
    ):
        raise FeedError(
            f"Session: {node.title} has shape {shape}, got a value of shape {found.shape}", node
        )
    return found


def _declared_parts(node: Node) -> tuple[tuple[int, ...] | None, Any] | None:
    """Returns the shape and dtype that a variable was made with, where it was made with some."""
    if not (node.is_variable and node.attrs):
        return None
    attrs = attributes_of(node)
    shape, dtype = attrs.get("__shape__"), attrs.get("__dtype__")
    if shape is None and dtype is None:
        return None
    sizes = None if shape is None else _sizes(shape)
    if dtype is None:
        return sizes, None
    return sizes, DTYPE_OF_CODE[int(dtype)] if dtype.isdigit() else as_dtype(dtype)


def _sizes(text: str) -> tuple[int, ...]:
    inner = text.strip("()[] ")
    return tuple(int(size) for size in inner.split(",") if size.strip())


def _declared(node: Node) -> TensorType | None:
    known = _declared_parts(node)
    if known is None or known[0] is None or 0 in known[0]:
        return None
    return tensor_type(known[0], known[1] or np.dtype(np.float32))


def _missing(node: Node) -> MXNetError:
    return MissingFeedError(
        f"Session.run: {node.title} has no value; give it one with feed_dict, or for good with "
        "Session.set",
        node,
    )


def _edge(symbol: Any) -> Edge:
    if not isinstance(symbol, Symbol) or len(symbol.edges) != 1:
        raise ParameterError(f"Session: needs a symbol of one output as a key, got {symbol!r}")
    return symbol.edges[0]


def _of_symbol(leaf: Any) -> Sequence[Edge]:
    if not isinstance(leaf, Symbol):
        raise ParameterError(
            f"Session.run: fetches must be symbols, or lists and dicts of them, got {leaf!r}"
        )
    return leaf.edges
