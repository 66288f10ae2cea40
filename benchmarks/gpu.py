"""One GPU, or whatever device there is: each work from its first step until it is steady.

    python benchmarks/gpu.py                       # on gpu(0) if there is one, else on cpu(0)
    python benchmarks/gpu.py --works lenet,bert --seconds 60 --json gpu.json
    python benchmarks/gpu.py --context 'cpu(0)' --against jit,torch

Each contestant of each work runs in a process of its own, with an empty folder of programs and then
with the folder that this left: first the first step, from a loaded package on; then steps by the
clock until nothing is being compiled any more ("until"), which is sure when that has been so for
3 s, and for as long as it took; and then the steady ones, whose losses are read every 50 steps: the
median of 7 rounds. A work that is not settled within `--seconds` is marked so. Beside: transfers of
a steady step, programs, the card's memory in use at the most, and what a dispatch, a transfer each
way and a wait cost.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from works import on_device
from works.on_device import Work

CONTESTANTS = ("hybridized", "eager", "jit", "torch")
#: Seconds at which it is noted how many steps were done.
CLOCK = (2, 5, 10, 30)
ROUNDS, READ = 7, 50
#: Seconds without a compilation, and as long again as there were some, until it is settled.
QUIET = 3.0


def measure(work: Work, is_compiling: Callable[[], bool], limit: float) -> dict[str, Any]:
    """Runs a work until it is settled, and then in rounds; returns its figures, in seconds."""
    began = time.perf_counter()
    work.read(work.step())
    work.wait()
    found: dict[str, Any] = {"first": time.perf_counter() - began}
    steps, now, last, done = 1, 0.0, found["first"], {}
    while now < limit and now < max(last + QUIET, 2 * last):
        result = work.step()
        steps += 1
        if not steps % READ:
            work.read(result)
        now = time.perf_counter() - began
        if is_compiling():
            last = now
        done |= {at: steps for at in CLOCK if now >= at and at not in done}
    work.wait()
    found |= {"until": last, "steps": steps, "clock": done}
    found["settled"] = now < limit
    count = max(1, min(200, round(0.5 * steps / now)))
    found["steady"] = statistics.median(_round(work, count) for _ in range(ROUNDS))
    return found


def _round(work: Work, count: int) -> float:
    began = time.perf_counter()
    for number in range(count):
        result = work.step()
        if not (number + 1) % READ:
            work.read(result)
    work.wait()
    return (time.perf_counter() - began) / count


def hybridnet_child(name: str, context: str, limit: float, *, hybridized: bool) -> dict[str, Any]:
    """Measures hybridnet in this process."""
    import hybridnet as mx
    from hybridnet.base.context import read_context
    from hybridnet.runtime.platform.transfers import transfers
    from hybridnet.runtime.programs.cache import cache

    def is_compiling() -> bool:
        return any(
            one.account.is_bought and one.compiled is None and one.ready is None
            for one in cache.programs()
        )

    with read_context(context):
        work = on_device.gluon(name, mx, hybridized=hybridized)
        found = measure(work, is_compiling, limit)
        before = transfers.copy()
        _round(work, READ - 1)
        moved = transfers.copy()
    found["moved"] = (moved.puts - before.puts) + (moved.fetches - before.fetches)
    found["programs"] = cache.statistics().compilations
    found["memory"] = {
        name: {"peak": use.peak, "limit": use.limit}
        for name, use in mx.runtime.memory().accelerators.items()
    }
    return found


def child(name: str, who: str, context: str, limit: float) -> dict[str, Any] | None:
    """Measures one contestant of one work in this process; None where nobody has written it."""
    if who in ("hybridized", "eager"):
        return hybridnet_child(name, context, limit, hybridized=who == "hybridized")
    work = on_device.jit(name) if who == "jit" else on_device.torch_eager(name)
    return None if work is None else measure(work, lambda: False, limit)


def costs() -> list[dict[str, Any]]:
    """Returns what a dispatch, a transfer each way and a question cost on JAX's first device."""
    import jax

    rows = []
    add = jax.jit(lambda x: x + 1)
    for size in (1, 1 << 10, 1 << 18, 1 << 22):
        host = np.ones(size, np.float32)
        there = jax.device_put(host).block_until_ready()
        fetched = []
        for _ in range(20):
            made = add(there).block_until_ready()
            began = time.perf_counter()
            np.asarray(made)
            fetched.append(time.perf_counter() - began)
        rows.append(
            {
                "bytes": 4 * size,
                "put": _best(lambda host=host: jax.device_put(host).block_until_ready()),
                "fetch": min(fetched),
                "dispatch": _best(lambda there=there: add(there)),
            }
        )
    return rows


