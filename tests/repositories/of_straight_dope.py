"""The Straight Dope: the cells of its notebooks, run in their order, on small data."""

import contextlib
import io
import json
import os
import re
import sys

import matplotlib

matplotlib.use("Agg")
import mxnet as mx
import numpy as np
from drive import Pictures, clone, main, run_chapter

BOOK = clone("mxnet-the-straight-dope")
CHAPTERS = """
chapter02_supervised-learning/linear-regression-gluon
chapter02_supervised-learning/linear-regression-scratch
chapter02_supervised-learning/logistic-regression-gluon
chapter02_supervised-learning/regularization-gluon
chapter02_supervised-learning/regularization-scratch
chapter02_supervised-learning/softmax-regression-gluon
chapter02_supervised-learning/softmax-regression-scratch
chapter03_deep-neural-networks/custom-layer
chapter03_deep-neural-networks/mlp-dropout-scratch
chapter03_deep-neural-networks/mlp-gluon
chapter03_deep-neural-networks/mlp-scratch
chapter04_convolutional-neural-networks/cnn-batch-norm-gluon
chapter04_convolutional-neural-networks/cnn-gluon
chapter04_convolutional-neural-networks/cnn-scratch
chapter05_recurrent-neural-networks/gru-scratch
chapter05_recurrent-neural-networks/lstm-scratch
chapter05_recurrent-neural-networks/rnns-gluon
chapter05_recurrent-neural-networks/simple-rnn
chapter06_optimization/adadelta-gluon
chapter06_optimization/adadelta-scratch
chapter06_optimization/adagrad-gluon
chapter06_optimization/adagrad-scratch
chapter06_optimization/adam-gluon
chapter06_optimization/adam-scratch
chapter06_optimization/gd-sgd-gluon
chapter06_optimization/gd-sgd-scratch
chapter06_optimization/momentum-gluon
chapter06_optimization/momentum-scratch
chapter06_optimization/rmsprop-gluon
chapter06_optimization/rmsprop-scratch
""".split()


def cells(chapter):
    book = json.loads((BOOK / f"{chapter}.ipynb").read_text())
    for each in book["cells"]:
        if each["cell_type"] == "code":
            code = "".join(each["source"])
            code = code.replace("mx.gpu()", "mx.cpu()").replace("mx.gpu(0)", "mx.cpu()")
            code = re.sub(r"\b(epochs|num_epochs) ?= ?\d+", r"\1 = 1", code)
            yield code.replace("dropout = 0.2", "dropout = 0")


def write_data(folder):
    """Files at the places where the notebooks look for theirs."""
    words = "the time machine by wells was left in a garden of white sphinxes".split()
    drawn = np.random.RandomState(4)
    texts = folder / "data" / "nlp"
    texts.mkdir(parents=True, exist_ok=True)
    (texts / "timemachine.txt").write_text(" ".join(drawn.choice(words, 30000)))
    for part in ("train", "valid", "test"):
        lines = (" ".join(drawn.choice(words, 12)) for _ in range(400 if part == "train" else 60))
        (texts / f"ptb.{part}.txt").write_text(" \n ".join(lines))
    (folder / "data" / "adult").mkdir(exist_ok=True)
    for part, count in (("train", 1280), ("test", 100)):
        rows = []
        for _ in range(count):
            places = sorted(drawn.choice(np.arange(1, 124), 14, replace=False))
            sign = "+1" if places[0] < 8 else "-1"
            rows.append(" ".join([sign, *(f"{place}:1" for place in places)]) + " ")
        (folder / "data" / "adult" / f"a1a.{part}").write_text("\n".join(rows))


def ordered(items=()):
    """Stands for `set`: chapter 5 numbers letters in a set's order, other in each Python."""
    return dict.fromkeys(items)


def small_mnist():
    train, test = Pictures(), Pictures(train=False)
    answer = {}
    for part, data in (("train", train), ("test", test)):
        answer[f"{part}_data"] = data.images.transpose(0, 3, 1, 2).astype("float32") / 255
        answer[f"{part}_label"] = data.labels
    return answer


def train(folder):
    write_data(folder)
    mx.gluon.data.vision.MNIST = Pictures
    mx.test_utils.get_mnist = small_mnist
    (folder / "chapter").mkdir(exist_ok=True)
    os.chdir(folder / "chapter")
    everything = {}
    for chapter in sys.argv[3:] or CHAPTERS:
        space = {"__name__": "__main__", "set": ordered}
        with contextlib.redirect_stdout(io.StringIO()):
            everything[chapter] = run_chapter(cells(chapter), space)
    return everything, None


if __name__ == "__main__":
    main(train)
