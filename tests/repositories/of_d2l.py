"""Dive into Deep Learning, MXNet's edition on `mx.np`: chapters' cells, with the package d2l."""

import os
import re
import sys

import matplotlib

matplotlib.use("Agg")
import mxnet as mx
import numpy as np
from drive import Pictures, clone, draw_alike, main, run_chapter

BOOK = clone("d2l-en")
CHAPTERS = """
linear-networks/linear-regression-scratch
linear-networks/linear-regression-concise
linear-networks/softmax-regression-scratch
linear-networks/softmax-regression-concise
multilayer-perceptrons/mlp-scratch
multilayer-perceptrons/mlp-concise
multilayer-perceptrons/underfit-overfit
multilayer-perceptrons/weight-decay
convolutional-neural-networks/lenet
convolutional-modern/batch-norm
recurrent-neural-networks/sequence
recurrent-neural-networks/rnn-scratch
recurrent-neural-networks/rnn-concise
recurrent-modern/gru
recurrent-modern/lstm
recurrent-modern/seq2seq
attention-mechanisms/nadaraya-watson
attention-mechanisms/bahdanau-attention
attention-mechanisms/transformer
optimization/adadelta
optimization/adagrad
optimization/adam
optimization/momentum
optimization/rmsprop
""".split()
WORDS = "a the red blue old new cat dog house tree sees likes has finds no".split()


def cells(chapter):
    text = (BOOK / f"chapter_{chapter}.md").read_text()
    for code in re.findall(r"```\{\.python \.input[^}]*\}\n(.*?)```", text, re.S):
        tab = re.match(r"#@tab (.*)\n", code)
        if tab is None or "all" in tab[1] or "mxnet" in tab[1]:
            yield code.replace("32, 2, 0.1", "32, 2, 0.0")


def sentences(count, seed):
    drawn = np.random.RandomState(seed)
    return [" ".join(drawn.choice(WORDS, drawn.randint(2, 7))) for _ in range(count)]


def use_small_data(d2l):
    mx.gluon.data.vision.FashionMNIST = Pictures
    d2l.plot = d2l.show_trace_2d = d2l.plt.scatter = lambda *args, **kwargs: None
    d2l.get_dataloader_workers = lambda: 0
    d2l.read_time_machine = lambda: sentences(1000, 4)
    pairs = zip(sentences(600, 5), sentences(600, 6))
    text = "\n".join(f"{one} .\t{other} ." for one, other in pairs)
    d2l.read_data_nmt = lambda: text
    data = np.random.RandomState(8).normal(size=(1500, 6)).astype("float32")
    d2l.get_data_ch11 = lambda batch_size=10, n=1500: (
        d2l.load_array((mx.np.array(data[:, :-1]), mx.np.array(data[:, -1])), batch_size),
        5,
    )


def train(folder):
    draw_alike()
    from d2l import mxnet as d2l

    os.chdir(folder)
    everything, arrays = {}, {}
    for chapter in sys.argv[3:] or CHAPTERS:
        mx.npx.set_np()
        use_small_data(d2l)
        space = {"__name__": "__main__"}
        everything[chapter] = run_chapter(cells(chapter), space)
        if isinstance(space.get("net"), mx.gluon.Block) and space["net"].collect_params():
            name = chapter.replace("/", " ")
            space["net"].save_parameters(f"{name}.params")
            arrays[name] = shown(f"{name}.params")
    return everything, arrays


def shown(file):
    return [float(abs(each).sum()) for _, each in sorted(mx.npx.load(str(file)).items())]


def read(folder):
    mx.npx.set_np()
    return {path.stem: shown(path) for path in sorted(folder.glob("*.params"))}


if __name__ == "__main__":
    main(train, read)
