"""A character GPT: it reads the pages in docs/ for two minutes, and writes some more.

    python examples/gpt.py                                  # loss.png and sample.txt
    python examples/gpt.py --text book.txt --seconds 600 --layers 6 --units 384 --length 256

The network is GPT-2 (`gluon.model_zoo.text`) with characters in the place of words. `--save DIR`
writes a folder that Hugging Face's transformers reads, too.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import hybridnet as mx
from hybridnet import autograd, gluon, nd
from hybridnet.gluon.model_zoo import text

PAGES = Path(__file__).parent.parent / "docs"


class Characters:
    """The characters of a text, and their numbers."""

    def __init__(self, written: str) -> None:
        self.all = sorted(set(written))
        self._numbers = {one: number for number, one in enumerate(self.all)}

    def encode(self, written: str) -> list[int]:
        """Numbers of characters; of those that the text does not have, a blank's."""
        blank = self._numbers.get(" ", 0)
        return [self._numbers.get(one, blank) for one in written]

    def decode(self, numbers: list[int]) -> str:
        """Characters of numbers."""
        return "".join(self.all[number] for number in numbers)


def read(files: list[Path]) -> str:
    """The text of some files, one after another."""
    return "\n".join(file.read_text(encoding="utf-8") for file in files)


def batches(data: np.ndarray, batch: int, length: int) -> Iterator[tuple[nd.NDArray, nd.NDArray]]:
    """Yields pieces of the text (batch, length), and the characters that follow each, for ever."""
    draw = np.random.default_rng(0)
    while True:
        begin = draw.integers(0, len(data) - length, batch)
        pieces = np.stack([data[one : one + length + 1] for one in begin])
        yield nd.array(pieces[:, :-1], dtype="int32"), nd.array(pieces[:, 1:], dtype="int32")


def rate(progress: float, highest: float) -> float:
    """A learning rate that grows for a twentieth of the time, and then falls along a cosine."""
    if progress < 0.05:
        return highest * (0.1 + 0.9 * progress / 0.05)
    return highest * (0.1 + 0.45 * (1 + math.cos(math.pi * (progress - 0.05) / 0.95)))


def mean_loss(net: text.GPT2, data: np.ndarray, batch: int, length: int) -> float:
    """The loss of text that was not trained on, in bits a character."""
    loss_of = gluon.loss.SoftmaxCELoss()
    source = batches(data, batch, length)
    losses = [loss_of(net(x), y).mean().asscalar() for x, y in (next(source) for _ in range(8))]
    return float(np.mean(losses)) / math.log(2)


def train(
    net: text.GPT2, data: np.ndarray, seconds: float, batch: int, length: int, highest: float
) -> list[tuple[float, float]]:
    """Trains for some time; returns seconds and losses, in bits a character."""
    loss_of = gluon.loss.SoftmaxCELoss()
    trainer = gluon.Trainer(net.collect_params(), "adamw", {"wd": 0.1, "beta2": 0.99})
    weights = [one for one in net.collect_params().values() if one.grad_req != "null"]
    seen: list[tuple[float, float]] = []
    kept: list[nd.NDArray] = []
    start = said = time.monotonic()
    for x, y in batches(data, batch, length):
        passed = time.monotonic() - start
        if passed > seconds:
            break
        trainer.set_learning_rate(rate(passed / seconds, highest))
        with autograd.record():
            loss = loss_of(net(x), y).mean()
        loss.backward()
        gluon.utils.clip_global_norm([one.grad() for one in weights], 1.0, check_isfinite=False)
        trainer.step(1)
        kept.append(loss)
        if len(kept) == 10:  # read ten at a time, so that the loop seldom waits
            mean = float(nd.stack(*kept).mean().asscalar()) / math.log(2)
            seen.append((time.monotonic() - start, mean))
            kept.clear()
            if time.monotonic() - said > 10:
                said = time.monotonic()
                print(
                    f"{said - start:4.0f} s  step {10 * len(seen):5}  {mean:.3f} bits a character"
                )
    return seen


def draw_losses(seen: list[tuple[float, float]], file: Path) -> None:
    """Writes a picture of the losses; with matplotlib (`hybridnet[viz]`)."""
    try:
        import matplotlib
    except ImportError:
        print("there is no matplotlib to draw the losses with: pip install 'hybridnet[viz]'")
        return
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    axes.plot(*zip(*seen, strict=True))
    axes.set(xlabel="seconds", ylabel="bits a character", title="loss in training")
    axes.grid(alpha=0.3)
    figure.savefig(file, dpi=120, bbox_inches="tight")
    print(f"{file}: the losses")


def main() -> None:
    """Reads the options, trains, and writes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--text", type=Path, nargs="+", help="text files; default the pages in docs/"
    )
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--length", type=int, default=128, help="characters that are seen at once")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=2e-3, help="the highest learning rate")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--prompt", default="hybridnet is ")
    parser.add_argument("--write", type=int, default=600, help="characters that are written")
    parser.add_argument("--out", type=Path, default=Path(), help="where files go")
    parser.add_argument("--save", type=Path, help="a folder for the network")
    args = parser.parse_args()

    mx.random.seed(0)
    written = read(args.text or sorted(PAGES.glob("*.md")))
    characters = Characters(written)
    data = np.array(characters.encode(written), np.int32)
    last = max(len(data) // 10, args.length + 1)
    if len(data) < 2 * last:
        parser.error(f"the text has {len(data)} characters; --length {args.length} needs more")
    print(f"{len(data)} characters, {len(characters.all)} different ones")

    net = text.gpt2(
        vocab_size=len(characters.all),
        units=args.units,
        layers=args.layers,
        heads=args.heads,
        max_length=args.length,
        dropout=args.dropout,
        attention_dropout=args.dropout,
        embedding_dropout=args.dropout,
    )
    net.initialize()
    net.hybridize()
    args.out.mkdir(parents=True, exist_ok=True)
    seen = train(net, data[:-last], args.seconds, args.batch, args.length, args.rate)
    held = mean_loss(net, data[-last:], args.batch, args.length)
    print(f"text that it has not seen: {held:.3f} bits a character")
    if seen:
        draw_losses(seen, args.out / "loss.png")

    prompt = args.prompt[-args.length // 2 :]
    most = args.length - len(prompt)
    sample = prompt
    print(prompt, end="")
    while len(sample) - len(prompt) < args.write:  # what it has seen is half of what it can see
        tokens = characters.encode(sample[-args.length // 2 :])
        count = min(most, args.length - len(tokens), args.write)
        for (token,) in text.stream(net, tokens, count, temperature=0.7):
            sample += characters.all[token]
            print(sample[-1], end="", flush=True)
    print()
    (args.out / "sample.txt").write_text(sample + "\n", encoding="utf-8")
    if args.save:
        text.save(net, args.save)
        print(f"{args.save}: the network")


if __name__ == "__main__":
    main()
