"""Networks of text beside PyTorch and transformers: a step of a GPT, tokens written, memory.

    python benchmarks/text.py --torch-python PYTHON    # that has torch and transformers
    python benchmarks/text.py --works train --rounds 5 --json text.json

Each work runs in processes of its own, one library after the other in turn, round after round, so
that a change of the machine's speed meets both; what is printed are medians, and the median of
the rounds' ratios. `train`: a step of a GPT of 6 layers of 384 units on 8 texts of 256 characters,
AdamW, a new batch in each. `write`: greedy tokens of a GPT-2 of 124 million random weights after 32
others, and the seconds from the start of the process to the first. `long`: attention of 8 heads
over 8,192 positions and its gradient, and the memory that it takes beside what is there before.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

VOCAB, UNITS, LAYERS, HEADS, LENGTH, BATCH = 65, 384, 6, 6, 256, 8
#: Steps that are not timed, since programs are being compiled, and steps that are.
WARM, TIMED = 100, 10
PROMPT, WRITTEN = 32, 64
POSITIONS, LONG_HEADS, LONG_UNITS = 8192, 8, 64

Numbers = dict[str, float]


def batches(count: int) -> list[np.ndarray[Any, Any]]:
    """Texts (batch, length + 1), and one more character."""
    draw = np.random.default_rng(0)
    return [draw.integers(0, VOCAB, (BATCH, LENGTH + 1)).astype("int32") for _ in range(count)]


def seconds_of_step(step: Callable[[np.ndarray[Any, Any]], float], warm: int) -> Numbers:
    """Runs a training loop whose losses are read; returns the median of its last steps."""
    times = []
    for batch in batches(warm + TIMED):
        begun = time.perf_counter()
        step(batch)
        times.append(time.perf_counter() - begun)
    return {"first step (s)": times[0], "step (s)": statistics.median(times[-TIMED:])}


def peak_of(run: Callable[[], object]) -> Numbers:
    """Runs something three times; returns the seconds of the last, and memory beside what was."""
    Path("/proc/self/clear_refs").write_text(
        "5", encoding="utf-8"
    )  # what was the peak so far is forgotten
    before = status("VmRSS")
    for _ in range(3):
        begun = time.perf_counter()
        run()
    seconds = time.perf_counter() - begun
    return {"forward and back (s)": seconds, "memory (MB)": (status("VmHWM") - before) / 1024}


def status(name: str) -> int:
    """A line of the kernel's about this process, in KB."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])


# -- hybridnet -------------------------------------------------------------------------------------


def train_ours() -> Numbers:
    """A hybridized gluon loop."""
    from hybridnet import autograd, gluon, nd
    from hybridnet.gluon.model_zoo import text

    net = text.gpt2(
        vocab_size=VOCAB,
        units=UNITS,
        layers=LAYERS,
        heads=HEADS,
        max_length=LENGTH,
        dropout=0.0,
        attention_dropout=0.0,
        embedding_dropout=0.0,
        tied=False,
    )
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adamw", {"learning_rate": 1e-3, "wd": 0.01})
    loss_of = gluon.loss.SoftmaxCELoss()

    def step(batch: np.ndarray[Any, Any]) -> float:
        tokens, following = nd.array(batch[:, :-1]), nd.array(batch[:, 1:])
        with autograd.record():
            loss = loss_of(net(tokens.astype("int32")), following).mean()
        loss.backward()
        trainer.step(1)
        return float(loss.asscalar())

    return seconds_of_step(step, WARM)


def write_ours(folder: str, begun: float) -> Numbers:
    """Tokens by `text.stream`."""
    from hybridnet.gluon.model_zoo import text

    net = text.load(folder)
    prompt = list(range(1, PROMPT + 1))
    next(text.stream(net, prompt, WRITTEN))  # type: ignore[arg-type]
    first = time.time() - begun
    rates = []
    for _ in range(8):
        start = time.perf_counter()
        text.generate(net, prompt, WRITTEN)  # type: ignore[arg-type]
        rates.append(WRITTEN / (time.perf_counter() - start))
    return {"first token (s)": first, "tokens a second": statistics.median(rates[-3:])}


def long_ours() -> Numbers:
    """The operator, eager."""
    from hybridnet import autograd, nd

    shape = (1, POSITIONS, LONG_HEADS, LONG_UNITS)
    arrays = [nd.random.normal(shape=shape) for _ in range(3)]
    for one in arrays:
        one.attach_grad()
        one.wait_to_read()

    def run() -> None:
        with autograd.record():
            made = nd.contrib.dot_product_attention(*arrays, causal=True)
        made.backward()
        for one in arrays:
            one.grad.wait_to_read()

    return peak_of(run)


# -- PyTorch ---------------------------------------------------------------------------------------


