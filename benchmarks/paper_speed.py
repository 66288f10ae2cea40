"""The MXNet paper's figure on speed: four networks, forward and backward, against others.

AlexNet, GoogLeNet, VGG and ResNet (Chen et al. 2015, arXiv:1512.01274, Figure 6; there without
ResNet), each written once, as a file that hybridnet and MXNet bind, and over whose nodes PyTorch is
walked (`works/paper.py`). "forward" is prediction; "training" is forward and backward, with the
gradients of all parameters. Each framework has a process of its own, which is warmed up and then
takes turns with the others; shown are medians. What is not installed is left out.

    python benchmarks/paper_speed.py [--batch 4] [--rounds 5] [--mxnet-python PATH]
        [--networks AlexNet VGG-16] [--out paper_speed.png]
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import networks

_SIDE: Final = Path(__file__).parent / "works" / "paper.py"
_COLORS: Final = {"hybridnet": "#5b9e6d", "mxnet": "#fbd5a1", "torch": "#f6b8a8"}
PASSES: Final = ("forward", "training")
#: Runs before the first that counts: programs are compiled beside them.
_WARM_UP: Final = 12
#: Seconds between two turns: threads that one leaves spinning for more work must not slow the next.
_PAUSE: Final = 0.3
#: How far answers may lie apart, relatively.
_TOLERANCE: Final = 1e-2

#: Network and pass -> framework -> seconds.
Figures = Mapping[tuple[str, str], Mapping[str, float]]


class Side:
    """A framework's process, with one network."""

    def __init__(self, framework: str, python: str, path: Path, batch: int) -> None:
        self._process = subprocess.Popen(
            [python, str(_SIDE), framework, str(path), str(batch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, what: str) -> float:
        """Has it do something; returns the number that it answers.

        Raises:
            RuntimeError: the process has ended.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self._process.args} has ended; its message is above")
        return float(answer)

    def end(self) -> None:
        """Ends the process."""
        self._process.communicate()


def measure(
    name: str, pythons: Mapping[str, str], batch: int, rounds: int, warm_up: int = _WARM_UP
) -> dict[tuple[str, str], dict[str, float]]:
    """Returns the median seconds of a network by pass and framework."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "network.json"
        networks.NETWORKS[name]().save(str(path))
        sides = {one: Side(one, python, path, batch) for one, python in pythons.items()}
        answers = {one: side.ask("answer") for one, side in sides.items()}
        expected = answers["hybridnet"]
        for one, answer in answers.items():
            if not math.isclose(answer, expected, rel_tol=_TOLERANCE):
                raise RuntimeError(f"{name}: {one} computes {answer}, hybridnet {expected}")
        found: dict[tuple[str, str], dict[str, float]] = {}
        for what in PASSES:
            times: dict[str, list[float]] = {one: [] for one in sides}
            for side in sides.values():
                for _ in range(warm_up):
                    side.ask(what)
            for turn in range(rounds):
                for one in list(sides)[:: 1 if turn % 2 else -1]:
                    time.sleep(_PAUSE)
                    times[one].append(sides[one].ask(what))
            found[name, what] = {one: median(seconds) for one, seconds in times.items()}
        for side in sides.values():
            side.end()
        return found


def show(found: Figures, frameworks: Sequence[str]) -> None:
    """Prints the table: milliseconds, and hybridnet's time over the others'."""
    heads = "".join(f"{one:>12}" for one in frameworks)
    ratios = "".join(f"{'/ ' + one:>10}" for one in frameworks[1:])
    print(f"{'network':26}{'pass':10}{heads}{ratios}")
    for (name, what), row in found.items():
        cells = "".join(f"{1e3 * row[one]:9.1f} ms" for one in frameworks)
        own = "".join(f"{row['hybridnet'] / row[one]:10.2f}" for one in frameworks[1:])
        print(f"{name:26}{what:10}{cells}{own}")


def draw(found: Figures, frameworks: Sequence[str], batch: int, path: str) -> None:
    """Draws the bars of both passes."""
    from matplotlib import pyplot

    _, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    names = list(dict.fromkeys(name for name, _ in found))
    for ax, what in zip(axes, PASSES, strict=True):
        for number, one in enumerate(frameworks):
            places = [place + 0.25 * number for place in range(len(names))]
            heights = [1e3 * found[name, what][one] for name in names]
            bars = ax.bar(places, heights, 0.24, label=one, color=_COLORS[one])
            ax.bar_label(bars, fmt="%.0f", fontsize=7)
        ax.set_xticks([place + 0.25 for place in range(len(names))], names, fontsize=8)
        ax.set(title=f"{what}, batches of {batch}", ylabel="ms")
    axes[0].legend(fontsize=8)
    pyplot.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mxnet-python", metavar="PATH", help="an interpreter with MXNet 1.9.1")
    parser.add_argument("--networks", nargs="+", choices=networks.NETWORKS, metavar="NAME")
    parser.add_argument("--out", default="paper_speed.png", metavar="FILE")
    options = parser.parse_args()
    pythons = {"hybridnet": sys.executable}
    if importlib.util.find_spec("torch") is not None:
        pythons["torch"] = sys.executable
    if options.mxnet_python:
        pythons["mxnet"] = options.mxnet_python
    found: dict[tuple[str, str], dict[str, float]] = {}
    for name in options.networks or networks.NETWORKS:
        found |= measure(name, pythons, options.batch, options.rounds)
    show(found, list(pythons))
    draw(found, list(pythons), options.batch, options.out)
    print(f"drawn in {options.out}")


if __name__ == "__main__":
    main()
