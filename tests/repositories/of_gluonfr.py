"""gluon-face (GluonFR): MobileFaceNet under ArcLoss, and its other losses on a small network."""

import mxnet as mx
import numpy as np
from drive import STEPS, begin, losses, main
from gluonfr.loss import get_loss
from gluonfr.model_zoo.mobile_facenet import get_mobile_facenet
from gluonfr.nn.basic_blocks import NormDense, SELayer
from mxnet import autograd, gluon

CLASSES = 5
DRAWN = np.random.RandomState(2)
FACES = DRAWN.uniform(-1, 1, (8, 3, 112, 112)).astype("float32")
LABELS = DRAWN.randint(0, CLASSES, 8).astype("float32")
#: A loss -> its parameters, and whether it is given the embeddings, too.
LOSSES = {
    "arcface": ({"m": 0.4, "s": 16, "classes": CLASSES}, False),
    "l2softmax": ({"classes": CLASSES, "alpha": 8}, False),
    "asoftmax": ({"classes": CLASSES, "m": 2, "s": 16}, False),
    "svxsoftmax": ({"classes": CLASSES, "s": 16}, False),
    "centerloss": ({"classes": CLASSES, "embedding_size": 16, "lamda": 0.1}, True),
    "cocoloss": ({"classes": CLASSES, "embedding_size": 16, "alpha": 6.25}, None),
}


def steps(parameters, loss_of, rate):
    trainer = gluon.Trainer(parameters, "sgd", {"learning_rate": rate, "momentum": 0.9})
    with losses() as seen:
        for _ in range(STEPS):
            with autograd.record():
                loss = loss_of()
            loss.backward()
            trainer.step(len(LABELS))
    return seen


def small(name):
    options, embedded = LOSSES[name]
    body = gluon.nn.HybridSequential(prefix="body_")
    body.add(gluon.nn.Dense(16, in_units=32), SELayer2D())
    head = NormDense(CLASSES, weight_norm=True, feature_norm=True, in_units=16, prefix="head_")
    loss = get_loss(name, **options)
    parameters = gluon.ParameterDict()
    for block in (body, loss) if embedded is None else (body, head, loss):
        block.initialize()
        parameters.update(block.collect_params())
    begin(parameters.values(), scale=0.5)
    x, y = mx.nd.array(FACES[:, 0, 0, :32]), mx.nd.array(LABELS)

    def loss_of():
        features = body(x)
        if embedded is None:
            out = loss(features, y)
            return out[0] if isinstance(out, (list, tuple)) else out
        return loss(head(features), y, features) if embedded else loss(head(features), y)

    return steps(parameters, loss_of, 0.003)


class SELayer2D(gluon.HybridBlock):
    """Their SELayer, on vectors."""

    def __init__(self):
        super().__init__()
        self.layer = SELayer(16, 16, reduction=4)

    def hybrid_forward(self, F, x):
        return self.layer(x.expand_dims(2).expand_dims(3)).flatten()


def network():
    net = get_mobile_facenet(classes=CLASSES, weight_norm=True, feature_norm=True)
    net.initialize()
    net.hybridize()
    return net


def shown(net):
    return {"scores": net(mx.nd.array(FACES))[1].asnumpy()}


def train(folder):
    net, loss = network(), get_loss("arcface", m=0.4, s=16, classes=CLASSES)
    x, y = mx.nd.array(FACES), mx.nd.array(LABELS)
    net(x)
    begin(net.collect_params().values())
    everything = {"MobileFaceNet": steps(net.collect_params(), lambda: loss(net(x)[1], y), 2e-6)}
    for name in LOSSES:
        everything[name] = small(name)
    net.save_parameters(str(folder / "faces.params"))
    net.export(str(folder / "faces"))
    return everything, {**shown(net), "exported": shown(net)["scores"]}


def read(folder):
    net = network()
    net.load_parameters(str(folder / "faces.params"))
    exported = gluon.SymbolBlock.imports(
        str(folder / "faces-symbol.json"), ["data"], str(folder / "faces-0000.params")
    )
    return {**shown(net), "exported": exported(mx.nd.array(FACES))[1].asnumpy()}


if __name__ == "__main__":
    main(train, read)
