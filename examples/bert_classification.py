"""A BERT that tells what a sentence is about; or one of yours, tuned to sort your lines.

    python examples/bert_classification.py                           # a small BERT, from nothing
    python examples/bert_classification.py --folder bert-base-uncased --data reviews.tsv --rate 3e-5

`--folder` is one of Hugging Face's: its weights, with a new head, and its tokenizer. `--data` has a
class, a tab and a text in each line; without it the sentences are those of some pages in docs/.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tokenizers

import hybridnet as mx
from hybridnet import autograd, gluon, nd
from hybridnet.gluon.model_zoo import text

PAGES = Path(__file__).parent.parent / "docs"
#: Classes of sentences, and the pages they are from.
TOPICS = {
    "machines": ("distribution", "protocol", "collectives", "promises", "devices"),
    "graphs": ("passes", "function", "control-flow", "session", "tensorflow"),
    "speed": ("performance", "tuning", "benchmarks", "memory"),
    "files": ("data", "checkpoints", "interchange", "security", "migration"),
}


class Example(NamedTuple):
    """A text and the number of its class."""

    written: str
    label: int


def sentences(page: Path) -> list[str]:
    """The sentences of a page, without its code."""
    prose = re.sub(r"```.*?```", " ", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.split(r"(?<=[.:])\s+|\n\s*\n", prose)
    return [" ".join(one.split()) for one in found if len(one.split()) > 5]


def read(data: Path | None) -> tuple[list[Example], list[str]]:
    """The examples, in random order, and the names of the classes."""
    if data is None:
        rows = [
            (topic, one)
            for topic, pages in TOPICS.items()
            for page in pages
            for one in sentences(PAGES / f"{page}.md")
        ]
    else:
        lines = data.read_text(encoding="utf-8").splitlines()
        rows = [(name, one) for name, tab, one in (line.partition("\t") for line in lines) if tab]
    names = sorted({name for name, _ in rows})
    examples = [Example(written, names.index(name)) for name, written in rows]
    random.Random(0).shuffle(examples)
    return examples, names


class WordPieces:
    """A tokenizer that is made of the examples, by the library `tokenizers`."""

    def __init__(self, written: Sequence[str], size: int) -> None:
        self._rules = tokenizers.BertWordPieceTokenizer()
        self._rules.train_from_iterator(written, vocab_size=size, show_progress=False)

    def __len__(self) -> int:
        return int(self._rules.get_vocab_size())

    def encode(self, written: str) -> list[int]:
        """Numbers of the pieces of words."""
        return list(self._rules.encode(written).ids)


class Batch(NamedTuple):
    """Texts, filled up: tokens (batch, length), lengths (batch,), labels (batch,)."""

    tokens: nd.NDArray
    lengths: nd.NDArray
    labels: nd.NDArray


def batches(examples: Sequence[Example], tokenizer: Any, size: int, length: int) -> Iterator[Batch]:
    """Yields the examples, `size` at a time; the last few that fill no batch are left out."""
    for first in range(0, len(examples) - size + 1, size):
        part = examples[first : first + size]
        rows = [tokenizer.encode(one.written)[:length] for one in part]
        filled = np.zeros((size, length), np.int32)
        for place, row in zip(filled, rows, strict=True):
            place[: len(row)] = row
        yield Batch(
            nd.array(filled, dtype="int32"),
            nd.array([len(row) for row in rows], dtype="int32"),
            nd.array([one.label for one in part]),
        )


def accuracy(net: gluon.HybridBlock, held: Sequence[Batch]) -> float:
    """How many labels are found."""
    metric = mx.metric.Accuracy()
    for batch in held:
        metric.update(batch.labels, net(batch.tokens, None, batch.lengths))
    return float(metric.get()[1])


def rate(step: int, steps: int, highest: float) -> float:
    """A learning rate that grows for a tenth of the steps, and then falls in a line."""
    warm = max(steps // 10, 1)
    return highest * min((step + 1) / warm, (steps - step) / max(steps - warm, 1))


def main() -> None:
    """Reads the options, trains, and prints how it goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", help="a BERT to begin with, of Hugging Face's")
    parser.add_argument("--data", type=Path, help="lines of a class, a tab and a text")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=48, help="tokens that are read of a text")
    parser.add_argument("--rate", type=float, default=1e-3, help="the highest learning rate")
    parser.add_argument("--save", type=Path, help="a folder for the network")
    args = parser.parse_args()

    mx.random.seed(0)
    examples, names = read(args.data)
    count = max(len(examples) // 5, args.batch)
    if len(examples) - count < args.batch or len(names) < 2:
        parser.error(f"there are {len(examples)} examples of {len(names)} classes: too few")
    train, held = examples[count:], examples[:count]
    print(f"{len(train)} examples to learn from, {count} to test with, {len(names)} classes")

    tokenizer: Any
    if args.folder:
        tokenizer = text.load_tokenizer(args.folder)
        net = text.load(
            args.folder, architecture="BertForSequenceClassification", num_labels=len(names)
        )
    else:
        tokenizer = WordPieces([one.written for one in train], size=2000)
        sizes = {"units": 64, "layers": 2, "heads": 4, "hidden_units": 128}
        net = text.bert(
            "classifier",
            classes=len(names),
            vocab_size=len(tokenizer),
            max_length=args.length,
            **sizes,
        )
        net.initialize()
    net.hybridize()

    entropy = gluon.loss.SoftmaxCELoss(smoothing=0.1)
    trainer = gluon.Trainer(net.collect_params(), "adamw", {"wd": 0.01})
    tests = [*batches(held, tokenizer, args.batch, args.length)]
    steps, step = args.epochs * (len(train) // args.batch), 0
    for epoch in range(args.epochs):
        begun = time.monotonic()
        random.Random(epoch).shuffle(train)
        losses = []
        for batch in batches(train, tokenizer, args.batch, args.length):
            trainer.set_learning_rate(rate(step, steps, args.rate))
            with autograd.record():
                loss = entropy(net(batch.tokens, None, batch.lengths), batch.labels)
            loss.backward()
            trainer.step(args.batch)
            losses.append(loss.mean())
            step += 1
        mean = nd.stack(*losses).mean().asscalar()
        print(
            f"epoch {epoch}: loss {mean:.3f}, accuracy {accuracy(net, tests):.3f}, "
            f"{time.monotonic() - begun:.1f} s",
            flush=True,
        )
    if args.save:
        text.save(net, args.save)
        print(f"{args.save}: the network")


if __name__ == "__main__":
    main()
