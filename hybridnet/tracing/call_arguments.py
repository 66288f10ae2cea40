"""From what a traced function is called with to `Arguments`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, final

from hybridnet.base.context import Context
from hybridnet.ndarray import NDArray

from .signature import (
    InputSignature,
    StaticNames,
    TensorSpec,
    stand_in,
)
from .structure import Arguments, flatten, unflatten


class CallArguments(NamedTuple):
    """The arguments of one call.

    Attributes:
        arguments: flattened.
        args, kwargs: as the function gets them.
        moved: arrays that are on another device, and their copies on the function's own.
    """

    arguments: Arguments
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    moved: Sequence[tuple[NDArray, NDArray]] = ()


@final
class ArgumentReader:
    """Reads the arguments of one function.

    Args:
        input_signature, static_argnames: see `hn.function`.
        ctx: the device on which it runs; None for that of its arguments.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., object],
        input_signature: object = None,
        static_argnames: str | Sequence[str] = (),
        ctx: Context | None = None,
    ) -> None:
        self._signature = (
            None if input_signature is None else InputSignature(name, function, input_signature)
        )
        self._static = StaticNames(name, function, static_argnames) if static_argnames else None
        self._ctx = ctx
        self._is_plain = self._signature is None and self._static is None and ctx is None

    @property
    def specs(self) -> list[object]:
        """The input signature of the positional arguments; empty without one."""
        return [] if self._signature is None else self._signature.specs

    def __call__(self, args: tuple[object, ...], kwargs: dict[str, object]) -> CallArguments:
        """Reads the arguments of a call."""
        if self._is_plain:
            return CallArguments(Arguments(args, kwargs), args, kwargs)
        if self._signature is not None:
            args, kwargs = self._signature(args, kwargs), {}
        moved: list[tuple[NDArray, NDArray]] = []
        if self._ctx is not None:
            args, kwargs = self._on_device((args, kwargs), moved)
        if self._static is None:
            return CallArguments(Arguments(args, kwargs), args, kwargs, moved)
        return CallArguments(Arguments(*self._static(args, kwargs)), args, kwargs, moved)

    def of_specs(self, args: tuple[object, ...], kwargs: dict[str, object]) -> CallArguments:
        """Reads arguments for tracing only: specs stand for arrays, and a signature for all."""
        if self._signature is not None and not args and not kwargs:
            args = self._signature.stand_ins()
        leaves, tree = flatten((args, kwargs))
        if any(isinstance(leaf, TensorSpec) for leaf in leaves):
            made = [stand_in(x, self._ctx) if isinstance(x, TensorSpec) else x for x in leaves]
            args, kwargs = unflatten(tree, made)
        return self(args, kwargs)

    def _on_device(self, given: object, moved: list[tuple[NDArray, NDArray]]) -> Any:
        """Returns arguments with all arrays on the function's device."""
        assert self._ctx is not None
        leaves, tree = flatten(given)
        copies: dict[int, NDArray] = {}
        for number, leaf in enumerate(leaves):
            if isinstance(leaf, NDArray) and leaf.context is not self._ctx:
                if id(leaf) not in copies:
                    copies[id(leaf)] = leaf.as_in_context(self._ctx)
                    moved.append((leaf, copies[id(leaf)]))
                leaves[number] = copies[id(leaf)]
        return unflatten(tree, leaves)
