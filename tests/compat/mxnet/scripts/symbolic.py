"""A symbol that is bound, trained by hand, and written in MXNet's format."""

import mxnet
import mxnet.symbol as sym
import numpy as np
from mxnet.base import MXNetError
from mxnet.initializer import Uniform
from mxnet.symbol.symbol import Symbol

assert mxnet.__version__.split(".")[:2] == ["1", "9"]

data = sym.Variable("data")
net = sym.FullyConnected(data, num_hidden=8, name="fc1")
net = sym.Activation(net, act_type="tanh", name="act")
net = sym.FullyConnected(net, num_hidden=2, name="fc2")
net = sym.SoftmaxOutput(net, name="softmax")
assert isinstance(net, Symbol)
assert isinstance(sym.load_json(net.tojson()), mxnet.sym.Symbol)
assert net.list_arguments()[:3] == ["data", "fc1_weight", "fc1_bias"]

mxnet.random.seed(0)
executor = net.simple_bind(mxnet.cpu(), data=(32, 4), softmax_label=(32,))
start = Uniform(0.5)
weights = {name: array for name, array in executor.arg_dict.items() if name.startswith("fc")}
for name, array in weights.items():
    start(mxnet.init.InitDesc(name), array)
random = np.random.RandomState(0)
x = random.uniform(-1, 1, (32, 4)).astype("float32")
y = (x[:, 0] > x[:, 1]).astype("float32")
updater = mxnet.optimizer.get_updater(mxnet.optimizer.create("sgd", learning_rate=0.5 / 32))
for _ in range(200):
    out = executor.forward(is_train=True, data=x, softmax_label=y)[0]
    executor.backward()
    for index, name in enumerate(sorted(weights)):
        updater(index, executor.grad_dict[name], weights[name])
right = (out.asnumpy().argmax(axis=1) == y).mean()
assert right > 0.95, right
try:
    mxnet.nd.ones((2, 3)).reshape((7,))
except MXNetError as error:
    print("refused", type(error).__name__)
