"""GluonCV: segmentation by a fully convolutional network."""

import mxnet as mx
import numpy as np
from drive import STEPS, begin, losses, main
from gluoncv.loss import MixSoftmaxCrossEntropyLoss
from gluoncv.model_zoo.fcn import FCN
from mxnet import autograd, gluon

DRAWN = np.random.RandomState(2)
X = DRAWN.uniform(-1, 1, (2, 3, 64, 64)).astype("float32")
Y = (X.sum(axis=1) > 0).astype("float32") + (X[:, 0] > 0.5)


def without_dropout(net):
    def change(block):
        if isinstance(block, gluon.nn.Dropout):
            block._rate = 0

    net.apply(change)


def segmentation():
    net = FCN(
        nclass=3,
        backbone="resnet50",
        pretrained_base=False,
        crop_size=64,
        norm_kwargs={"use_global_stats": True},
    )
    without_dropout(net)
    return net


def steps(net, loss_of, rate):
    begin(net.collect_params().values(), gain=1.1)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": rate})
    with losses() as seen:
        for _ in range(STEPS):
            with autograd.record():
                loss = loss_of()
            loss.backward()
            trainer.step(1)
    return seen


def train(folder):
    net = segmentation()
    net.initialize()
    net.hybridize()
    x, y = mx.nd.array(X), mx.nd.array(Y)
    net(x)
    criterion = MixSoftmaxCrossEntropyLoss(aux=True)
    everything = {"FCN": steps(net, lambda: criterion(*net(x), y).mean(), 1e-4)}
    net.save_parameters(str(folder / "fcn.params"))
    return everything, {"scores": net(x)[0].asnumpy()}


def read(folder):
    net = segmentation()
    net.load_parameters(str(folder / "fcn.params"))
    return {"scores": net(mx.nd.array(X))[0].asnumpy()}


if __name__ == "__main__":
    main(train, read)
