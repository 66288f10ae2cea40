"""The output of ``hybridnet train``: the progress bar, table, picture, and where files go."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hybridnet.base.errors import MXNetError

from .result import Result

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


@contextmanager
def progress(steps: int) -> Iterator[Callable[[str, int, float], None]]:
    """Shows a progress bar on standard error; gives the function that moves it.

    Args:
        steps: of all ways together.
    """
    columns = (
        TextColumn("{task.description:<16}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.4f}"),
        TimeRemainingColumn(),
    )
    # What is printed to a file meanwhile must not go to the terminal of the bar.
    bar = Progress(*columns, console=Console(stderr=True), redirect_stdout=sys.stdout.isatty())
    with bar:
        task = bar.add_task("", total=steps, loss=float("nan"))

        def advance(title: str, count: int, loss: float) -> None:
            bar.update(task, advance=count, description=title, loss=loss)

        yield advance


def print_results(results: Sequence[Result], title: str) -> None:
    """Prints a row for each way, and how far their losses are apart."""
    table = Table(title=title)
    table.add_column("way")
    for heading in ("accuracy", "test loss", "images/s", "first step", "steady step"):
        table.add_column(heading, justify="right")
    for result in results:
        table.add_row(
            result.title,
            f"{result.accuracy:.2%}",
            f"{result.test_loss:.4f}",
            f"{result.images_per_second:,.0f}",
            f"{result.first_step:.2f} s",
            f"{1e3 * result.steady_step:.2f} ms",
        )
    console = Console()
    console.print(table)
    if len(results) == 1:
        return
    first = np.array(results[0].losses[:_COMPARED])
    apart = max(
        float(np.max(np.abs(np.array(result.losses[:_COMPARED]) - first) / first))
        for result in results
    )
    console.print(
        f"over the first {len(first)} steps the losses differ by at most {apart:.1e} (relative)"
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
