"""A step that blew up is saved, and run again on another machine."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from hybridnet.base.dtype import is_float
from hybridnet.base.errors import FormatError, MXNetError
from hybridnet.exported import load
from hybridnet.exported.steps import save_launch
from hybridnet.runtime.asking import last_launch

__all__ = ["ReplayedStep", "replay", "save_step"]

_KINDS: Final = ("NaN", "infinity")


def save_step(path: str | os.PathLike[str], *, platforms: Sequence[str] = ("cpu", "cuda")) -> None:
    """Writes the step that went wrong to a file, from which it can be run again anywhere.

        try:
            with hn.debug.nans():
                train()
        except hn.error.NonFiniteError:
            hn.debug.save_step("step.hn")

    ``hybridnet replay step.hn`` then shows what each operator made, with your lines. It is the
    launch that the last error of `nans` or `indices` was about; where there was none, the last one
    inside of the scope `nans`, which keeps what it was given. The file holds these arrays (your
    weights and your data), and a program that only computes: see `hybridnet.export`.

    Args:
        path: of the file; it appears whole or not at all.
        platforms: on which it can be run again: 'cpu', 'cuda', 'rocm', 'tpu'.

    Raises:
        MXNetError: no launch was kept.
    """
    launch = last_launch()
    if launch is None:
        raise MXNetError(
            "save_step: no step was kept; call it inside `with hn.debug.nans():`, or where an "
            "error of that is handled"
        )
    save_launch(path, *launch, platforms)


@final
@dataclass(frozen=True)
class ReplayedStep:
    """A call of an operator in the replay of a saved step, with its inputs and outputs.

    Attributes:
        operator: its name.
        line: the user's line, such as ``net.py:12``; empty where it is not known.
        node: its name in a network; empty elsewhere.
        inputs, outputs: NumPy arrays.
    """

    operator: str
    line: str
    node: str
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]

    @property
    def is_first(self) -> bool:
        """Whether it made NaN or infinity of finite inputs."""
        return _is_bad(self.outputs) and not _is_bad(self.inputs)

    def __str__(self) -> str:
        """One line: the operator, where it was called, and the ranges of what it made."""
        made = "; ".join(map(_range, self.outputs))
        mark = ">>" if self.is_first else "  "
        return f"{mark} {self.operator:<28} {self.line or '-':<24} {made}"


def replay(path: str | os.PathLike[str]) -> list[ReplayedStep]:
    """Runs a saved step again, and returns what each operator made, in order.

    Raises:
        FormatError: the file is none that `save_step` wrote, or is damaged.
        OSError: it cannot be read.
    """
    saved = load(path)
    if saved.manifest.inputs:
        raise FormatError(f"replay: {os.fspath(path)!r} is a function, and no step of save_step's")
    result = saved()
    try:
        inputs = [array.asnumpy() for array in result["inputs"]]
        return list(_steps(inputs, result["steps"]))
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise FormatError(f"replay: {os.fspath(path)!r} is no step of save_step's") from error


def _steps(inputs: Sequence[Any], steps: Sequence[Any]) -> Iterator[ReplayedStep]:
    results: list[Any] = []
    for step in steps:
        made = [array.asnumpy() for array in step["results"]]
        operands = tuple(results[i] if i >= 0 else inputs[~i] for i in step["operands"])
        results += made
        name, line, node = step["operator"], step["line"] or "", step["node"]
        yield ReplayedStep(name, line, node, operands, tuple(made))


def _is_bad(arrays: Sequence[Any]) -> bool:
    return any(is_float(array.dtype) and not np.isfinite(array).all() for array in arrays)


def _range(array: Any) -> str:
    """Returns an array's type, from where to where its elements go, and how many are not finite."""
    text = f"{array.dtype.name}{list(array.shape)}"
    if not array.size or array.dtype == np.bool_:
        return text
    finite = array[np.isfinite(array)] if is_float(array.dtype) else array
    if finite.size:
        text += f" {float(finite.min()):.4g} to {float(finite.max()):.4g}"
    if is_float(array.dtype):
        counts = int(np.isnan(array).sum()), int(np.isinf(array).sum())
        text += "".join(
            f", {count:,} {kind}" for count, kind in zip(counts, _KINDS, strict=True) if count
        )
    return text
