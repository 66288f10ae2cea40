"""`Block.summary`: what each block of a network puts out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet import autograd
from hybridnet.ndarray import NDArray

__all__ = ["print_summary"]


def print_summary(block: Any, inputs: Sequence[NDArray]) -> None:
    """Runs a network once and prints a line for each block that has no children.

    Args:
        block: the network; its parameters are initialised.
        inputs: what it is run on.
    """
    rows: list[tuple[str, Any, int]] = []

    def hook(one: Any, _: Any, out: Any) -> None:
        shape = out.shape if isinstance(out, NDArray) else [x.shape for x in out]
        size = sum(p.data().size for p in one._own.values())
        rows.append((f"{one.name} ({type(one).__name__})", shape, size))

    leaves: list[Any] = []
    block.apply(lambda one: None if one._children else leaves.append(one))
    for one in leaves:
        one.register_forward_hook(hook)
    try:
        with autograd.pause():
            block.forward(*inputs)
    finally:
        for one in leaves:
            one._forward_hooks.remove(hook)
    print(f"{'layer':<40}{'output shape':<24}{'parameters':>12}")
    for name, shape, size in rows:
        print(f"{name:<40}{shape!s:<24}{size:>12,}")
    total = sum(p.data().size for p in block.collect_params().values())
    print(f"{'total':<64}{total:>12,}")