def train_torch() -> Numbers:
    """An eager loop of PyTorch, with its own attention and its fused AdamW."""
    import torch
    from torch.nn import functional

    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = torch.nn.LayerNorm(UNITS), torch.nn.LayerNorm(UNITS)
            self.parts, self.joined = (
                torch.nn.Linear(UNITS, 3 * UNITS),
                torch.nn.Linear(UNITS, UNITS),
            )
            self.up, self.down = (
                torch.nn.Linear(UNITS, 4 * UNITS),
                torch.nn.Linear(4 * UNITS, UNITS),
            )

        def forward(self, x: Any) -> Any:
            parts = self.parts(self.first(x)).split(UNITS, 2)
            q, k, v = (one.unflatten(2, (HEADS, -1)).transpose(1, 2) for one in parts)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.joined(mixed.transpose(1, 2).flatten(2))
            hidden = functional.gelu(self.up(self.second(x)), approximate="tanh")
            return x + self.down(hidden)

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens = torch.nn.Embedding(VOCAB, UNITS)
            self.positions = torch.nn.Embedding(LENGTH, UNITS)
            self.layers = torch.nn.Sequential(*(Layer() for _ in range(LAYERS)))
            self.norm, self.output = torch.nn.LayerNorm(UNITS), torch.nn.Linear(UNITS, VOCAB, False)

        def forward(self, tokens: Any) -> Any:
            x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
            return self.output(self.norm(self.layers(x)))

    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), 1e-3, weight_decay=0.01, fused=True)

    def step(batch: np.ndarray[Any, Any]) -> float:
        rows = torch.tensor(batch.tolist())
        scores = net(rows[:, :-1])
        loss = functional.cross_entropy(scores.flatten(0, 1), rows[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return seconds_of_step(step, 5)


def write_torch(folder: str, begun: float) -> Numbers:
    """Tokens by transformers' `generate`."""
    import torch
    from transformers import GPT2LMHeadModel

    net = GPT2LMHeadModel.from_pretrained(folder).eval()
    prompt = torch.arange(1, PROMPT + 1)[None]
    options = {"do_sample": False, "pad_token_id": 0, "min_new_tokens": WRITTEN}
    rates = []
    with torch.inference_mode():
        net.generate(prompt, max_new_tokens=1, do_sample=False, pad_token_id=0)
        first = time.time() - begun
        for _ in range(4):
            start = time.perf_counter()
            net.generate(prompt, max_new_tokens=WRITTEN, **options)
            rates.append(WRITTEN / (time.perf_counter() - start))
    return {"first token (s)": first, "tokens a second": statistics.median(rates[-3:])}


def long_torch() -> Numbers:
    """PyTorch's own attention."""
    import torch

    shape = (1, LONG_HEADS, POSITIONS, LONG_UNITS)
    arrays = [torch.randn(shape, requires_grad=True) for _ in range(3)]

    def run() -> None:
        made = torch.nn.functional.scaled_dot_product_attention(*arrays, is_causal=True)
        made.backward(torch.ones_like(made))

    return peak_of(run)


# -- the runs --------------------------------------------------------------------------------------

WORKS: dict[str, dict[str, Callable[..., Numbers]]] = {
    "train": {"hybridnet": train_ours, "torch": train_torch},
    "write": {"hybridnet": write_ours, "torch": write_torch},
    "long": {"hybridnet": long_ours, "torch": long_torch},
}


def make_folder(folder: str) -> None:
    """Writes the GPT-2 that both read."""
    import hybridnet as hn
    from hybridnet.gluon.model_zoo import text

    hn.random.seed(0)
    net = text.gpt2()
    net.initialize()
    text.save(net, folder)


def run(python: str, library: str, work: str, folder: str, cache: str) -> Numbers:
    """Runs a work in a process of its own."""
    command = [python, __file__, "--child", library, "--works", work, "--folder", folder]
    environment = {**os.environ, "HYBRIDNET_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": ""}
    command += ["--begun", str(time.time())]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{library}, {work}:\n{done.stderr}")
    found: Numbers = json.loads(done.stdout.splitlines()[-1])
    return found


def table(work: str, rounds: list[dict[str, Numbers]]) -> list[str]:
    """Returns lines for the numbers of a work."""
    lines = []
    for name in rounds[0]["hybridnet"]:
        ours = [one["hybridnet"][name] for one in rounds]
        line = f"{work:6} {name:22} {statistics.median(ours):10.3f}"
        if "torch" in rounds[0]:
            theirs = [one["torch"][name] for one in rounds]
            ratio = statistics.median(a / b for a, b in zip(ours, theirs, strict=True))
            line += f" {statistics.median(theirs):10.3f} {ratio:8.2f}"
        lines.append(line)
    return lines


def main() -> None:
    """Runs the works, and prints a line for each number."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS))
    parser.add_argument("--torch-python", help="an interpreter that has torch and transformers")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="a file for all numbers")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--folder", default="", help=argparse.SUPPRESS)
    parser.add_argument("--begun", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        work = WORKS[args.works[0]][args.child]
        given = (args.folder, args.begun) if args.works[0] == "write" else ()
        print(json.dumps(work(*given)))
        return
    pythons = {"hybridnet": sys.executable}
    if args.torch_python:
        pythons["torch"] = args.torch_python
    print(f"{'':29} {'hybridnet':>10} {'torch':>10} {'ratio':>8}")
    every = {}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        if "write" in args.works:
            make_folder(folder)
        for work in args.works:
            rounds = [
                {name: run(python, name, work, folder, cache) for name, python in pythons.items()}
                for _ in range(args.rounds)
            ]
            every[work] = rounds
            print("\n".join(table(work, rounds)), flush=True)
    if args.json:
        args.json.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
