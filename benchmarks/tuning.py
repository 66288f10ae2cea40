"""Times programs as the rules make them and as `hn.tune` does.

Each network of ``benchmarks/nets.py`` is tuned. Then its main program, compiled once by the rules
and once by the recipe that was found, runs by turns: a measurement of its own, which the tuner has
not seen. Ratios above 1.02 would be a program that tuning made slower.

    python benchmarks/tuning.py [--works lenet,mlp-small] [--budget 120] [--rounds 15]

The folder of programs is not used: nothing that was found before is found again.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from statistics import median, quantiles
from typing import Any

os.environ["HYBRIDNET_CACHE_DIR"] = "off"

from works import nets, nets_gluon

import hybridnet as hn
from hybridnet.runtime.programs.compiling import compile_code
from hybridnet.runtime.programs.recipe import BY_RULES
from hybridnet.runtime.programs.recipe_book import book
from hybridnet.runtime.tuning import CapturedLaunch, captured

Prepared = tuple[Callable[..., Any], tuple[Any, ...]]


def training(net: nets.Net) -> Prepared:
    step, _, batches = nets_gluon.training(hn, net)
    return hn.function(step), next(batches)


def inference(net: nets.Net) -> Prepared:
    run, _ = nets_gluon.inference(hn, net)
    return run, ()


WORKS: dict[str, Callable[[], Prepared]] = {
    "mlp-small": lambda: training(nets.mlp(64, 128, 32)),
    "mlp-large": lambda: training(nets.mlp(784, 512, 128)),
    "lstm": lambda: training(nets.lstm()),
    "lenet": lambda: training(nets.lenet()),
    "resnet18": lambda: training(nets.resnet18()),
    "alexnet": lambda: training(nets.alexnet()),
    "mobilenet-1": lambda: inference(nets.mobilenet(1)),
    "resnet50-1": lambda: inference(nets.resnet50(1)),
    "vgg11-1": lambda: inference(nets.vgg11(1)),
}


def main_launch(target: Callable[..., Any], inputs: tuple[Any, ...]) -> CapturedLaunch:
    """Returns the launch of the program with the most operators."""
    with captured() as found:
        target(*inputs)
        hn.waitall()
        hn.engine.wait_for_all()
    return max(
        found.values(), key=lambda launch: sum(call.weight for call, _ in launch.code.instructions)
    )


def ratios(launch: CapturedLaunch, rounds: int) -> tuple[float, float, list[float]]:
    """Milliseconds by the rules and as tuned, and the ratios round by round."""
    ways = [compile_code(launch.code, recipe) for recipe in (BY_RULES, book.recipe(launch.code))]
    timers = [launch.timer(way) for way in ways]
    times: list[tuple[float, float]] = []
    for turn in range(rounds + 1):
        order = (0, 1) if turn % 2 else (1, 0)
        taken = [0.0, 0.0]
        for index in order:
            taken[index] = timers[index]()
        if turn:  # the first round warms up
            times.append((taken[0], taken[1]))
    return (
        1e3 * median(before for before, _ in times),
        1e3 * median(after for _, after in times),
        [after / before for before, after in times],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--works", default=",".join(WORKS), help="which, separated by commas")
    parser.add_argument("--budget", type=float, default=120.0, help="seconds of tuning for each")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--trials", action="store_true", help="print all that was tried")
    options = parser.parse_args()
    print(f"{'work':12} {'rules, ms':>10} {'tuned, ms':>10} {'ratio':>6} {'quartiles':>12}  recipe")
    for name in options.works.split(","):
        target, inputs = WORKS[name]()
        report = hn.tune(target, *inputs, budget_s=options.budget)
        launch = main_launch(target, inputs)
        before, after, found = ratios(launch, options.rounds)
        low, _, high = quantiles(found, n=4, method="inclusive")
        chosen = book.recipe(launch.code)
        says = (
            "as the rules" if chosen is BY_RULES else f"{chosen.options} {len(chosen.picks)} picks"
        )
        print(
            f"{name:12} {before:10.2f} {after:10.2f} {median(found):6.3f} "
            f"{low:5.3f}-{high:5.3f}  {says}",
            flush=True,
        )
        if options.trials:
            print(report)


if __name__ == "__main__":
    main()
