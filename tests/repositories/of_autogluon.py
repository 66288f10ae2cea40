"""AutoGluon 0.1: its network for tables (numbers, and categories as embeddings), in both forms."""

import importlib.util

import mxnet as mx
import numpy as np
from drive import STEPS, begin, clone, losses, main
from mxnet import autograd, gluon

FILE = clone("autogluon") / "tabular/src/autogluon/tabular/models/tabular_nn/embednet.py"
spec = importlib.util.spec_from_file_location("embednet", FILE)
embednet = importlib.util.module_from_spec(spec)
spec.loader.exec_module(embednet)

DRAWN = np.random.RandomState(2)
SIZES = [7, 12]
ROWS = 64
BATCH = {
    "vector": DRAWN.normal(size=(ROWS, 5)).astype("float32"),
    "embed": [DRAWN.randint(0, size, (ROWS, 1)) for size in SIZES],
}
PARAMS = {
    "numeric_embed_dim": 16,
    "activation": "relu",
    "layers": [32, 16],
    "use_batchnorm": False,
    "dropout_prob": 0.0,
    "max_embedding_dim": 100,
    "embed_exponent": 0.56,
    "embedding_size_factor": 1.0,
}
NETWORKS = {
    "feedforward, three classes": {"network_type": "feedforward", "y_range": None},
    "widedeep, three classes": {"network_type": "widedeep", "y_range": None},
    "widedeep, numbers between bounds": {"network_type": "widedeep", "y_range": (-3.0, 3.0)},
}


class Table:
    """What the network asks of its data set."""

    def has_vector_features(self):
        return True

    def num_embed_features(self):
        return len(SIZES)

    def num_language_features(self):
        return 0

    def getNumCategoriesEmbeddings(self):
        return SIZES


def batch():
    return {
        "vector": mx.nd.array(BATCH["vector"]),
        "embed": [mx.nd.array(each) for each in BATCH["embed"]],
    }


def train(folder):
    everything, arrays = {}, {}
    x, y = BATCH["vector"], {}
    y["classes"] = mx.nd.array(np.argmax(x[:, :3], axis=1))
    y["numbers"] = mx.nd.array(np.tanh(x[:, :1]) + x[:, 1:2] * 0.3)
    for name, options in NETWORKS.items():
        bounded = options["y_range"] is not None
        net = embednet.EmbedNet(Table(), {**PARAMS, **options}, 1 if bounded else 3)
        net.initialize()
        net(batch())
        begin(net.collect_params().values())
        criterion = gluon.loss.L1Loss() if bounded else gluon.loss.SoftmaxCrossEntropyLoss()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
        with losses() as seen:
            for _ in range(STEPS):
                with autograd.record():
                    loss = criterion(net(batch()), y["numbers" if bounded else "classes"])
                loss.backward()
                trainer.step(ROWS)
        everything[name] = seen
        net.save_parameters(str(folder / f"{name}.params"))
        arrays[name] = net(batch()).asnumpy()
    return everything, arrays


def read(folder):
    arrays = {}
    for name, options in NETWORKS.items():
        outputs = 1 if options["y_range"] else 3
        net = embednet.EmbedNet(Table(), {**PARAMS, **options}, outputs)
        net.load_parameters(str(folder / f"{name}.params"))
        arrays[name] = net(batch()).asnumpy()
    return arrays


if __name__ == "__main__":
    main(train, read)
