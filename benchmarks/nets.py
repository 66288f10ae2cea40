"""Networks, run and trained, against a hand-written ``jax.jit``, PyTorch, TensorFlow and MXNet.

Each framework is used as its users use it (``works/nets_*.py``), all from the same weights, and
each has processes of its own: what one sets up there, like hybridnet its memory allocator, serves
no other. They take turns, and every ratio is the median over the rounds (``turns.py``).

MXNet and TensorFlow need interpreters of their own: ``mxnet==1.9.1 numpy==1.23.5`` goes with Python
3.11 at most. A second interpreter with hybridnet and another JAX shows what depends on its version.
What is missing is left out of the table.

    python benchmarks/nets.py [--works vgg11-1 lstm-step] [--mxnet-python PATH] [--json FILE]
        [--torch-python PATH] [--tensorflow-python PATH] [--other-jax-python PATH]
    python benchmarks/nets.py --profile resnet18-step     # hybridnet's program, by operator
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rows import BEST_PEER, NETS, PEERS, TITLES, Row
from turns import Result, Seat, measure, save, show
from works.catalog import contestants_of

_HYBRIDNET, _JIT = "hybridnet", "jit"
#: hybridnet without the extra ``onednn``, which the other one has where it is installed.
_PLAIN = "hybridnet, plain"
_OTHER = {_HYBRIDNET: "hybridnet, other JAX", _JIT: "jit, other JAX"}
#: Rounds with --quick.
_QUICK = 3
_CONTESTANTS = (_HYBRIDNET, _PLAIN, _JIT, *PEERS, *_OTHER.values())


def seats_of(row: Row, options: argparse.Namespace) -> list[Seat]:
    """Returns who takes part in a row, as far as was chosen and there is an interpreter."""
    pythons = {
        **dict.fromkeys((_HYBRIDNET, _JIT), sys.executable),
        **dict.fromkeys(("torch", "torch.compile"), options.torch_python),
        **dict.fromkeys(("mxnet hybridized", "mxnet optimized"), options.mxnet_python),
        "tensorflow": options.tensorflow_python,
    }
    found = [Seat(name, name, name, python) for name, python in pythons.items() if python]
    off = {"HYBRIDNET_ONEDNN": "0"}
    found.append(Seat(_PLAIN, _HYBRIDNET, _PLAIN, sys.executable, off))
    if options.other_jax_python:
        found += [
            Seat(title, name, title, options.other_jax_python) for name, title in _OTHER.items()
        ]
    chosen, made = options.contestants or _CONTESTANTS, contestants_of(row.work)
    return [seat for seat in found if seat.name in chosen and seat.contestant in made]


def markdown(results: Sequence[Result]) -> str:
    """The table for docs/benchmarks.md: hybridnet's time, its ratios to the others, targets."""
    others = [name for name in _CONTESTANTS if name != _HYBRIDNET]
    shown = [name for name in others if any(name in result.times for result in results)]
    heads = ["work", "hybridnet, ms", *(f"/ {_title(name)}" for name in shown), "target", "met"]
    lines = [heads, ["---"] * len(heads)]
    for result in results:
        reached = [result.reached(target) for target in result.row.targets]
        verdicts = [
            "?" if got is None else "yes" if got <= target.most else "no"
            for target, got in zip(result.row.targets, reached, strict=True)
        ]
        lines.append(
            [
                result.row.title,
                f"{result.value(_HYBRIDNET):.3g}",
                *(_cell(result, name) for name in shown),
                "; ".join(str(target) for target in result.row.targets),
                ", ".join(verdicts),
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _title(name: str) -> str:
    return "jax.jit, both on another JAX" if name == _OTHER[_JIT] else TITLES[name]


def _cell(result: Result, name: str) -> str:
    """hybridnet's ratio to a contestant, on one JAX; the best peer's is bold."""
    if name not in result.times:
        return ""
    of = _OTHER[_HYBRIDNET] if name == _OTHER[_JIT] else _HYBRIDNET
    text = f"{result.ratio(name, of):.2f}" if of in result.times else ""
    return f"**{text}**" if name == result.best_peer else text


def _parse(rows: Sequence[Row], about: str) -> argparse.Namespace:
    names = [row.work for row in rows]
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--works", nargs="+", metavar="WORK", choices=names, help=", ".join(names))
    parser.add_argument(
        *("--contestants", "--only"),
        nargs="+",
        metavar="NAME",
        choices=_CONTESTANTS,
        help=", ".join(_CONTESTANTS),
    )
    parser.add_argument("--rounds", type=int, default=21, help="of turns, at most (default 21)")
    parser.add_argument("--seconds", type=float, default=90, help="of turns of a row (default 90)")
    parser.add_argument("--quick", action="store_true", help=f"{_QUICK} rounds of each row")
    for name, what in (
        ("torch", "PyTorch (default: this one)"),
        ("mxnet", "MXNet 1.9.1"),
        ("tensorflow", "TensorFlow"),
        ("other-jax", "hybridnet and another JAX"),
    ):
        parser.add_argument(
            f"--{name}-python",
            default=sys.executable if name == "torch" else None,
            metavar="PATH",
            help=f"interpreter that has {what}",
        )
    parser.add_argument(
        "--profile", nargs="+", metavar="WORK", choices=names, help="show operators instead"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was measured")
    return parser.parse_args()


def _onednn() -> str:
    try:
        return f"oneDNN {version('onednn-cpu-gomp')}"
    except PackageNotFoundError:
        return "oneDNN is not installed (pip install 'hybridnet[onednn]')"


def main(rows: Sequence[Row], about: str) -> None:
    """Fills the table of some rows, as the command line asks for it.

    Args:
        rows: of the table.
        about: what ``--help`` says of it.
    """
    options = _parse(rows, about)
    print(
        f"Python {platform.python_version()} on {platform.machine()}, {os.cpu_count()} CPUs, "
        f"load {os.getloadavg()[0]:.1f}, {_onednn()}"
    )
    # Every run starts from nothing, whatever earlier ones have compiled.
    os.environ["HYBRIDNET_CACHE_DIR"] = "off"
    if options.profile:
        from nets_profile import profile  # loads hybridnet, which the table leaves to workers

        for work in options.profile:
            profile(work)
        return
    rounds = _QUICK if options.quick else options.rounds
    results = []
    for row in rows:
        if options.works is None or row.work in options.works:
            print(f"\n== {row.work}: {row.title}", flush=True)
            results.append(measure(row, seats_of(row, options), rounds, options.seconds))
            show(results[-1])
            print(f"   {BEST_PEER}: {results[-1].best_peer}")
            if options.json is not None:
                save(results, options.json)
    print("\n" + markdown(results))


if __name__ == "__main__":
    main(NETS, (__doc__ or "").splitlines()[0])
