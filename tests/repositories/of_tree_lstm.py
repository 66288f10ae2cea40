"""Tree-LSTM: the notebook of The Straight Dope's chapter 9, on random trees."""

import hashlib
import json
import os
import pickle
import random
import sys
import types

import mxnet as mx
import numpy as np
from drive import clone, draw_alike, main, run_cells

NOTEBOOK = (
    clone("mxnet-the-straight-dope") / "chapter09_natural-language-processing/tree-lstm.ipynb"
)
FILE, HASH = "tree_lstm_dataset-3d85a6c4.cPickle", "3d85a6c44a335a33edc060028f91395ab0dcf601"
SIZES = {
    "= 150, 50, 5": "= 12, 8, 5",
    "batch_size = 25": "batch_size = 2",
    "training_batches_per_epoch = 10": "training_batches_per_epoch = 20",
}


def tree(book, size):
    """A tree whose nodes are numbered from the root."""
    nodes = [book.Tree(0)]
    for k in range(1, size):
        nodes.append(book.Tree(k))
        nodes[random.randrange(k)].children.append(nodes[k])
    return nodes[0]


def write_data(book):
    """Writes what the notebook downloads; returns its hash."""
    words = [f"word{k}" for k in range(20)]
    vocab = book.Vocab()
    for word in words:
        vocab.add(word)
    vocab.embed = mx.nd.array(np.random.normal(size=(vocab.size, 10)) * 0.1)
    parts = []
    for count in (40, 6, 6):
        part = book.SICKDataIter(None, vocab, 5, shuffle=False)
        part.size = count
        for _ in range(count):
            for trees, sentences in (
                (part.l_trees, part.l_sentences),
                (part.r_trees, part.r_sentences),
            ):
                size = random.randrange(2, 8)
                trees.append(tree(book, size))
                sentences.append(mx.nd.array(np.random.randint(4, vocab.size, size)))
            part.labels.append(1 + 4 * random.random())
        parts.append(part)
    data = pickle.dumps((*parts, vocab))
    with open(FILE, "wb") as file:
        file.write(data)
    return hashlib.sha1(data).hexdigest()


def codes():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return ["".join(each["source"]) for each in cells if each["cell_type"] == "code"]


def cells(book):
    for code in codes():
        for theirs, ours in SIZES.items():
            code = code.replace(theirs, ours)
        yield code.replace(HASH, write_data(book)) if HASH in code else code


def train(folder):
    os.chdir(folder)
    draw_alike()
    book = sys.modules["tree_book"] = types.ModuleType("tree_book")
    seen = run_cells(cells(book), vars(book))
    book.net.save_parameters("tree.params")
    return seen, shown(book.net)


def shown(net):
    return {
        name[name.index("_") :]: each.data().asnumpy()
        for name, each in net.collect_params().items()
    }


def read(folder):
    """The parameters alone, in a network of the notebook's classes."""
    book = types.ModuleType("tree_book")
    for code in codes()[:6]:
        exec(code, vars(book))
    net = book.SimilarityTreeLSTM(8, 12, 24, 10, 5)
    net.load_parameters(str(folder / "tree.params"))
    return shown(net)


if __name__ == "__main__":
    main(train, read)
