"""A network of gluon's, trained, saved and loaded, as MXNet's users write it."""

import argparse
import os
import tempfile

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn
from mxnet.gluon.nn.basic_layers import Dense

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=1)
parser.add_argument("--hybridize", action="store_true")
options = parser.parse_args()


class Net(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.hidden = nn.Dense(16, activation="relu")
            self.out = Dense(2)

    def hybrid_forward(self, F, x):
        assert F is mx.nd or F is mx.sym
        return self.out(self.hidden(x))


mx.random.seed(1)
np.random.seed(1)
x = np.random.normal(size=(64, 5)).astype(np.float)
y = (x.sum(axis=1) > 0).astype(np.int)
net = Net()
net.initialize(mx.init.Xavier(), ctx=mx.cpu())
if options.hybridize:
    net.hybridize()
trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
accuracy = mx.metric.Accuracy()
for _ in range(options.epochs):
    accuracy.reset()
    for at in range(0, 64, 16):
        data, label = nd.array(x[at : at + 16]), nd.array(y[at : at + 16])
        with autograd.record():
            out = net(data)
            loss = loss_of(out, label)
        loss.backward()
        trainer.step(16)
        accuracy.update([label], [out])
assert accuracy.get()[1] > 0.9, accuracy.get()

path = os.path.join(tempfile.mkdtemp(), "net.params")
net.save_parameters(path)
other = Net()
other.load_parameters(path, ctx=mx.cpu())
mx.test_utils.assert_almost_equal(net(nd.array(x)), other(nd.array(x)))
print("learned", mx.__version__)
