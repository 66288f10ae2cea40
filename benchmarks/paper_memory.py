"""The MXNet paper's figure on memory: what four networks compute on the way, by four strategies.

"naive" gives each result memory of its own, "inplace" lets operators write over their inputs,
"co-share" gives the memory of dead results to later ones, "both" does both (Chen et al. 2015,
arXiv:1512.01274, Figure 7). Nothing is run: the plan of `Symbol.estimate_memory` is drawn, for
prediction and for training.

    python benchmarks/paper_memory.py [--batch 64] [--out paper_memory.png]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

import networks
from memory import internal

STRATEGIES: Final = ("naive", "inplace", "co-share", "both")
_COLORS: Final = ("#b8b8b8", "#a9cce8", "#fbd5a1", "#5b9e6d")
_PASSES: Final = {"prediction": False, "training": True}

#: Network and pass -> strategy -> GB.
Figures = Mapping[tuple[str, str], Mapping[str, float]]


def figures(names: list[str], batch: int) -> dict[tuple[str, str], dict[str, float]]:
    """Plans the memory of some networks; GB of results on the way by network, pass, strategy."""
    shape = (batch, *networks.IMAGE)
    return {
        (name, title): {
            strategy: internal(net, is_train, strategy, shape) for strategy in STRATEGIES
        }
        for name in names
        for net in [networks.NETWORKS[name]()]
        for title, is_train in _PASSES.items()
    }


def show(found: Figures) -> None:
    """Prints the table."""
    print(f"{'network':26}{'pass':12}" + "".join(f"{one:>10}" for one in STRATEGIES) + "  ratio")
    for (name, title), row in found.items():
        cells = "".join(f"{row[strategy]:10.3f}" for strategy in STRATEGIES)
        print(f"{name:26}{title:12}{cells}{row['naive'] / row['both']:7.2f}")


def draw(found: Figures, batch: int, path: str) -> None:
    """Draws the bars of both passes."""
    from matplotlib import pyplot

    _, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    names = list(dict.fromkeys(name for name, _ in found))
    for ax, title in zip(axes, _PASSES, strict=True):
        for number, (strategy, color) in enumerate(zip(STRATEGIES, _COLORS, strict=True)):
            places = [place + 0.2 * number for place in range(len(names))]
            heights = [found[name, title][strategy] for name in names]
            bars = ax.bar(places, heights, 0.19, label=strategy, color=color)
            ax.bar_label(bars, fmt="%.2g", fontsize=7)
        ax.set_xticks([place + 0.3 for place in range(len(names))], names, fontsize=8)
        ax.set(title=f"{title}, {batch} images", ylabel="GB")
    axes[0].legend(fontsize=8)
    pyplot.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--out", default="paper_memory.png", metavar="FILE")
    parser.add_argument("--networks", nargs="+", choices=networks.NETWORKS, metavar="NAME")
    options = parser.parse_args()
    found = figures(options.networks or list(networks.NETWORKS), options.batch)
    show(found)
    draw(found, options.batch, options.out)
    print(f"drawn in {options.out}")


if __name__ == "__main__":
    main()
