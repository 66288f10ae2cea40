"""The 60 operators used most, forward and with gradients, beside plain JAX and PyTorch.

Every contestant gets the same arrays and runs by turns with the others; the least time of each
counts, since other work on the machine only adds. The table gives milliseconds and hybridnet's
ratio to the best of the others; above 1.5 it is marked. PyTorch takes part where it is installed.

    python benchmarks/ops.py [--only NAME ...] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from ops_cases import CASES, Case

import hybridnet as hn
from hybridnet import autograd, engine, nd

LIMIT = 1.5  # above it a lowering is a finding
Turn = Callable[[], None]


def arrays(case: Case) -> list[np.ndarray[Any, Any]]:
    """Returns the inputs of a case: the same in each run."""
    random = np.random.default_rng(0)
    return [make(random) for make in case.inputs]


def differentiable(inputs: list[np.ndarray[Any, Any]]) -> list[int]:
    """Returns which inputs have gradients."""
    return [index for index, array in enumerate(inputs) if array.dtype == np.float32]


def hybridnet_turns(case: Case) -> tuple[Turn, Turn]:
    """Returns a forward pass and one with gradients, on arrays."""
    inputs = [nd.array(array, dtype=array.dtype) for array in arrays(case)]
    leaves = [inputs[index] for index in differentiable(arrays(case))]
    head = nd.ones_like(case.hybridnet(nd, *inputs))

    def forward() -> None:
        case.hybridnet(nd, *inputs).wait_to_read()

    def gradient() -> None:
        with autograd.record():
            out = case.hybridnet(nd, *inputs)
        out.backward(head)
        out.wait_to_read()
        for leaf in leaves:
            leaf.grad.wait_to_read()

    for leaf in leaves:
        leaf.attach_grad()
    return forward, gradient


def jax_turns(case: Case) -> tuple[Turn, Turn]:
    """Returns a forward pass and one with gradients, each a compiled function."""
    inputs = [jax.numpy.asarray(array) for array in arrays(case)]
    where = differentiable(arrays(case))

    def both(*given: Any) -> Any:
        def function(*leaves: Any) -> Any:
            every = list(given)
            for index, leaf in zip(where, leaves, strict=True):
                every[index] = leaf
            return case.jax(*every)

        out, pull = jax.vjp(function, *[given[index] for index in where])
        return out, pull(jax.numpy.ones_like(out))

    forward, gradient = jax.jit(case.jax), jax.jit(both)
    return (
        lambda: jax.block_until_ready(forward(*inputs)),
        lambda: jax.block_until_ready(gradient(*inputs)),
    )


def torch_turns(case: Case) -> tuple[Turn, Turn]:
    """Returns a forward pass and one with gradients, eager."""
    import torch

    inputs = [torch.from_numpy(array) for array in arrays(case)]
    leaves = [inputs[index] for index in differentiable(arrays(case))]
    head = torch.ones_like(case.torch(*inputs))

    def forward() -> None:
        with torch.no_grad():
            case.torch(*inputs)

    def gradient() -> None:
        for leaf in leaves:
            leaf.grad = None
            leaf.requires_grad_(True)
        case.torch(*inputs).backward(head)

    return forward, gradient


def measure(turns: dict[str, Turn], rounds: int) -> dict[str, float]:
    """Returns the least milliseconds of each, which run by turns."""
    for turn in turns.values():
        for _ in range(4):  # until hybridnet's segment is one compiled program
            turn()
        nd.waitall()
        engine.wait_for_all()
    counts = {}
    for name, turn in turns.items():
        start = time.perf_counter()
        turn()
        counts[name] = max(1, min(50, int(5e-3 / (time.perf_counter() - start))))
    best = dict.fromkeys(turns, np.inf)
    for _ in range(rounds):
        for name, turn in turns.items():
            start = time.perf_counter()
            for _ in range(counts[name]):
                turn()
            best[name] = min(best[name], (time.perf_counter() - start) / counts[name] * 1e3)
    return best


def contestants(case: Case) -> dict[str, tuple[Turn, Turn]]:
    """Returns the passes of everybody who can run a case."""
    made = {"hybridnet": hybridnet_turns(case), "jax": jax_turns(case)}
    if case.torch is not None and importlib.util.find_spec("torch"):
        made["torch"] = torch_turns(case)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    known = {case.name for case in CASES}
    if set(options.only) - known:
        parser.error(f"--only must be among {', '.join(sorted(known))}")
    print(f"hybridnet {hn.__version__}, jax {jax.__version__}, least of {options.rounds} rounds")
    print("| operator | pass | hybridnet ms | jax.jit ms | torch ms | ratio to the best |")
    print("| --- | --- | --- | --- | --- | --- |")
    table = {}
    for case in CASES:
        if options.only and case.name not in options.only:
            continue
        made = contestants(case)
        for index, label in enumerate(("forward", "gradient")):
            if label == "gradient" and not case.gradient:
                continue
            best = measure({name: turns[index] for name, turns in made.items()}, options.rounds)
            ratio = best["hybridnet"] / min(best[name] for name in best if name != "hybridnet")
            table[f"{case.name} {label}"] = {**best, "ratio": ratio}
            torch = f"{best['torch']:.3f}" if "torch" in best else "-"
            mark = " **" if ratio > LIMIT else ""
            print(
                f"| {case.name} | {label} | {best['hybridnet']:.3f} | {best['jax']:.3f} "
                f"| {torch} | {ratio:.2f}{mark} |",
                flush=True,
            )
    ratios = [row["ratio"] for row in table.values()]
    print(f"\n{sum(ratio > LIMIT for ratio in ratios)} of {len(ratios)} are above {LIMIT}")
    if options.json is not None:
        options.json.write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
