"""`Session`: runs tensors and Operations, and keeps the values of variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn, final

import numpy as np

from hybridnet import clusters
from hybridnet.base import MXNetError, current_context, gpu
from hybridnet.clusters import ClusterRunner
from hybridnet.graph import Edge, Node
from hybridnet.ndarray import NDArray, array
from hybridnet.ops.core import TensorType, tensor_type
from hybridnet.session import (
    Fetches,
    Joined,
    LateCalls,
    Request,
    RunMetadata,
    Runner,
    RunOptions,
    Trace,
    register_late_calls,
)

from .. import errors
from ..graph import GraphDef, Operation, Tensor, TensorShape, device_text
from ..graph.gradient_call import expanded
from ..graph.graph import Graph, default_sessions, get_default_graph
from ..graph.resolve import needed_values, resolve
from .config import DeviceAttributes, num_gpus
from .feeding import as_fed
from .stages import StagedRunner

__all__ = ["InteractiveSession", "RunMetadata", "RunOptions", "Session", "get_default_session"]

register_late_calls(LateCalls(needed_values, resolve, expanded))

_CLUSTER_ERRORS: Final = {
    clusters.UnavailableError: errors.UnavailableError,
    clusters.AbortedError: errors.AbortedError,
    clusters.LateError: errors.DeadlineExceededError,
    clusters.EndedError: errors.OutOfRangeError,
    clusters.GivenUpError: errors.CancelledError,
    clusters.WrongError: errors.InvalidArgumentError,
}
#: Class -> (what to fetch for a value and how to put it together, what to feed for it).
_CONVERSIONS: Final[dict[type, tuple[Callable[..., Any], Callable[..., Any] | None]]] = {}


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[[Any], tuple[Sequence[Any], Callable[[list[Any]], Any]]],
    feed_function: Callable[[Any, Any], Sequence[tuple[Any, Any]]] | None = None,
    feed_function_for_partial_run: Any = None,
) -> None:
    """Registers functions by which sessions fetch and feed the values of a class.

    Args:
        tensor_type: the class.
        fetch_function: returns, for a value, the tensors to fetch, and a function that computes
            the result from their values.
        feed_function: returns, for a key of `feed_dict` and its value, pairs of a tensor and what
            it is fed.
        feed_function_for_partial_run: without meaning here.
    """
    _CONVERSIONS[tensor_type] = fetch_function, feed_function


def get_default_session() -> Any:
    """Returns the session in whose block this is, or None."""
    return default_sessions.top()


class _BaseSession:
    """The base class of both kinds of sessions; see `Session`.

    Attributes:
        graph: the graph that it runs.
        sess_str: the target: the address of the task that it connects to; '' for this process.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"Argument `graph` must be a tf.Graph, but got {type(graph).__name__}")
        self.graph = get_default_graph() if graph is None else graph
        self.sess_str = target
        self._config = config
        self._closed = False
        self._blocks: list[Any] = []
        soft = bool(getattr(config, "allow_soft_placement", False))
        rest = (self.graph.constants, self._expected, self._missing, self.graph.seed, soft)
        self._runner: Runner | ClusterRunner
        if target:
            try:
                self._runner = ClusterRunner(target, *rest, _timeout(config))
            except MXNetError as error:
                _raise(error)
        else:
            self._runner = Runner(gpu(0) if num_gpus() else current_context(), *rest)
            self._runner.timeout = _timeout(config)
        constants = self.graph.constants
        self._staged = StagedRunner(self._runner, self.graph.shared, constants)

    # -- what it is --------------------------------------------------------------------------

    @property
    def graph_def(self) -> GraphDef:
        """The graph in words."""
        return self.graph.as_graph_def()

    @property
    def variables(self) -> Mapping[Node, NDArray]:
        """The values of the variables, by our nodes; runs do not change these arrays."""
        return self._runner.variables

    def list_devices(self) -> list[DeviceAttributes]:
        """Returns the devices of this process; of a cluster those of its tasks."""
        return [
            DeviceAttributes(device_text(one), (one.type or "").upper())
            for one in self._runner.devices()
        ]

    @contextmanager
    def as_default(self) -> Iterator[Any]:
        """A block in which this is the default session; it stays open after it."""
        with default_sessions.pushed(self):
            yield self

    def stop_waiting(self) -> None:
        """Makes runs that wait for queues or accumulators fail, now and from now on."""
        self._staged.close()

    def close(self) -> None:
        """Forgets variables and programs; it cannot be used any more."""
        self._closed = True
        self.stop_waiting()
        self._runner.clear()

    # -- runs --------------------------------------------------------------------------------

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Computes tensors and runs Operations.

        Args:
            fetches: a tensor, an Operation, a variable or the name of one; or lists, tuples, named
                tuples and dicts of these.
            feed_dict: values by tensor, of any tensor; what only they need does not run.
            options: what to note of the run.
            run_metadata: where to note it.

        Returns:
            NumPy arrays (scalars for tensors without dimensions), nested as `fetches`; None for
            Operations.

        Raises:
            RuntimeError: the session is closed.
            TypeError: what is fetched or fed is nothing that can be.
            ValueError: it is of another graph, or a value has another shape than its tensor.
            tf.errors.FailedPreconditionError: a variable has no value yet.
            tf.errors.InvalidArgumentError: a value is missing or does not fit; the message names
                the Operation.
        """
        self._check_open()
        feeds = self._feeds(feed_dict or {})
        asked = Fetches(fetches, self._fetch)
        request = Request(asked.edges, asked.targets, tuple(feeds))
        trace = Trace.of(options, run_metadata)
        return asked.nested(self._computed(request, list(feeds.values()), trace))

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """Returns a function that runs the same again, with a value for each of some tensors.

        Args:
            fetches: as for `run`.
            feed_list: the tensors that the function's arguments are the values of.
            accept_options: whether the function takes ``options`` and ``run_metadata``, too.
        """
        self._check_open()
        keys = list(feed_list or ())

        def call(*values: Any, **keywords: Any) -> Any:
            if len(values) != len(keys):
                raise ValueError(
                    f"needs {len(keys)} values, one for each fed tensor, got {len(values)}"
                )
            return self.run(fetches, dict(zip(keys, values, strict=True)), **keywords)

        return call

    def _computed(self, request: Request, feeds: Sequence[Any], trace: Trace | None) -> list[Any]:
        try:
            return [_fetched(one) for one in self._staged.run(request, feeds, trace)]
        except MXNetError as error:
            _raise(error)

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self.graph.version:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )

    def _fetch(self, leaf: Any) -> Any:
        """Returns what `Fetches` takes for a leaf."""
        graph = self.graph
        plain = type(leaf) is Tensor and leaf.op.graph is graph
        if plain and graph.is_fetchable(leaf):
            return leaf.edge  # the usual case, without more ado
        for kind, (fetch, _) in _CONVERSIONS.items():
            if isinstance(leaf, kind):
                parts, join = fetch(leaf)
                return Joined([self._fetch(one) for one in parts], join)
        try:
            found = self.graph.as_graph_element(leaf)
        except TypeError:
            raise TypeError(
                f"Fetch argument {leaf!r} has invalid type {type(leaf)}, must be a string or "
                f"Tensor. (Can not convert a {type(leaf).__name__} into a Tensor or Operation.)"
            ) from None
        except (KeyError, ValueError) as error:
            raise ValueError(
                f"Fetch argument {leaf!r} cannot be interpreted as a Tensor. ({error})"
            ) from None
        if not self.graph.is_fetchable(found):
            raise ValueError(f"Operation {leaf!r} has been marked as not fetchable.")
        return found.node if isinstance(found, Operation) else found.edge

    # -- what it is given --------------------------------------------------------------------

    def _feeds(self, feed_dict: Mapping[Any, Any]) -> dict[Edge, Any]:
        found: dict[Edge, Any] = {}
        for key, value in feed_dict.items():
            for tensor, part in self._fed(key, value):
                if not self.graph.is_feedable(tensor):
                    raise ValueError(f"Tensor {tensor} may not be fed.")
                found[tensor.edge] = as_fed(tensor, part)
        return found

    def _fed(self, key: Any, value: Any) -> list[tuple[Tensor, Any]]:
        if type(key) is Tensor and key.op.graph is self.graph:
            return [(key, value)]
        if isinstance(key, (list, tuple)):
            return [one for pair in zip(key, value, strict=True) for one in self._fed(*pair)]
        for kind, (_, feed) in _CONVERSIONS.items():
            if isinstance(key, kind) and feed is not None:
                return [one for pair in feed(key, value) for one in self._fed(*pair)]
        try:
            found = self.graph.as_graph_element(key, allow_operation=False)
        except (KeyError, ValueError, TypeError) as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error}") from None
        assert isinstance(found, Tensor)
        return [(found, value)]

    def _expected(self, node: Node) -> TensorType | None:
        """Returns the type that a node's value would have, where its Operation tells."""
        op = self.graph.operation_of(node)
        shape = None if op is None else op.get_attr("shape")
        if op is None or not isinstance(shape, TensorShape) or not shape.is_fully_defined():
            return None
        return tensor_type(tuple(shape.as_list()), op.outputs[0].dtype.numpy)  # type: ignore[arg-type]

    def _missing(self, node: Node) -> MXNetError:
        op = self.graph.operation_of(node)
        title = node.title if op is None else op.title
        name = node.name if op is None else op.name
        if op is not None and op.type == "VariableV2":
            return errors.FailedPreconditionError(
                None,
                op,
                f"Attempting to use uninitialized value {name}: the variable {title} has no value "
                "in this session; run its initializer first (tf.global_variables_initializer())",
            )
        about = (
            ""
            if op is None
            else f" with dtype {op.outputs[0].dtype.name} and shape {op.outputs[0].shape}"
        )
        return errors.InvalidArgumentError(
            None, op, f"You must feed a value for placeholder tensor '{name}'{about}: {title}"
        )

    # -- variables ---------------------------------------------------------------------------

    def value_of(self, variable: Any) -> NDArray:
        """Returns the value of a variable, which nothing changes (for savers).

        Raises:
            tf.errors.FailedPreconditionError: it has none yet.
        """
        return self.values_of([variable])[variable]

    def values_of(self, variables: Sequence[Any]) -> dict[Any, NDArray]:
        """Returns the values of variables at one moment; of a cluster at one of each task.

        Raises:
            tf.errors.FailedPreconditionError: one has none yet.
        """
        nodes = {one: one.op.node for one in variables}
        held: Mapping[Node, NDArray] = self._runner.variables
        try:
            if isinstance(self._runner, ClusterRunner):
                held = self._runner.variables.fetch(nodes.values())
        except MXNetError as error:
            _raise(error)
        for node in nodes.values():
            if node not in held:
                raise self._missing(node)
        return {one: held[node] for one, node in nodes.items()}

    def load(self, variable: Any, value: Any) -> None:
        """Sets a variable to a value.

        Raises:
            ValueError: the shape differs.
        """
        self.load_all({variable: value})

    def load_all(self, values: Mapping[Any, Any]) -> None:
        """Sets variables to values at one moment; of a cluster at one of each task.

        Raises:
            ValueError: a shape differs.
        """
        found = {}
        for variable, value in values.items():
            tensor = self.graph.as_graph_element(variable, allow_operation=False)
            assert isinstance(tensor, Tensor)
            host = as_fed(tensor, value)
            if not isinstance(host, NDArray):
                host = array(host, self._runner.ctx, host.dtype)
            found[tensor.edge.node] = host
        try:
            self._runner.set(found)
        except MXNetError as error:
            _raise(error)


