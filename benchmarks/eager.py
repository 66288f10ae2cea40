"""An eager loop against a hand-written ``jax.jit``, JAX op by op, PyTorch and MXNet, in one run.

Every contestant does the same work, which is checked before it is timed. They take turns, first
forwards, then backwards, so that a change of the machine's speed meets each alike; ratios are
medians over the rounds of (hybridnet / other). PyTorch and MXNet run in processes of their own
and take their turns there. MXNet needs its own interpreter, with ``mxnet==1.9.1 numpy==1.23.5``.

    python benchmarks/eager.py [--only mlp lstm] [--mxnet-python PATH] [--plot FILE] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rows import JAX_PROCESS, ROWS, TITLES, Row, Target
from worker import Worker, WorkerError
from works.catalog import contestants_of
from works.runner import Array, Runner

#: Seconds of work in one turn of a contestant.
SLICE = 0.1
#: Seconds between two turns: threads that one leaves spinning for more work must not slow the next.
PAUSE = 0.01
#: The least rounds, where --seconds allows no more.
LEAST_ROUNDS = 5
#: What is measured by a script of its own, since it needs new processes all the time.
FIRST_STEP = "first-step"
UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6}


@dataclass(frozen=True)
class Result:
    """What was measured of one row.

    Attributes:
        row: the row.
        times: by contestant, one entry a round, in the row's unit.
        facts: by contestant.
    """

    row: Row
    times: dict[str, Array]
    facts: dict[str, dict[str, float]]

    def value(self, name: str) -> float:
        """The time of a contestant: the median; of work that never repeats, the mean."""
        return float(np.mean(self.times[name]) if self.row.cold else np.median(self.times[name]))

    def ratio(self, other: str) -> float:
        """hybridnet's time as a multiple of another's."""
        if self.row.cold:
            return float(self.times["hybridnet"].sum() / self.times[other].sum())
        return float(np.median(self.times["hybridnet"] / self.times[other]))

    def reached(self, target: Target) -> float | None:
        """What was reached of a target; None where the other contestant is missing."""
        if target.against is not None and target.against not in self.times:
            return None
        if target.fact is not None:
            got = self.facts["hybridnet"][target.fact]
            return got if target.against is None else got / self.facts[target.against][target.fact]
        if target.against is None:
            return self.value("hybridnet")
        return self.ratio(target.against)


# Measuring ----------------------------------------------------------------------------------------


def _make(
    row: Row, chosen: Sequence[str], mxnet_python: str | None, stack: ExitStack
) -> Iterator[tuple[str, Runner]]:
    """Makes the contestants of a row, each in its process, but for those that are missing."""
    workers: dict[str, Worker] = {}
    for name in contestants_of(row.work):
        of_mxnet = name.startswith("mxnet")
        if name not in chosen or (of_mxnet and mxnet_python is None):
            continue
        process = "mxnet" if of_mxnet else "jax" if name in JAX_PROCESS else name
        if row.apart:
            process = name
        if process not in workers:
            python = mxnet_python if of_mxnet and mxnet_python else sys.executable
            workers[process] = Worker(python)
            stack.callback(workers[process].close)
        try:
            yield name, workers[process].make(row.work, name)
        except WorkerError as error:
            if "ModuleNotFoundError" not in str(error):
                raise
            print(f"   {TITLES[name]} is not installed")


def _check(row: Row, runners: dict[str, Runner]) -> None:
    """Raises unless all contestants compute the same."""
    answers = {name: runner.answer() for name, runner in runners.items()}
    first, *others = answers
    for other in others:
        np.testing.assert_allclose(
            answers[other],
            answers[first],
            row.tolerance,
            row.tolerance * float(np.abs(answers[first]).max()),
            err_msg=f"{row.work}: {other} computes something else than {first}",
        )


def _turns(row: Row, runner: Runner) -> int:
    """How many turns fill a slice of time."""
    seconds = runner.turn(1)
    if seconds < SLICE:
        seconds = min(seconds, runner.turn(1), runner.turn(1))
    return max(1, min(row.most_turns, round(SLICE / seconds)))


def measure(row: Row, options: argparse.Namespace) -> Result:
    """Makes, checks, settles and times the contestants of one row."""
    chosen = options.contestants or list(TITLES)
    with ExitStack() as stack:
        runners = dict(_make(row, chosen, options.mxnet_python, stack))
        if row.cold:
            turns = dict.fromkeys(runners, row.most_turns)
        else:
            _check(row, runners)
            for runner in runners.values():
                runner.settle()
            turns = {name: _turns(row, runner) for name, runner in runners.items()}
        times: dict[str, list[float]] = {name: [] for name in runners}
        rounds = 0
        started = time.perf_counter()
        while rounds < options.rounds and (
            rounds < LEAST_ROUNDS or time.perf_counter() - started < options.seconds
        ):
            for name in list(runners)[:: -1 if rounds % 2 else 1]:
                time.sleep(PAUSE)
                times[name].append(runners[name].turn(turns[name]) / turns[name])
            rounds += 1
        if row.cold:
            _check(row, runners)
        facts = {name: runner.facts() for name, runner in runners.items()}
    scale = UNITS[row.unit] / row.per
    return Result(row, {name: scale * np.array(one) for name, one in times.items()}, facts)


# Showing ------------------------------------------------------------------------------------------


def show(result: Result) -> None:
    """Prints the contestants of a row, and its verdicts."""
    row = result.row
    for name in result.times:
        least = float(result.times[name].min())
        ratio = "" if name == "hybridnet" else f"{result.ratio(name):>9.3f}"
        facts = ", ".join(f"{key} {value:.6g}" for key, value in result.facts[name].items())
        print(
            f"   {TITLES[name]:<18}{result.value(name):>10.3f} {row.unit} {row.item}"
            f" (least {least:.3f}){ratio}  {facts}"
        )
    if row.cold and "jax" in result.times:
        later = {name: times[len(times) // 2 :].sum() for name, times in result.times.items()}
        print(f"   in the later half {later['hybridnet'] / later['jax']:.3f} x {TITLES['jax']}")
    for target in row.targets:
        reached = result.reached(target)
        if reached is None:
            print(f"   target {target}: not measured")
        else:
            verdict = "met" if reached <= target.most else "MISSED"
            print(f"   target {target}: {reached:.3f}, {verdict}", flush=True)


def markdown(results: Sequence[Result]) -> str:
    """The table for the README: hybridnet's time, and ratios to the others."""
    others = [name for name in TITLES if name != "hybridnet"]
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

    shown = [one for one in results if len(one.times) > 1 and not one.row.apart][::-1]
    figure, axes = plt.subplots(figsize=(9, 1.2 + 0.45 * len(shown)), layout="constrained")
    axes.axvline(1, color="black", linewidth=2, label="hybridnet")
    for name in TITLES:
        points = [(1 / r.ratio(name), y) for y, r in enumerate(shown) if name in r.times]
        if name != "hybridnet" and points:
            axes.plot(*zip(*points, strict=True), "o", label=TITLES[name])
    axes.set_yticks(range(len(shown)), [one.row.title for one in shown])
    axes.set_xscale("log")
    axes.grid(axis="x", which="both", alpha=0.3)
    axes.set_xlabel("time as a multiple of hybridnet's (right: slower than hybridnet)")
    axes.legend(loc="upper center", bbox_to_anchor=(0.4, 1.18), ncols=3)
    figure.savefig(file, dpi=150)


def save(results: Sequence[Result], file: Path) -> None:
    """Writes everything measured."""
    rows = {
        result.row.work: {
            "title": result.row.title,
            "unit": f"{result.row.unit} {result.row.item}",
            "times": {name: times.tolist() for name, times in result.times.items()},
            "facts": result.facts,
            "targets": {str(one): result.reached(one) for one in result.row.targets},
        }
        for result in results
    }
    file.write_text(json.dumps(rows, indent=1))


def _parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    names = [*(row.work for row in ROWS), FIRST_STEP]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", metavar="WORK", choices=names, help=", ".join(names))
    parser.add_argument(
        "--contestants", nargs="+", metavar="NAME", choices=list(TITLES), help=", ".join(TITLES)
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
            results.append(measure(row, options))
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