def _best(run: Callable[[], object], count: int = 20) -> float:
    times = []
    for _ in range(7):
        began = time.perf_counter()
        for _ in range(count):
            run()
        times.append((time.perf_counter() - began) / count)
    return min(times)


def run(options: argparse.Namespace, *what: str, folder: str = "off") -> Any:
    """Runs a part of this in a process of its own; returns what it prints, or its last words."""
    flags = ["--context", options.context, "--seconds", str(options.seconds)]
    done = subprocess.run(
        [sys.executable, __file__, "--child", *what, *flags],
        env={**os.environ, "HYBRIDNET_CACHE_DIR": folder},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"failed": done.stderr.strip().splitlines()[-1:]}
    return json.loads(done.stdout.splitlines()[-1])


def row(name: str, who: str, found: dict[str, Any]) -> str:
    """Returns a contestant's figures as a line of the table."""
    if "failed" in found:
        return f"{name:10}{who:18}failed: {' '.join(found['failed'])[:90]}"
    moved, programs = found.get("moved", ""), found.get("programs", "")
    clock = "/".join(str(found["clock"].get(str(at), "-")) for at in CLOCK)
    mark = "" if found["settled"] else "  (not settled)"
    return (
        f"{name:10}{who:18}{1e3 * found['first']:10.1f}{found['until']:9.2f}{clock:>20}"
        f"{1e6 * found['steady']:12.1f}{moved:>7}{programs:>6}{mark}"
    )


def main() -> None:
    """Runs the works, and prints the table."""
    parser = argparse.ArgumentParser(description="Works on one GPU, or whatever device there is.")
    parser.add_argument("--works", default="call,chain,cold,mlp,lenet,lstm")
    parser.add_argument("--against", default="jit", help="of hybridized and eager: jit, torch")
    parser.add_argument("--context", default="", help="default: gpu(0) if there is one")
    parser.add_argument("--seconds", type=float, default=60.0, help="until a work must be settled")
    parser.add_argument("--json", default="", help="a file for all figures, in seconds and bytes")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        part = options.child
        made = costs() if part == ["costs"] else child(*part, options.context, options.seconds)
        print(json.dumps(made))
        return
    if not options.context:
        num_gpus = importlib.import_module("hybridnet").context.num_gpus()
        options.context = "gpu(0)" if num_gpus else "cpu(0)"
    names = options.works.split(",")
    if set(names) - set(on_device.NAMES):
        parser.error(f"there are the works {', '.join(on_device.NAMES)}, got {options.works}")
    figures: dict[str, Any] = {
        "context": options.context,
        "costs": run(options, "costs"),
        "works": {},
    }
    print(
        f"on {options.context}: first step (ms), s until nothing is compiled, steps after "
        f"{'/'.join(map(str, CLOCK))} s, steady step (us), arrays moved in 49 steps, programs"
    )
    for name in names:
        for who in ("hybridized", "eager", *filter(None, options.against.split(","))):
            ours = who in CONTESTANTS[:2]
            with tempfile.TemporaryDirectory() as folder:
                for again in ("", " again") if ours and name != "cold" else ("",):
                    found = run(options, name, who, folder=folder if ours else "off")
                    if found is not None:
                        figures["works"][f"{name} {who}{again}"] = found
                        print(row(name, f"{who}{again}", found), flush=True)
    for one in figures["costs"] if isinstance(figures["costs"], list) else ():
        parts = ", ".join(f"{key} {1e6 * one[key]:.1f} us" for key in ("put", "fetch", "dispatch"))
        print(f"{one['bytes']:>10} bytes: {parts}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    main()
