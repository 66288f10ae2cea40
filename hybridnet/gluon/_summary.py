"""`Block.summary`: what each block of a network puts out, and how many numbers it learns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hybridnet import autograd
from hybridnet.base.errors import RefusedError
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

# Characters of the columns; that of names is wider where one is longer.
_NAME, _SHAPE, _SIZE = 40, 27, 12


def print_summary(block: Any, inputs: Sequence[NDArray]) -> None:
    """Runs a network once and prints a line for each block, in the order in which they run.

    A parameter that several blocks share counts at the first of them.

    Args:
        block: the network; its parameters are initialized.
        inputs: what it is run on.

    Raises:
        RefusedError: a block is hybridized.
    """
    rows: list[tuple[str, str, int]] = []
    counted: set[Any] = set()

    def note(block: Any, _: Any, out: Any) -> None:
        if isinstance(out, Symbol):
            return  # shapes of parameters are being found
        own = [p for p in dict.fromkeys(block._reg_params.values()) if p not in counted]
        counted.update(own)
        size = sum(p.data().size for p in own)
        rows.append((f"{block.name} ({type(block).__name__})", _shapes(out), size))

    with _hooked(block, note), autograd.pause():
        block(*inputs)
    wide = max((_NAME, *(len(name) + 2 for name, _, _ in rows)))
    rule = "=" * (wide + _SHAPE + _SIZE)
    print(f"{'block':<{wide}}{'output shape':<{_SHAPE}}{'parameters':>{_SIZE}}")
    print(rule)
    for name, shapes, size in rows:
        print(f"{name:<{wide}}{shapes:<{_SHAPE}}{size:>{_SIZE},}")
    print(rule)
    params = list(dict.fromkeys(block.collect_params().values()))
    total = sum(p.data().size for p in params)
    learned = sum(p.data().size for p in params if p.grad_req != "null")
    print(f"{'parameters in all':<{wide + _SHAPE}}{total:>{_SIZE},}")
    print(f"{'of these learned':<{wide + _SHAPE}}{learned:>{_SIZE},}")


@contextmanager
def _hooked(block: Any, hook: Callable[..., None]) -> Iterator[None]:
    """Registers a hook with every block inside for a while; each runs on real arrays."""
    blocks: list[Any] = []
    block.apply(blocks.append)
    hybridized = [inner.name for inner in blocks if getattr(inner, "_active", False)]
    if hybridized:
        raise RefusedError(
            f"summary: needs blocks that run operator by operator, got the hybridized "
            f"{', '.join(hybridized)}; call hybridize(False) first"
        )
    handles = [inner.register_forward_hook(hook) for inner in dict.fromkeys(blocks)]
    try:
        yield
    finally:
        for handle in handles:
            handle.detach()


def _shapes(out: object) -> str:
    if isinstance(out, NDArray):
        return str(out.shape)
    if isinstance(out, (list, tuple)):
        return ", ".join(_shapes(item) for item in out)
    return type(out).__name__