def _fetched(value: Any) -> Any:
    """Returns an output as users get it: an array, a number, or one string as bytes."""
    host = value if type(value) is np.ndarray else value.asnumpy()
    return host if host.ndim else host[()]


def _timeout(config: Any) -> float | None:
    """Returns the seconds that a step may take by the options of a session."""
    found = getattr(config, "operation_timeout_in_ms", None)
    return found / 1000 if isinstance(found, (int, float)) and found > 0 else None


def _raise(error: MXNetError) -> NoReturn:
    """Raises an error of a run as TensorFlow's kind of it."""
    for kind, ours in _CLUSTER_ERRORS.items():
        if isinstance(error, kind):
            raise ours(str(error)) from error
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, errors.OpError):
            raise cause
        cause = cause.__cause__
    raise errors.InvalidArgumentError(str(error)) from error


@final
class Session(_BaseSession):
    """Runs tensors and Operations of a graph, and keeps the values of variables between runs.

        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            print(sess.run(loss, feed_dict={x: images}))

    Args:
        target: the address of a task of a cluster (`tf.train.Server.target`), whose variables
            and devices are used; '': it runs in this process.
        graph: what it runs; default the default graph.
        config: a `ConfigProto`, or None.
    """

    @staticmethod
    def reset(target: str, containers: Sequence[str] | None = None, config: Any = None) -> None:
        """Resets all tasks of a cluster: they forget variables, queues and accumulators.

        Runs that wait for a queue are aborted. In open sessions, the variables are uninitialized
        from then on.

        Args:
            target: the address of a task (`tf.train.Server.target`).
            containers: the names of the containers (see `tf.container`) that are reset, '' for
                what was made in none; default all.
            config: a `ConfigProto`; only its timeout is used.

        Raises:
            tf.errors.NotFoundError: `target` is empty. Without a cluster, variables and queues
                last as long as their session.
        """
        if not target:
            raise errors.NotFoundError("Session.reset: it needs the target of a cluster")
        with Graph().as_default():
            session = Session(target, config=config)
        with session:
            assert isinstance(session._runner, ClusterRunner)
            try:
                session._runner.reset(containers)
            except MXNetError as error:
                _raise(error)

    def __enter__(self) -> Session:
        blocks = [self.graph.as_default(), self.as_default()]
        for block in blocks:
            block.__enter__()
        self._blocks += blocks
        return self

    def __exit__(self, *error: Any) -> None:
        for _ in range(2):
            self._blocks.pop().__exit__(*error)
        self.close()


@final
class InteractiveSession(_BaseSession):
    """A session that is the default one, and whose graph is, until it is closed.

    Arguments are those of `Session`.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._graph_block = self.graph.as_default() if graph is not None else None
        if self._graph_block is not None:
            self._graph_block.__enter__()
        default_sessions.push(self)

    def close(self) -> None:
        """Forgets variables and programs, and is not the default session any more."""
        super().close()
        default_sessions.remove(self)
        if self._graph_block is not None:
            self._graph_block.__exit__(None, None, None)
            self._graph_block = None
