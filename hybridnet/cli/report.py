"""The output of ``hybridnet train``: the progress, the table, the picture, and where files go."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from hybridnet.base.errors import MXNetError

from .result import Result
from .train_progress import progress as progress

#: Steps over which the ways' losses are compared. Training makes a rounding ten times larger in
#: about eight steps: later losses would tell of that, not of whether the ways compute the same.
_COMPARED: Final = 20


@contextmanager
def output_folder(folder: Path) -> Iterator[Path]:
    """Gives a temporary folder whose files are moved to `folder` when the block ends well.

    It is made beside them, so that moving is renaming; after an error nothing of it is left, nor of
    the folders made for it.

    Raises:
        MXNetError: the folder cannot be made or written to; raised before anything else is done.
    """
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=".lenet-", dir=folder))
    except OSError as error:
        _remove_empty(made)
        why = "it is no folder" if isinstance(error, FileExistsError) else error.strerror
        raise MXNetError(f"--out {folder}: cannot be written to: {why}") from error
    try:
        yield temporary
        for name in sorted(os.listdir(temporary)):
            os.replace(temporary / name, folder / name)
        made = []
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        _remove_empty(made)


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def print_results(results: Sequence[Result], title: str) -> None:
    """Prints a row for each way, and how far their losses are apart.

    Where the terminal is narrower than the table each number has a line.
    """
    headings = ("accuracy", "test loss", "images/s", "first step", "steady step")
    cells = {result.title: _cells(result) for result in results}
    table = Table(title=title)
    table.add_column("way", no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for way, row in cells.items():
        table.add_row(way, *row)
    console = Console()
    needed = console.measure(table, options=console.options.update(max_width=1000)).maximum
    if not console.is_terminal:  # a file has any width
        console = Console(width=max(needed, len(title)))
    if needed <= console.width:
        console.print(table)
    else:
        print(title)
        for way, row in cells.items():
            print(way)
            for heading, cell in zip(headings, row, strict=True):
                print(f"  {heading:<12}{cell:>10}")
    if len(results) == 1:
        return
    first = np.array(results[0].losses[:_COMPARED])
    apart = max(
        float(np.max(np.abs(np.array(result.losses[:_COMPARED]) - first) / first))
        for result in results
    )
    print(f"over the first {len(first)} steps the losses differ by at most {apart:.1e} (relative)")


def _cells(result: Result) -> tuple[str, ...]:
    """Returns a row of the table."""
    return (
        f"{result.accuracy:.2%}",
        f"{result.test_loss:.4f}",
        f"{result.images_per_second:,.0f}",
        f"{result.first_step:.2f} s",
        f"{1e3 * result.steady_step:.2f} ms",
    )


def plot_losses(results: Sequence[Result], path: Path, title: str) -> None:
    """Draws the loss of every step, one curve for each way, as a PNG."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    # The curves lie on each other: from wide and pale to thin, all can be seen.
    last = len(results) - 1
    for number, result in enumerate(results):
        style = "--" if 0 < number == last else "-"
        width = 1 + 2.5 * (last - number)
        axes.plot(result.losses, style, linewidth=width, label=result.title, alpha=0.7)
    axes.set(title=title, xlabel="step", ylabel="mean loss", yscale="log")
    axes.legend()
    axes.grid(alpha=0.3)
    figure.savefig(path, format="png", dpi=120)
