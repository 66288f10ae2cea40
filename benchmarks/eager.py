"""An eager loop against a hand-written ``jax.jit``, JAX op by op, PyTorch and MXNet, in one run.

Every contestant does the same work, which is checked before it is timed. They take turns, first
forwards, then backwards, so that a change of the machine's speed meets each alike; ratios are
medians over the rounds of (hybridnet / other). PyTorch and MXNet run in processes of their own
and take their turns there. MXNet needs its own interpreter, with ``mxnet==1.9.1 numpy==1.23.5``.

    python benchmarks/eager.py [--only mlp lstm] [--mxnet-python PATH] [--plot FILE] [--json FILE]
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rows import EAGER, JAX_PROCESS, ROWS, TITLES, Row
from turns import Result, Seat, measure, save, show
from works.catalog import contestants_of

#: What is measured by a script of its own, since it needs new processes all the time.
FIRST_STEP = "first-step"


def seats_of(row: Row, options: argparse.Namespace) -> list[Seat]:
    """Returns who takes part in a row, as far as was chosen and there is an interpreter."""
    seats = []
    for name in contestants_of(row.work):
        if name not in (options.contestants or EAGER):
            continue
        if not name.startswith("mxnet"):
            process = "jax" if name in JAX_PROCESS else name
            seats.append(Seat(name, name, process, sys.executable))
        elif options.mxnet_python is not None:
            seats.append(Seat(name, name, "mxnet", options.mxnet_python))
    return seats


def markdown(results: Sequence[Result]) -> str:
    """The table for docs/benchmarks.md: hybridnet's time, and ratios to the others."""
    others = [name for name in EAGER if name != "hybridnet"]
    heads = ["work", "hybridnet", *(f"/ {TITLES[name]}" for name in others), "target", "met"]
    lines = [heads, ["---"] * len(heads)]
    for result in results:
        row = result.row
        verdicts = []
        for target in row.targets:
            reached = result.reached(target)
            verdicts.append("?" if reached is None else "yes" if reached <= target.most else "no")
        lines.append(
            [
                row.title,
                f"{result.value('hybridnet'):.3g} {row.unit} {row.item}",
                *(f"{result.ratio(n):.2f}" if n in result.times else "" for n in others),
                "; ".join(str(target) for target in row.targets),
                ", ".join(verdicts),
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def plot(results: Sequence[Result], file: Path) -> None:
    """Draws the time of each contestant as a multiple of hybridnet's."""
    import matplotlib.pyplot as plt

    shown = [result for result in results if len(result.times) > 1 and not result.row.own_process][
        ::-1
    ]
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.45 * len(shown)), layout="constrained")
    axes.axvline(1, color="black", linewidth=2, label="hybridnet")
    for name in EAGER:
        points = [(1 / r.ratio(name), y) for y, r in enumerate(shown) if name in r.times]
        if name != "hybridnet" and points:
            axes.plot(*zip(*points, strict=True), "o", label=TITLES[name])
    axes.set_yticks(range(len(shown)), [result.row.title for result in shown])
    axes.set_xscale("log")
    axes.grid(axis="x", which="both", alpha=0.3)
    axes.set_xlabel("time as a multiple of hybridnet's (right: slower than hybridnet)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.18), ncols=3)
    figure.savefig(file, dpi=150)


def _parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    names = [*(row.work for row in ROWS), FIRST_STEP]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="WORK", choices=names, help=", ".join(names))
    parser.add_argument(
        "--contestants", nargs="+", metavar="NAME", choices=EAGER, help=", ".join(EAGER)
    )
    parser.add_argument("--rounds", type=int, default=21, help="of turns, at most (default 21)")
    parser.add_argument("--seconds", type=float, default=60, help="of turns of a row (default 60)")
    parser.add_argument("--mxnet-python", help="interpreter that has MXNet 1.9.1")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a picture")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
    return parser.parse_args(arguments)


def main() -> None:
    options = _parse()
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} CPUs, "
        f"load {os.getloadavg()[0]:.1f}"
    )
    # Every run starts from nothing, whatever earlier ones have compiled.
    os.environ["HYBRIDNET_CACHE_DIR"] = "off"
    results = []
    for row in ROWS:
        if options.only is None or row.work in options.only:
            print(f"\n== {row.work}: {row.title}", flush=True)
            results.append(measure(row, seats_of(row, options), options.rounds, options.seconds))
            show(results[-1])
    if options.only is None or FIRST_STEP in options.only:
        print(f"\n== {FIRST_STEP}: LeNet, new processes", flush=True)
        script = Path(__file__).resolve().with_name("first_step.py")
        subprocess.run([sys.executable, str(script)], check=True)
    print("\n" + markdown(results))
    outputs: tuple[tuple[Path | None, Callable[[Sequence[Result], Path], Any]], ...] = (
        (options.plot, plot),
        (options.json, save),
    )
    for file, write in outputs:
        if file is not None:
            write(results, file)


if __name__ == "__main__":
    main()
