"""`HybridBlock`: a block that runs on arrays and on symbols, and as a traced function."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from hybridnet import autograd, ndarray, symbol
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import Context, current_context
from hybridnet.base.errors import (
    DTypeError,
    MXNetError,
    ParameterError,
    ShapeError,
    ValuesNeededError,
)
from hybridnet.base.mesh import Mesh
from hybridnet.base.numpy_mode import mode
from hybridnet.base.signatures import signature_of
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.sparse import BaseSparseNDArray
from hybridnet.symbol import Symbol
from hybridnet.tracing import (
    NEW_KIND,
    Admissions,
    Bucketed,
    Buckets,
    Function,
    flatten,
    run_converted,
    several,
    unflatten,
)

from . import _changes as changes
from ._block import Block, any_signature
from ._nesting import Form
from ._nesting import flatten as nesting
from ._op_hooks import OpHook, run_watched
from ._parameter import DeferredInitializationError, is_known
from ._parameter_dict import ParameterDict


class _Running(threading.local):
    """Of each thread: whether it runs what is inside of a hybridized block, or of a recomputed one.

    `segments` counts the recomputed ones that a hybridized block has called.
    """

    inside = False
    recomputing = False
    segments = 0


#: The outermost hybridized block is traced with everything in it.
_running: Final = _Running()


class HybridBlock(Block):
    """A block that runs on arrays and on symbols, and after `hybridize` as a traced function.

    Define either ``hybrid_forward(self, F, x, ..., **params)``, where F is `nd` or `sym` and own
    parameters arrive by name, or a plain ``forward(self, x, ...)``. With `hybrid_forward` unknown
    dimensions of own parameters are found from the first input, and the block composes and exports
    symbols.

    Args:
        prefix, params: see `Block`.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix, params)
        self._active = False
        self.__recomputes = False
        # Whether a trace turned out to need values that only a run has.
        self.__needs_values = False
        self.__buckets: tuple[Buckets, ...] = ()
        self.__traced: Function[..., Any] | Bucketed | None = None
        # Its admissions, where the last call on arrays ran it, and nothing else looks at calls.
        self.__ready: Admissions | None = None
        # The last change that traces were checked against, what there was then, and whether all
        # parameters had values.
        self.__checked = -1
        self.__parts: tuple[object, ...] = ()
        self.__is_ready = False
        # The structure of the arguments that `export` makes variables for: a number of arrays, or
        # a tree of them.
        self._export_arguments: Any = 1
        self.__op_hooks: list[OpHook] = []

    def register_child(self, block: Block | Callable[..., Any], name: str | None = None) -> None:
        """Makes a hybrid block part of this one.

        Raises:
            ParameterError: the block is not hybrid.
        """
        if not isinstance(block, HybridBlock):
            raise ParameterError(
                f"{type(self).__name__}: the children of a HybridBlock must be HybridBlocks, got "
                f"{type(block).__name__}; make this one a Block, or that one hybrid"
            )
        super().register_child(block, name)
        self._clear_cached_op()

    # -- running -----------------------------------------------------------------------------

    def hybridize(
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        buckets: Buckets | Sequence[Buckets] | None = None,
        **kwargs: object,
    ) -> None:
        """Makes this block run as one traced function (`hn.function`) from its next call on.

        The trace holds what the block's Python code did; attributes such as ``self.rate`` that
        `hybrid_forward` reads are fixed in it. It is made anew for inputs of other shapes, and
        when parameters or children are replaced.

        A block in which shapes depend on values (`np.unique`, `npx.nonzero`), or that computes by
        NumPy itself, cannot be traced: it goes on operator by operator, as in MXNet.

        With `buckets` inputs of any lengths are padded to a few sizes, and outputs cut back; a mask
        comes after the inputs. What follows the block still sees every length: in training, put
        the loss into the block or into an `hn.function` with buckets around both, or let the data
        loader pad (`hn.Buckets.stack`).

        Args:
            active: False goes back to running it operator by operator.
            backend: must be None.
            clear, static_alloc, static_shape, inline_limit, forward_bulk_size,
                backward_bulk_size: MXNet's hints; XLA plans memory and fuses by itself.
            buckets: for inputs of varying lengths: one, or several where several axes vary.
            kwargs: further hints of MXNet's.

        Raises:
            ParameterError: a backend is named, or `buckets` are none.
        """
        if backend is not None:
            raise ParameterError(f"hybridize: there is no backend {backend!r}; XLA compiles all")
        self.__buckets = several(buckets) if active and buckets is not None else ()
        self._active = active
        self._clear_cached_op()
        super().hybridize(
            active,
            static_alloc=static_alloc,
            static_shape=static_shape,
            inline_limit=inline_limit,
            forward_bulk_size=forward_bulk_size,
            backward_bulk_size=backward_bulk_size,
        )

    def recompute(self, active: bool = True) -> None:
        """Turns gradient checkpointing on: results inside are computed again, and not kept.

        Training then keeps the block's inputs and outputs only: less memory, for one more run
        of the block. Gradients are the same, of the same random numbers. Ask it of the layers of a
        network one by one: ``for layer in net.layers: layer.recompute()``.

        It holds wherever the block is called: in hybridized blocks and traced functions, in
        symbols (the attributes ``force_mirroring`` and ``mirror_stage``); and where nothing is
        hybridized the block is traced by itself for it. Of blocks in one another that ask for it
        the outermost counts. A block that cannot be traced (see `hybridize`) keeps what it
        computes.

        Args:
            active: False has results kept again.
        """
        self.__recomputes = active
        self._clear_cached_op()
        changes.note()

    def cast(self, dtype: DTypeLike) -> None:
        """Changes the element type of the parameters of this block and everything in it."""
        self._clear_cached_op()
        super().cast(dtype)

    def _call_block(self, args: tuple[Any, ...]) -> Any:
        """Runs the block on arrays (traced if hybridized), or builds its symbol."""
        ready = self.__ready
        if ready is not None and self.__checked == changes.count.number and not _running.inside:
            result = ready.run(args)
            if result is not NEW_KIND:
                return result
        if not self.__recomputes or _running.recomputing:
            return self.__call_checked(args)
        if not _running.inside:
            _running.segments = 0
        with _segment(f"segment{_running.segments}"):
            return self.__call_checked(args)

    def __call_checked(self, args: tuple[Any, ...]) -> Any:
        if not args or isinstance(args[0], Symbol):
            return run_converted(self.forward, args)
        masks = tuple([bucket.mask for bucket in self.__buckets if bucket.mask is not None])
        is_outermost = (self._active or self.__recomputes) and not _running.inside
        self.__note_arguments((*args, *masks), is_outermost)
        if is_outermost and not self.__needs_values:
            _running.inside = True
            _running.segments = 0
            try:
                return self.__run_hybridized(args, masks)
            except ValuesNeededError:
                if masks:
                    raise
            finally:
                _running.inside = False
            self.__needs_values = True  # what can be traced inside still is
        return self.__run_plainly(args, masks)

    def __run_hybridized(self, args: tuple[Any, ...], masks: Sequence[str]) -> Any:
        """Runs the trace of this block and everything in it, where there can be one."""
        if self.__op_hooks:
            return self.__run_watched(args)
        on_symbols = isinstance(_first_operand(args[0], args[1:]), Symbol)
        if on_symbols or _any_sparse(args) or not self.__may_be_traced():
            return self.__run_plainly(args, masks)
        traced = self.__traced
        assert traced is not None
        self.__ready = traced.admissions if type(traced) is Function else None
        return traced(*args)

    def __run_plainly(self, args: tuple[Any, ...], masks: Sequence[str]) -> Any:
        if masks:
            assert isinstance(self.__traced, Bucketed)
            return self.__traced.plain(*args)
        return run_converted(self.forward, args)

    def __new_traced(self) -> Function[..., Any] | Bucketed:
        made = Function(self.forward, self.name)
        if not self.__buckets:
            return made
        # An overridden forward names its inputs itself; what hybrid_forward names comes after F.
        own = self.__has_own_forward()
        names = list(signature_of(self.forward if own else self.hybrid_forward).parameters)
        return Bucketed(made, self.__buckets, names if own else names[1:], by_name=False)

    def __has_own_forward(self) -> bool:
        return inspect.unwrap(type(self).forward) is not HybridBlock.forward

    def __note_arguments(self, args: tuple[Any, ...], is_traced: bool) -> None:
        for arg in args:
            if not isinstance(arg, NDArray):
                leaves, tree = flatten(args)
                # Which there were, and not the arrays: they may be large, or a trace's.
                given = [None if leaf is None else 0 for leaf in leaves]
                self.__dict__["_export_arguments"] = given, tree
                self.__check_leaves(args, leaves, is_traced)
                return
        self.__dict__["_export_arguments"] = len(args)
        if is_traced and len(args) > 1:
            self.__check_contexts(args)

    def __check_leaves(
        self, args: tuple[Any, ...], leaves: Sequence[object], is_traced: bool
    ) -> None:
        """Refuses arrays beside symbols, and in a traced `hybrid_forward` what is neither."""
        kinds = {NDArray if isinstance(leaf, NDArray) else type(leaf) for leaf in leaves}
        symbols = any(issubclass(kind, Symbol) for kind in kinds)
        strange = bool(kinds - {NDArray, type(None)}) and is_traced and not self.__buckets
        if (symbols and NDArray in kinds) or (
            strange and NDArray in kinds and not self.__has_own_forward()
        ):
            raise ParameterError(
                f"{self.name} ({type(self).__name__}): needs arrays only, or symbols only"
                f"{' (it is hybridized)' if is_traced else ''}, got "
                f"{', '.join(type(arg).__name__ for arg in args)}; fix what is no array as an "
                "attribute of the block"
            )
        if is_traced:
            self.__check_contexts([leaf for leaf in leaves if isinstance(leaf, NDArray)])

    def __check_contexts(self, arrays: Sequence[NDArray]) -> None:
        if len({array.context.computes_on for array in arrays}) > 1:
            where = ", ".join(str(array.context) for array in arrays)
            raise ParameterError(
                f"{self.name} ({type(self).__name__}): the arrays that a hybridized block is given "
                f"must be on one context, got {where}; use as_in_context"
            )

    def register_op_hook(
        self, callback: Callable[[bytes, bytes, NDArray], object], monitor_all: bool = False
    ) -> None:
        """Registers ``callback(name, operator, array)``, called for what operators inside make.

        That is while the block is hybridized and called on arrays: its operators then run one by
        one. Names are bytes, as in MXNet: ``b"dense0_fwd_output"``, ``b"FullyConnected"``.

        Args:
            callback: the function.
            monitor_all: also call it for what each operator is given.
        """
        self.__op_hooks.append(OpHook(callback, monitor_all))
        self.__ready = None

    def __run_watched(self, args: tuple[Any, ...]) -> Any:
        params = self.collect_params()
        if any(param.is_deferred for param in params.values()):
            self.infer_shape(*args)
            for param in params.values():
                param.finish_deferred_init()
        ctx = _first_operand(args[0], args[1:]).context
        values = {name: param.data(ctx) for name, param in params.items()}
        return run_watched(self.forward, args, values, self.__op_hooks)

    def __may_be_traced(self) -> bool:
        """Whether all parameters have values; forgets traces of what is not part of it any more.

        A plain run comes first where some have none: it finds their shapes and makes the values.
        """
        latest = changes.count.number
        if self.__checked != latest:
            params = list(self.collect_params().values())
            arrays = [id(array) for param in params for array in param._values.values()]
            blocks = list(_blocks(self))
            parts = (
                *blocks,
                *[block.__recomputes for block in blocks if isinstance(block, HybridBlock)],
                *arrays,
            )
            if parts != self.__parts:
                self.__traced = self.__new_traced()
            self.__parts = parts
            self.__is_ready = not any(param.is_deferred for param in params)
            self.__checked = latest
        return self.__is_ready

    @any_signature
    def forward(self, x: Any, *args: Any) -> Any:
        """Calls `hybrid_forward` with `nd` or `sym` and the own parameters."""
        first = x if isinstance(x, NDArray) else _first_operand(x, args)
        if isinstance(first, Symbol):
            variables = {name: param.var() for name, param in self._reg_params.items()}
            if type(first) is not Symbol:  # with NumPy's semantics, as the input has
                variables = {name: variable.as_np_ndarray() for name, variable in variables.items()}
            with self.name_scope():
                return self.hybrid_forward(symbol, x, *args, **variables)
        if first is None:
            raise ParameterError(
                f"{self.name}: needs an NDArray or a Symbol, got {type(x).__name__}"
            )
        ctx = first.context
        if current_context() is ctx:
            return self.__forward_arrays(ctx, x, args)
        with ctx:  # arrays that hybrid_forward makes belong where the input is
            return self.__forward_arrays(ctx, x, args)

    def __forward_arrays(self, ctx: Context, x: Any, args: tuple[Any, ...]) -> Any:
        try:
            try:
                params = {name: param.data(ctx) for name, param in self._reg_params.items()}
            except DeferredInitializationError:
                self.infer_shape(x, *args)
                for param in self._reg_params.values():
                    param.finish_deferred_init()
                params = {name: param.data(ctx) for name, param in self._reg_params.items()}
            if type(ctx) is Mesh:
                params = {name: self._reg_params[name].as_used(x) for name, x in params.items()}
            return run_converted(self.hybrid_forward, (ndarray, x, *args), params)
        except (ShapeError, DTypeError, ParameterError) as error:
            self.__locate(error)
            raise
        except TypeError:
            self.__check_number(1 + len(args))
            raise

    def __check_number(self, given: int) -> None:
        """Raises a TypeError if `hybrid_forward` takes another number of inputs."""
        _, *expected = signature_of(self.hybrid_forward).parameters.values()
        if any(argument.kind is argument.VAR_POSITIONAL for argument in expected):
            return
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        inputs = [
            argument
            for argument in expected
            if argument.name not in self._reg_params and argument.kind in plain
        ]
        least = sum(argument.default is argument.empty for argument in inputs)
        if not least <= given <= len(inputs):
            names = ", ".join(argument.name for argument in inputs)
            raise TypeError(
                f"{self.name} ({type(self).__name__}): takes {names}, got {given} inputs"
            )

    def optimize_for(
        self,
        x: Any,
        *args: Any,
        backend: str | None = None,
        clear: bool = False,
        partition_if_dynamic: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs: object,
    ) -> None:
        """Hybridizes the block and traces it for inputs like these, so that it is ready to run.

        Args:
            x, args: the inputs; they are run through the block once, and outputs are dropped.
            backend: must be None: XLA compiles all.
            clear, partition_if_dynamic, static_alloc, static_shape, inline_limit,
                forward_bulk_size, backward_bulk_size, kwargs: hints; see `hybridize`.

        Raises:
            ParameterError: a backend is named.
        """
        self.hybridize(True, backend, clear)
        with autograd.pause():
            self(x, *args)

    def __locate(self, error: MXNetError) -> None:
        """Puts this block's name into the message of an error, if no block inside has done so."""
        if "block" not in vars(error):
            vars(error)["block"] = self.name
            kind = type(self).__name__
            error.args = (f"{self.name} ({kind}): {error}" if self.name else f"{kind}: {error}",)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs with the functions of F; subclasses define it.

        Args:
            F: `nd` or `sym`.
            x, args: the inputs, arrays or symbols.
            kwargs: the own parameters by the names of their attributes.
        """
        raise NotImplementedError(
            f"{type(self).__name__} must define hybrid_forward(F, x, ...) or forward(x, ...)"
        )

    # -- what follows from the inputs --------------------------------------------------------

    def infer_shape(self, *args: Any) -> None:
        """Finds the shapes of all parameters inside from inputs, by running the block on symbols.

        Args:
            args: NDArrays as for a call, of which the shapes count.

        Raises:
            ShapeError: the inputs do not fit, or do not decide the shape of an own parameter.
        """
        whole, given = self.__on_symbols(args)
        shapes = {name: array.shape for name, array in given.items()}
        found = _by_name(whole, whole.infer_shape_partial(**shapes))
        own = {param.name for param in self._reg_params.values()}
        for name, param in self.collect_params().items():
            shape = found.get(name)
            if shape is not None and is_known(shape):
                param.shape = shape
            elif name in own and param.is_deferred:
                raise ShapeError(
                    f"the shape {param.shape} of {name} cannot be completed from inputs of shapes "
                    f"{list(shapes.values())}; check their number of dimensions and the block's "
                    "axis, if it has one, or give the sizes when making the block"
                )

    def infer_type(self, *args: Any) -> None:
        """Finds the dtypes of all parameters inside from inputs, and casts them.

        Args:
            args: NDArrays as for a call, of which the dtypes count.
        """
        whole, given = self.__on_symbols(args)
        dtypes = {name: array.dtype for name, array in given.items()}
        found = _by_name(whole, whole.infer_type(**dtypes))
        for name, param in self.collect_params().items():
            if found.get(name) is not None:
                param.cast(found[name])

    def __on_symbols(self, args: Sequence[Any]) -> tuple[Symbol, dict[str, NDArray]]:
        """Runs the block on variables; returns what comes out, and the array each stands for."""
        leaves, tree = flatten(tuple(args))
        given: dict[str, NDArray] = {}
        for number, leaf in enumerate(leaves):
            if isinstance(leaf, NDArray):
                given[f"data{number}"] = leaf
                leaves[number] = symbol.var(f"data{number}")
                if leaf.kind_of_results is not None:
                    leaves[number] = leaves[number].as_np_ndarray()
        with autograd.pause():
            try:
                out = self.forward(*unflatten(tree, leaves))
            except (AttributeError, TypeError, NotImplementedError) as error:
                if isinstance(error, MXNetError):
                    raise
                raise ShapeError(
                    "shapes of parameters cannot be found from the input, because the block does "
                    f"not run on symbols ({error}); give them when making the block"
                ) from error
        whole = _grouped(out)
        used = set(whole.list_inputs())
        return whole, {name: array for name, array in given.items() if name in used}

    def _as_symbol(self) -> Symbol:
        """Returns the network on variables, as many as the last call on arrays had arguments."""
        return self._cached_graph[1]

    def __variables(self) -> Any:
        """Returns variables in the place of the arguments of the last call on arrays."""
        if isinstance(self._export_arguments, int):
            leaves, tree = flatten((0,) * self._export_arguments)
        else:
            leaves, tree = self._export_arguments
        places = [i for i, leaf in enumerate(leaves) if leaf is not None]
        inputs: list[Any] = [None] * len(leaves)
        for number, place in enumerate(places):
            made = symbol.var("data" if len(places) == 1 else f"data{number}")
            inputs[place] = made.as_np_ndarray() if mode.array else made
        return unflatten(tree, inputs)

    # -- names of MXNet's with an underscore, which public packages use -------------------------

    def _clear_cached_op(self) -> None:
        """Forgets what was traced, as after a change of what `hybrid_forward` reads."""
        self.__needs_values = False
        self.__traced = self.__new_traced() if self._active or self.__recomputes else None
        self.__ready = None
        self.__checked = -1

    def _get_graph(self, *args: Any) -> tuple[list[Symbol], Symbol]:
        """Returns the variables of a call with these arguments, and what comes out, as symbols."""
        self.__note_arguments(args, self._active)
        return self._cached_graph

    @property
    def _cached_graph(self) -> tuple[list[Symbol], Symbol]:
        """The variables of the last call on arrays, and what comes out of it, as symbols."""
        given = self.__variables()
        variables = [one for one in flatten(tuple(given))[0] if one is not None]
        return variables, _grouped(self(*given))

    @property
    def _in_format(self) -> Form:
        """The nesting of calls' arguments, as MXNet writes it down; see `_nesting.flatten`."""
        return nesting(list(self.__variables()), "input")[1]

    @property
    def _out_format(self) -> Form:
        """The nesting of calls' results, likewise."""
        return nesting(self(*self.__variables()), "output")[1]

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> tuple[str, str]:
        """Saves the network as MXNet does: ``path-symbol.json`` and ``path-0000.params``.

        Its inputs are named ``data``, or ``data0``, ``data1``, ... where the last call on arrays
        had several.

        Args:
            path: the beginning of both names.
            epoch: the number in the second.
            remove_amp_cast: accepted; there are no such casts.

        Returns:
            The two names.

        Raises:
            MXNetError: a parameter has no value.
        """
        whole = self._as_symbol()
        names = (f"{path}-symbol.json", f"{path}-{epoch:04d}.params")
        aux = set(whole.list_auxiliary_states())
        used = aux | set(whole.list_arguments())
        arrays = {
            ("aux:" if name in aux else "arg:") + name: param.reduced()
            for name, param in self.collect_params().items()
            if name in used
        }
        whole.save(names[0])
        ndarray.save(names[1], arrays)
        return names


