"""`Block` and `HybridBlock`: networks made of layers, with their parameters and names."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Self

from hybridnet import autograd, initializer, ndarray, symbol
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol
from hybridnet.tracing import Function

from .parameter import DeferredInitializationError, Parameter, ParameterDict, load_values
from .summary import print_summary

__all__ = ["Block", "HybridBlock"]

_UNIFORM: Final = initializer.Uniform(0.07)


class _Naming(threading.local):
    """The block whose `name_scope` this thread is in, and counters for names outside any."""

    def __init__(self) -> None:
        self.block: Block | None = None
        self.counters: dict[str, int] = {}


_naming: Final = _Naming()


def _number(hint: str, counters: dict[str, int]) -> str:
    count = counters.get(hint, 0)
    counters[hint] = count + 1
    return f"{hint}{count}_"


class Block:
    """A part of a network: parameters, children, and `forward`.

    Args:
        prefix: of the names of its parameters and children; default the class's name and a number.
        params: a dict of parameters to share.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        self._children: OrderedDict[str, Block] = OrderedDict()
        self._own: dict[str, Parameter] = {}
        self._forward_hooks: list[Callable[..., Any]] = []
        self._pre_hooks: list[Callable[..., Any]] = []
        self._counters: dict[str, int] = {}
        outer = _naming.block
        hint = type(self).__name__.lower()
        counters = _naming.counters if outer is None else outer._counters
        local = _number(hint, counters) if prefix is None else prefix
        self._prefix = local if outer is None else outer.prefix + local
        if params is not None:
            self._params = ParameterDict(params.prefix, params)
        elif outer is None:
            self._params = ParameterDict(self._prefix)
        else:
            self._params = ParameterDict(self._prefix, outer._params._shared)
        self._name = self._prefix.removesuffix("_")

    # -- names and parts ---------------------------------------------------------------------

    @property
    def prefix(self) -> str:
        """What the names of its parameters begin with."""
        return self._prefix

    @property
    def name(self) -> str:
        """Its name: the prefix without the last underscore."""
        return self._name

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without its children's."""
        return self._params

    @contextmanager
    def name_scope(self) -> Iterator[Self]:
        """A scope in which blocks that are made get this block's prefix."""
        outer = _naming.block
        # An empty prefix opens no scope: names go on as they would outside.
        _naming.block = self if self._prefix else outer
        try:
            yield self
        finally:
            _naming.block = outer

    def __setattr__(self, name: str, value: Any) -> None:
        """Registers a Block as a child and a Parameter as an own one."""
        if isinstance(value, Block):
            before = self.__dict__.get(name)
            if before is not None and not isinstance(before, Block):
                raise TypeError(f"{name} is a {type(before).__name__} and cannot become a Block")
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            self._own[name] = value
        super().__setattr__(name, value)

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Makes a block part of this one, under a name (default its number)."""
        self._children[str(len(self._children)) if name is None else name] = block

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Returns the parameters of this block and everything in it.

        Args:
            select: a regular expression that names must match from their beginning.
        """
        found = ParameterDict(self._params.prefix)
        own = {one.name: one for one in self._own.values()}
        for params in (self._params, own):
            if select is None:
                found.update(params)
            else:
                pattern = re.compile(select)
                found.update({name: p for name, p in params.items() if pattern.match(name)})
        for child in self._children.values():
            found.update(child.collect_params(select))
        return found

    def structural_params(self, prefix: str = "") -> dict[str, Parameter]:
        """Returns the parameters by where they are: 'body.0.weight'."""
        dot = prefix + "." if prefix else ""
        found = {dot + name: one for name, one in self._own.items()}
        for name, child in self._children.items():
            found.update(child.structural_params(dot + name))
        return found

    def apply(self, fn: Callable[[Block], Any]) -> Self:
        """Calls a function on every child and on this block."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    # -- parameters --------------------------------------------------------------------------

    def initialize(
        self,
        init: Any = _UNIFORM,
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initialises the parameters of this block and everything in it."""
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: Any) -> None:
        """Changes the element type of all parameters."""
        for child in self._children.values():
            child.cast(dtype)
        for one in self._params.values():
            one.cast(dtype)

    def save_parameters(self, filename: Any, deduplicate: bool = False) -> None:
        """Saves the values of all parameters by their place in the network, in MXNet's format.

        Args:
            filename: the file; it appears whole or not at all.
            deduplicate: save a shared parameter once.
        """
        params = self.structural_params()
        if deduplicate:
            seen: set[int] = set()
            params = {
                name: one
                for name, one in params.items()
                if id(one) not in seen and not seen.add(id(one))  # type: ignore[func-returns-value]
            }
        ndarray.save(filename, {name: one.list_data()[0] for name, one in params.items()})

    def load_parameters(
        self,
        filename: Any,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Loads what `save_parameters`, or `ParameterDict.save`, has written.

        Args:
            filename: the file.
            ctx: where parameters without a value go; default the current context.
            allow_missing: whether the file may lack some.
            ignore_extra: whether the file may hold others.
            cast_dtype, dtype_source: see `load_values`.

        Raises:
            FormatError: the file is damaged.
            ParameterError, ShapeError: it does not fit this block.
        """
        loaded = ndarray.load(filename)
        if not isinstance(loaded, dict):
            raise ParameterError(f"{filename}: holds arrays without names, so no parameters")
        params = self.structural_params()
        if (
            loaded
            and not any("." in name for name in loaded)
            and any("." in name for name in params)
        ):
            params = dict(self.collect_params().items())
            loaded = {k.removeprefix("arg:").removeprefix("aux:"): v for k, v in loaded.items()}
        load_values(
            params,
            loaded,
            str(filename),
            ctx,
            allow_missing,
            ignore_extra,
            cast_dtype,
            dtype_source,
        )

    # -- running -----------------------------------------------------------------------------

    def register_forward_hook(self, hook: Callable[..., Any]) -> None:
        """Has ``hook(block, inputs, outputs)`` called after each forward."""
        self._forward_hooks.append(hook)

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> None:
        """Has ``hook(block, inputs)`` called before each forward."""
        self._pre_hooks.append(hook)

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Has the hybrid blocks inside run as traced functions."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    def __call__(self, *args: Any) -> Any:
        """Runs `forward`, and the hooks around it."""
        for hook in self._pre_hooks:
            hook(self, args)
        out = self.forward(*args)
        for hook in self._forward_hooks:
            hook(self, args, out)
        return out

    def forward(self, *args: Any) -> Any:
        """Computes the outputs; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} must define forward()")

    def summary(self, *inputs: NDArray) -> None:
        """Prints each block's output shape and number of parameters for given inputs."""

        print_summary(self, inputs)

    def __repr__(self) -> str:
        lines = "".join(
            f"\n  ({name}): " + repr(child).replace("\n", "\n  ")
            for name, child in self._children.items()
        )
        return f"{type(self).__name__}({lines}\n)"


