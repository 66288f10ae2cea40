"""The next word: an LSTM reads text in rows beside each other and keeps its state between batches.

    python examples/word_language_model.py                    # text made by a small grammar
    python examples/word_language_model.py --text book.txt --hidden 200 --epochs 20

Printed is the perplexity: among how many words the network hesitates. A model that knows nothing
hesitates among all words.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hybridnet as mx
from hybridnet import autograd, gluon, nd
from hybridnet.gluon import nn, rnn


def grammar(sentences: int) -> list[str]:
    """Sentences such as: the old king saw a ship and the queen slept ."""
    draw = random.Random(0)

    def noun() -> list[str]:
        old = draw.choice([["old"], ["tall"], []])
        return [draw.choice(["the", "a"]), *old, draw.choice(["king", "queen", "ship", "tree"])]

    def clause() -> list[str]:
        verb = draw.choice(["saw", "found", "slept"])
        return [*noun(), verb, *([] if verb == "slept" else noun())]

    words: list[str] = []
    for _ in range(sentences):
        more = ["and", *clause()] if draw.random() < 0.3 else []
        words += [*clause(), *more, "."]
    return words


class Model(gluon.HybridBlock):
    """Words to vectors, LSTM layers, and a score for each word that may come next."""

    def __init__(self, words: int, hidden: int, layers: int, dropout: float) -> None:
        super().__init__()
        with self.name_scope():
            self.embedding = nn.Embedding(words, hidden)
            self.dropout = nn.Dropout(dropout)
            self.lstm = rnn.LSTM(hidden, layers, dropout=dropout, input_size=hidden)
            self.scores = nn.Dense(words, in_units=hidden, flatten=False)

    def hybrid_forward(self, F: Any, x: Any, state: Any) -> Any:
        """Scores (steps, batch, words) after each of the words (steps, batch), and the state."""
        out, state = self.lstm(self.dropout(self.embedding(x)), state)
        return self.scores(self.dropout(out)), state


def batches(rows: np.ndarray, steps: int) -> Iterator[tuple[nd.NDArray, nd.NDArray]]:
    """Yields (steps, batch) words, and those that follow them."""
    for begin in range(0, len(rows) - 1, steps):
        end = min(begin + steps, len(rows) - 1)
        if end - begin == steps:  # each other length would be another program
            yield nd.array(rows[begin:end]), nd.array(rows[begin + 1 : end + 1])


def main() -> None:
    """Reads the options, trains, and prints how it goes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, help="a text file; default a small grammar's")
    parser.add_argument("--sentences", type=int, default=1500, help="of the grammar")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--steps", type=int, default=16, help="words between two updates")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--rate", type=float, default=0.01)
    options = parser.parse_args()

    mx.random.seed(0)
    words = (
        options.text.read_text(encoding="utf-8").split()
        if options.text
        else grammar(options.sentences)
    )
    number = {word: index for index, word in enumerate(sorted(set(words)))}
    text = np.array([number[word] for word in words], "float32")
    length = len(text) // options.batch
    rows = text[: length * options.batch].reshape(options.batch, length).T
    print(f"{len(words)} words, {len(number)} different ones")

    model = Model(len(number), options.hidden, options.layers, options.dropout)
    model.initialize(mx.init.Xavier())
    model.hybridize()
    trainer = gluon.Trainer(model.collect_params(), "adam", {"learning_rate": options.rate})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    for epoch in range(options.epochs):
        state = model.lstm.begin_state(batch_size=options.batch)
        losses = []
        for x, y in batches(rows, options.steps):
            state = [array.detach() for array in state]  # gradients end here, values go on
            with autograd.record():
                scores, state = model(x, state)
                loss = loss_of(scores.reshape((-3, -1)), y.reshape((-1,)))
            loss.backward()
            gradients = [one.grad() for one in model.collect_params().values()]
            gluon.utils.clip_global_norm(gradients, options.batch * options.steps)
            trainer.step(options.batch * options.steps)
            losses.append(loss.mean())
        mean = float(nd.concat(*losses, dim=0).mean().asscalar())
        print(f"epoch {epoch}: perplexity {math.exp(mean):.2f}")


if __name__ == "__main__":
    main()
