"""`Block`: a part of a network, with its parameters, children and names."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from hybridnet import ndarray
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import Context
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.base.files import atomic_write
from hybridnet.base.numpy_mode import mode
from hybridnet.base.remote import PathLike
from hybridnet.initializer.base import InitLike
from hybridnet.ndarray import NDArray
from hybridnet.tracing import run_converted

from . import _changes as changes
from ._hooks import HookDict, HookHandle
from ._naming import name_scope, prefix_and_params
from ._parameter import UNIFORM, Parameter
from ._parameter_dict import ParameterDict, load_values, read_arrays
from ._summary import print_summary

if TYPE_CHECKING:
    from hybridnet.symbol import Symbol

A = TypeVar("A", bound="NDArray | Symbol")


def any_signature(method: Callable[..., Any]) -> Callable[..., Any]:
    """Hides a method's parameters from type checkers, so that subclasses may take any."""
    return method


class Block:
    """A part of a network: parameters, children, and `forward`.

    Blocks and parameters that are assigned to attributes become children and own parameters::

        class Net(gluon.Block):
            def __init__(self, **kwargs):
                super().__init__(**kwargs)
                with self.name_scope():
                    self.hidden = gluon.nn.Dense(20)
                    self.scale = self.params.get("scale", shape=(1,), init="ones")

            def forward(self, x):
                return self.hidden(x) * self.scale.data(x.context)

    Args:
        prefix: of the names of its parameters and children; default its kind and a number, as in
            ``dense0_``.
        params: a dict of parameters to share.
    """

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        # What programs written for MXNet look at has MXNet's names. Other names that a user's block
        # may have, too, are private to the class.
        self._children: dict[str, Block] = {}
        self._reg_params: dict[str, Parameter] = {}
        self._forward_hooks = HookDict()
        self._forward_pre_hooks = HookDict()
        # Numbers of the kinds of blocks that were made in this one's scope.
        self._scope_counters: dict[str, int] = {}
        self._empty_prefix = prefix == ""
        self._prefix, self._params = prefix_and_params(prefix, params, self._alias())

    def _alias(self) -> str:
        """Returns the beginning of automatic prefixes of this kind of block."""
        return type(self).__name__.lower()

    # -- names and parts ---------------------------------------------------------------------

    @property
    def prefix(self) -> str:
        """The prefix of the names of its parameters."""
        return self._prefix

    @property
    def name(self) -> str:
        """Its name: the prefix without the last underscore."""
        return self._prefix.removesuffix("_")

    @property
    def params(self) -> ParameterDict:
        """Its own parameters, without its children's."""
        return self._params

    def name_scope(self) -> AbstractContextManager[Self]:
        """Returns a scope in which blocks that are made get this block's prefix."""
        return name_scope(self, self._empty_prefix)

    _scope = property(name_scope, doc="The same scope, under a name of MXNet's that packages use.")

    def __setattr__(self, name: str, value: object) -> None:
        """Registers a Block as a child and a Parameter as an own one."""
        if isinstance(value, (Block, Parameter)) or name in self.__dict__:
            self.__register(name, self.__dict__.get(name), value)
        super().__setattr__(name, value)

    def __register(self, name: str, before: object, value: object) -> None:
        for kind in (Block, Parameter):
            if isinstance(before, kind) and not isinstance(value, kind):
                raise TypeError(
                    f"{type(self).__name__}.{name}: is a {type(before).__name__} and must stay a "
                    f"{kind.__name__}, got a {type(value).__name__}; use another attribute"
                )
        if isinstance(value, (Block, Parameter)) and "_children" not in self.__dict__:
            raise ParameterError(
                f"{type(self).__name__}.{name}: call super().__init__() before blocks and "
                "parameters are assigned"
            )
        if isinstance(value, Block):
            self.register_child(value, name)
        elif isinstance(value, Parameter):
            if self._reg_params.get(name, value) is not value:
                raise ParameterError(
                    f"{type(self).__name__}.{name}: a Parameter is not replaced by another; use "
                    "set_data to give it another value, or another attribute"
                )
            self._reg_params[name] = value
            changes.note()

    def register_child(self, block: Block | Callable[..., Any], name: str | None = None) -> None:
        """Makes a block part of this one.

        Args:
            block: the block; or a function, which becomes a block without parameters.
            name: of its place here; default its number.

        Raises:
            ParameterError: it is neither.
        """
        if not isinstance(block, Block):
            if isinstance(block, type) or not callable(block):
                raise ParameterError(
                    f"{type(self).__name__}: children must be Blocks or functions, got "
                    f"{block.__name__ if isinstance(block, type) else type(block).__name__}; "
                    "make one of it first, as in Dense(10)"
                )
            block = _FunctionBlock(block)
        self._children[str(len(self._children)) if name is None else name] = block
        changes.note()

    def collect_params(self, select: str | None = None) -> ParameterDict:
        """Returns the parameters of this block and everything in it, by name.

        Args:
            select: a regular expression that names must match from their beginning.

        Raises:
            ParameterError: two parameters have one name.
        """
        self.__warn_of_lost_blocks()
        found = ParameterDict(self._params.prefix)
        own = {param.name: param for param in self._reg_params.values()}
        matches = None if select is None else re.compile(select).match
        for params in (self._params, own):
            found.update({n: param for n, param in params.items() if matches is None or matches(n)})
        for child in self._children.values():
            found.update(child.collect_params(select=select))
        return found

    def __warn_of_lost_blocks(self) -> None:
        """Warns of blocks in lists and dicts, whose parameters nobody finds."""
        known = {id(child) for child in self._children.values()}
        for name, value in vars(self).items():
            is_container = not name.startswith("_") and isinstance(value, (list, tuple, dict))
            if is_container and any(id(block) not in known for block in _blocks_in(value)):
                warnings.warn(
                    f"{type(self).__name__}.{name}: blocks in a {type(value).__name__} are not "
                    "part of the block, and their parameters are not found; put them into a "
                    "Sequential, or call register_child",
                    stacklevel=3,
                )

    def structural_params(self, prefix: str = "") -> dict[str, Parameter]:
        """Returns the parameters by their places, as in ``body.0.weight``; one may have several.

        Args:
            prefix: the place of this block.
        """
        return self._collect_params_with_prefix(prefix)

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Parameter]:
        """The same, under MXNet's name, by which packages define the places of their blocks."""
        dot = prefix + "." if prefix else ""
        found = {dot + name: param for name, param in self._reg_params.items()}
        for name, child in self._children.items():
            found.update(child._collect_params_with_prefix(dot + name))
        return found

    def apply(self, fn: Callable[[Block], object]) -> Self:
        """Calls a function on every block inside, children first, and on this one."""
        for child in self._children.values():
            child.apply(fn)
        fn(self)
        return self

    # -- parameters --------------------------------------------------------------------------

    def initialize(
        self,
        init: InitLike | None = UNIFORM,
        ctx: Context | Sequence[Context] | None = None,
        verbose: bool = False,
        force_reinit: bool = False,
    ) -> None:
        """Initializes the parameters of this block and everything in it.

        Args:
            init, ctx, verbose, force_reinit: see `ParameterDict.initialize`.
        """
        self.collect_params().initialize(init, ctx, verbose, force_reinit)

    def cast(self, dtype: DTypeLike) -> None:
        """Changes the element type of the parameters of this block and everything in it."""
        for child in self._children.values():
            child.cast(dtype)
        for param in dict.fromkeys((*self._params.values(), *self._reg_params.values())):
            param.cast(dtype)

    def save_parameters(self, filename: PathLike, deduplicate: bool = False) -> None:
        """Saves the values of all parameters by their places in the network, in MXNet's format.

        Args:
            filename: the file; it appears whole or not at all.
            deduplicate: save a parameter that has several places once, under the last.
        """
        params = self.structural_params()
        if deduplicate:
            last = {param: name for name, param in params.items()}
            params = {name: param for param, name in last.items()}
        ndarray.save(filename, {name: param.reduced() for name, param in params.items()})

    def load_parameters(
        self,
        filename: PathLike,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Loads what `save_parameters`, `ParameterDict.save` or `export` has written, or MXNet's.

        Args:
            filename: the file.
            ctx: where parameters that are not initialized go; default the current context.
            allow_missing: whether the file may lack some.
            ignore_extra: whether the file may hold others.
            cast_dtype: convert where the dtypes differ, instead of raising.
            dtype_source: with `cast_dtype`, 'current' keeps the parameters' dtypes, 'saved' takes
                the file's.

        Raises:
            FormatError: the file is damaged.
            ParameterError, ShapeError: it does not fit this block; then no parameter is changed.
            OSError: it cannot be read.
        """
        loaded = read_arrays(filename)
        params = self.structural_params()
        if not any("." in name for name in loaded):
            # These may be the places in a flat block, or names with this block's prefix or without.
            names = dict(self.collect_params().items())
            prefixed = {self.prefix + name: array for name, array in loaded.items()}
            readings = ((params, loaded), (names, loaded), (names, prefixed))
            params, loaded = max(
                readings, key=lambda reading: len(reading[0].keys() & reading[1].keys())
            )
        load_values(
            params, loaded, filename, ctx, allow_missing, ignore_extra, cast_dtype, dtype_source
        )

    def save_params(self, filename: PathLike) -> None:
        """Saves parameters by name, as MXNet did before it had `save_parameters`.

        Args:
            filename: the file.
        """
        warnings.warn("save_params is old: use save_parameters, or export", stacklevel=2)
        self.collect_params().save(filename, strip_prefix=self.prefix)

    def load_params(
        self,
        filename: PathLike,
        ctx: Context | Sequence[Context] | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> None:
        """The old name of `load_parameters`."""
        warnings.warn("load_params is old: use load_parameters", stacklevel=2)
        self.load_parameters(filename, ctx, allow_missing, ignore_extra)

    def save(self, prefix: PathLike) -> None:
        """Saves the block's structure and parameters, to be loaded into a block built as it is.

        It writes ``prefix-model.json``, the kinds of blocks and where they stand, and
        ``prefix-model.params``.

        Args:
            prefix: the beginning of both names.
        """
        with atomic_write(f"{prefix}-model.json") as file:
            file.write(json.dumps(self.__structure(), indent=1).encode())
        self.save_parameters(f"{prefix}-model.params")

    def load(self, prefix: PathLike) -> None:
        """Loads what `save` has written, whatever the names of the blocks inside are.

        Args:
            prefix: the beginning of both names.

        Raises:
            FormatError: a file is damaged.
            ParameterError: the blocks are others than those that were saved.
            OSError: a file cannot be read.
        """
        path = f"{prefix}-model.json"
        try:
            saved = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError as error:
            raise FormatError(f"{path}: must be JSON, got {error}") from error
        places = _same_places(path, saved, self.__structure())
        loaded = read_arrays(f"{prefix}-model.params")
        arrays = {places.get(name, name): array for name, array in loaded.items()}
        load_values(self.structural_params(), arrays, f"{prefix}-model.params")

    def __structure(self) -> dict[str, Any]:
        """Returns which kinds of blocks stand where, with the places of all parameters below."""
        children = [child.__structure() for child in self._children.values()]
        return {
            "kind": type(self).__name__,
            "params": list(self.structural_params()),
            "children": children,
        }

    # -- running -----------------------------------------------------------------------------

    def register_op_hook(self, callback: Callable[..., object], monitor_all: bool = False) -> None:
        """Registers a function called for what operators make, in every hybridized block inside.

        Args:
            callback, monitor_all: see `HybridBlock.register_op_hook`.
        """
        for child in self._children.values():
            child.register_op_hook(callback, monitor_all)

    def register_forward_hook(self, hook: Callable[..., object]) -> HookHandle:
        """Registers ``hook(block, inputs, outputs)``, which is called after each forward.

        Inside a hybridized block that is while it is traced, with arrays that have no values.
        """
        handle = HookHandle()
        handle.attach(self._forward_hooks, hook)
        return handle

    def register_forward_pre_hook(self, hook: Callable[..., object]) -> HookHandle:
        """Registers ``hook(block, inputs)``, which is called before each forward."""
        handle = HookHandle()
        handle.attach(self._forward_pre_hooks, hook)
        return handle

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Makes the hybrid blocks inside run as traced functions; see `HybridBlock.hybridize`."""
        for child in self._children.values():
            child.hybridize(active, **kwargs)

    # What checkers are told of most blocks: arrays give an array of their kind, symbols a symbol.
    # Where a block gives several, they unpack and index what is returned as they do an array.
    @overload
    def __call__(self, *args: A) -> A: ...

    @overload
    def __call__(self, *args: Any) -> Any: ...

    def __call__(self, *args: Any) -> Any:
        """Runs `forward`, and the hooks around it."""
        if self._forward_pre_hooks:
            for hook in (*self._forward_pre_hooks.values(),):
                hook(self, args)
        out = self._call_block(args)
        if self._forward_hooks:
            for hook in (*self._forward_hooks.values(),):
                hook(self, args, out)
        if mode.array:
            _check_kinds(self, out)
        return out

    def _call_block(self, args: tuple[Any, ...]) -> Any:
        return run_converted(self.forward, args)

    @any_signature
    def forward(self, *args: Any) -> Any:
        """Computes the outputs; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} must define forward()")

    def summary(self, *inputs: NDArray) -> None:
        """Prints each block's output shape and number of parameters for given inputs.

        Args:
            inputs: what the block, whose parameters are initialized, is run on.
        """
        print_summary(self, inputs)

    def __repr__(self) -> str:
        lines = "\n".join(
            f"  ({name}): " + repr(child).replace("\n", "\n  ")
            for name, child in self._children.items()
        )
        return f"{type(self).__name__}(\n{lines}\n)"


def _same_places(path: str, saved: Any, own: Any) -> dict[str, str]:
    """Returns where the parameters of a saved structure stand in one that is built alike."""
    if not isinstance(saved, dict) or _kinds(saved) != _kinds(own):
        raise ParameterError(
            f"{path}: must describe blocks of the same kinds as here, {_kinds(own)}, got "
            f"{_kinds(saved) if isinstance(saved, dict) else saved}"
        )
    if len(saved.get("params", ())) != len(own["params"]):
        raise ParameterError(
            f"{path}: must have {len(own['params'])} parameters, got {len(saved.get('params', ()))}"
        )
    return dict(zip(saved["params"], own["params"], strict=True))


def _kinds(structure: dict[str, Any]) -> list[Any]:
    return [structure.get("kind"), *map(_kinds, structure.get("children", ()))]


def _blocks_in(value: object) -> Iterator[Block]:
    """Yields the blocks in lists and dicts, which may hold further ones."""
    if isinstance(value, Block):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _blocks_in(part)
    elif isinstance(value, dict):
        yield from _blocks_in(list(value.values()))


def _check_kinds(block: Block, out: object) -> None:
    """Raises TypeError where NumPy mode is on and a block gives an array of `nd`."""
    if isinstance(out, (list, tuple)):
        for part in out:
            _check_kinds(block, part)
    elif type(out) is NDArray:
        raise TypeError(
            f"{block.name}: in NumPy mode (npx.set_np(), @use_np) a block's outputs must be np "
            "arrays, got an NDArray; return x.as_np_ndarray()"
        )


class _FunctionBlock(Block):
    """A function where a block is asked for: ``transforms.Compose([ToTensor(), normalize])``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(prefix="")
        self.__function = function

    def forward(self, *args: Any) -> Any:
        """Calls the function."""
        return self.__function(*args)

    def __repr__(self) -> str:
        return repr(self.__function)