class HybridBlock(Block):
    """A block that can also run as a traced function, after `hybridize`.

    Define either ``hybrid_forward(self, F, x, **params)``, where F is `nd` or `sym` and own
    parameters arrive by name, or a plain ``forward(self, x)``.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix, params)
        self._active = False
        self._traced: Function | None = None

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Makes a hybrid block part of this one."""
        if not isinstance(block, HybridBlock):
            raise ParameterError(
                f"{type(self).__name__}: the children of a HybridBlock must be HybridBlocks, got "
                f"{type(block).__name__}; make this one a Block, or that one hybrid"
            )
        super().register_child(block, name)

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
        **kwargs: Any,
    ) -> None:
        """Has this block run as one traced function (`hn.function`) from its next call on.

        Args:
            active: False goes back to running it operator by operator.
            backend, clear, static_alloc, static_shape, inline_limit, forward_bulk_size,
                backward_bulk_size: MXNet's hints; XLA plans memory and fuses by itself.
            kwargs: further hints of MXNet's.
        """
        if backend is not None:
            raise ParameterError(f"hybridize: there is no backend {backend!r}; XLA compiles all")
        self._active = active
        self._traced = Function(self._run, self.name) if active else None
        # The outermost block is traced with everything in it.
        for child in self._children.values():
            child.hybridize(False)

    def cast(self, dtype: Any) -> None:
        """Changes the element type of all parameters; forgets what was traced."""
        super().cast(dtype)
        if self._active:
            self.hybridize()

    def __call__(self, *args: Any) -> Any:
        """Runs the block on arrays (traced if hybridized), or builds its symbol."""
        if self._traced is None or not args or isinstance(args[0], Symbol):
            return super().__call__(*args)
        if any(one._deferred is not None for one in self.collect_params().values()):
            # One plain run finds the shapes and makes the values.
            return super().__call__(*args)
        for hook in self._pre_hooks:
            hook(self, args)
        out = self._traced(*args)
        for hook in self._forward_hooks:
            hook(self, args, out)
        return out

    def _run(self, *args: Any) -> Any:
        return self.forward(*args)

    def forward(self, x: Any, *args: Any) -> Any:
        """Calls `hybrid_forward` with `nd` or `sym` and the own parameters."""
        if isinstance(x, Symbol):
            params = {name: one.var() for name, one in self._own.items()}
            with self.name_scope():
                return self.hybrid_forward(symbol, x, *args, **params)
        if not isinstance(x, NDArray):
            raise ParameterError(
                f"{self.name}: needs an NDArray or a Symbol, got {type(x).__name__}"
            )
        ctx = x.context
        try:
            params = {name: one.data(ctx) for name, one in self._own.items()}
        except DeferredInitializationError:
            self._finish_deferred(x, *args)
            params = {name: one.data(ctx) for name, one in self._own.items()}
        return self.hybrid_forward(ndarray, x, *args, **params)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the outputs with the functions of F; subclasses define it."""
        raise NotImplementedError(
            f"{type(self).__name__} must define hybrid_forward(F, x, ...) or forward(x, ...)"
        )

    def _finish_deferred(self, *args: Any) -> None:
        self.infer_shape(*args)
        for one in self._own.values():
            one.finish_deferred_init()

    def infer_shape(self, *args: Any) -> None:
        """Finds the shapes of the own parameters from inputs, by running the block on symbols.

        Raises:
            ShapeError: the inputs do not fit, or do not decide some shape.
        """
        names = [f"data{i}" for i in range(len(args))]
        inputs = [symbol.var(name) for name in names]
        params = {name: one.var() for name, one in self._own.items()}
        with autograd.pause():
            out = self.hybrid_forward(symbol, *inputs, **params)
        whole = symbol.Group(list(out)) if isinstance(out, (list, tuple)) else out
        given = {name: one.shape for name, one in zip(names, args, strict=True)}
        known = set(whole.list_arguments())
        shapes, _, aux = whole.infer_shape_partial(**{k: v for k, v in given.items() if k in known})
        found = dict(zip(whole.list_arguments(), shapes, strict=True))
        found.update(zip(whole.list_auxiliary_states(), aux, strict=True))
        for one in self._own.values():
            shape = found.get(one.name)
            if shape is None or 0 in shape:
                raise ShapeError(
                    f"{self.name}: the shape of {one.name} does not follow from inputs of shapes "
                    f"{list(given.values())}; give it when making the block"
                )
            one.shape = shape

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> tuple[str, str]:
        """Saves the network as MXNet does: ``path-symbol.json`` and ``path-0000.params``.

        Args:
            path: the beginning of both names.
            epoch: the number in the second.
            remove_amp_cast: accepted; there are no such casts.

        Returns:
            The two names.
        """
        out = self(symbol.var("data"))
        whole = symbol.Group(list(out)) if isinstance(out, (list, tuple)) else out
        names = (f"{path}-symbol.json", f"{path}-{epoch:04d}.params")
        aux = set(whole.list_auxiliary_states())
        used = aux | set(whole.list_arguments())
        arrays = {
            ("aux:" if name in aux else "arg:") + name: one.list_data()[0]
            for name, one in self.collect_params().items()
            if name in used
        }
        whole.save(names[0])
        ndarray.save(names[1], arrays)
        return names