def _blocks(block: Block) -> Iterator[Block]:
    """Yields a block and all that is in it."""
    yield block
    for child in block._children.values():
        yield from _blocks(child)


@contextmanager
def _segment(name: str) -> Iterator[None]:
    """A scope in which what is recorded is computed again in training, as one segment."""
    _running.recomputing = True
    _running.segments += 1
    try:
        with symbol.AttrScope(force_mirroring="True", mirror_stage=name):
            yield
    finally:
        _running.recomputing = False


def _any_sparse(args: tuple[object, ...]) -> bool:
    """Whether an array is sparse: traces hold dense arrays only."""
    return any(isinstance(arg, BaseSparseNDArray) for arg in args)


def _first_operand(x: object, args: tuple[object, ...]) -> Any:
    """Returns the first array or symbol among arguments, which may be nested; None without one."""
    if isinstance(x, (NDArray, Symbol)):
        return x
    leaves, _ = flatten((x, *args))
    return next((leaf for leaf in leaves if isinstance(leaf, (NDArray, Symbol))), None)


def _grouped(out: Any) -> Symbol:
    leaves, _ = flatten(out)
    return leaves[0] if len(leaves) == 1 else symbol.Group(leaves)


def _by_name(whole: Symbol, inferred: tuple[Any, Any, Any]) -> dict[str, Any]:
    arguments, _, states = inferred
    if arguments is None:
        return {}
    found = dict(zip(whole.list_arguments(), arguments, strict=True))
    found.update(zip(whole.list_auxiliary_states(), states, strict=True))
    return found
