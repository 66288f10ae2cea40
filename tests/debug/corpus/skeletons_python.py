"""Operators, data, updates and metrics that users write in Python."""

from __future__ import annotations

from skeletons import Skeleton

PYTHON = [
    Skeleton(
        "autograd_function",
        "operators in Python",
        """
import hybridnet as mx
from hybridnet import autograd, nd


class $Own(autograd.Function):
    def forward(self, $x):
        $before
        $CULPRIT
        $after
        return $y

    def backward(self, dy):
        return dy * 0.5


$w = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
$w.attach_grad()
with autograd.record():
    $loss = nd.sum($Own()($w * 0.9))
$loss.backward()
results = [$loss.asnumpy(), $w.grad.asnumpy()]
""",
        "nd",
        peer="own_function",
    ),
    Skeleton(
        "autograd_function_backward",
        "operators in Python",
        """
import hybridnet as mx
from hybridnet import autograd, nd


class $Own(autograd.Function):
    def forward(self, v):
        self.save_for_backward(v)
        return v * 2

    def backward(self, dy):
        ($x,) = self.saved_tensors
        $CULPRIT
        return dy * $y


$w = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
$w.attach_grad()
for $turn in range($T):
    with autograd.record():
        $loss = nd.mean($Own()($w) ** 2)
    $loss.backward()
results = [$loss.asnumpy(), $w.grad.asnumpy()]
print(results[1].mean())
""",
        "nd",
        peer="own_backward",
    ),
    Skeleton(
        "custom_op",
        "operators in Python",
        """
import hybridnet as mx
from hybridnet import nd


class $Own(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        $x = in_data[0]
        $before
        $CULPRIT
        self.assign(out_data[0], req[0], $y)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0])


@mx.operator.register("$name1")
class $Net(mx.operator.CustomOpProp):
    def list_arguments(self):
        return ["data"]

    def infer_shape(self, in_shape):
        return in_shape, [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return $Own()


$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
out = nd.Custom($data, op_type="$name1")
results = [out.asnumpy()]
print(out.shape)
""",
        "nd",
    ),
    Skeleton(
        "custom_op_symbol",
        "operators in Python",
        """
import hybridnet as mx
from hybridnet import nd, sym


@mx.operator.register("$name1")
class $Net(mx.operator.CustomOpProp):
    def infer_shape(self, in_shape):
        return [in_shape[0]], [in_shape[0]], []

    def create_operator(self, ctx, shapes, dtypes):
        return $Own()


class $Own(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 0.5)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        $x = in_data[0]
        $CULPRIT
        self.assign(in_grad[0], req[0], out_grad[0] * $y)


$net = sym.Custom(sym.sigmoid(sym.var("v")), op_type="$name1")
rows = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
grad = nd.zeros(($R, $C))
executor = $net.bind(mx.cpu(), {"v": rows}, args_grad={"v": grad})
executor.forward(is_train=True)
executor.backward(nd.ones(($R, $C)))
results = [grad.asnumpy()]
print(results[0].max())
""",
        "nd",
        peer="own_backward",
    ),
    Skeleton(
        "dataset",
        "data",
        """
import numpy

import hybridnet as mx
from hybridnet import gluon, nd


class $Net(gluon.data.Dataset):
    def __len__(self):
        return 2 * $T

    def __getitem__(self, index):
        $x = nd.array(numpy.linspace(0.1, 0.9, $N).reshape($R, $C)) * 0.9
        if index == $BAD:
            $CULPRIT
            return nd.tanh($y)
        return nd.tanh($x)


loader = gluon.data.DataLoader($Net(), batch_size=2, num_workers=$WORKERS)
total = nd.zeros(($R, $C))
for batch in loader:
    total = total + batch.sum(axis=0)  #$SEEN
results = [total.asnumpy()]
print(total.shape)
""",
        "nd",
        peer="dataset",
        alone=True,
    ),
    Skeleton(
        "transform",
        "data",
        """
import numpy

import hybridnet as mx
from hybridnet import gluon, nd


def $f($x):
    $before
    $CULPRIT
    return nd.sigmoid($y)


rows = numpy.linspace(0.1, 0.9, $N * 4, dtype="float32").reshape(4, $R, $C)
dataset = gluon.data.SimpleDataset([nd.array(one) for one in rows]).transform($f)
loader = gluon.data.DataLoader(dataset, batch_size=2, num_workers=1, thread_pool=$THREADS)
results = []
for batch in loader:
    means = batch.mean(axis=0)  #$SEEN
    results.append(means.asnumpy())
print(len(results))
""",
        "nd",
        peer="dataset",
        alone=True,
    ),
    Skeleton(
        "updater",
        "kvstore",
        """
import hybridnet as mx
from hybridnet import nd

store = mx.kv.create("local")
$w = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
store.init("$name1", $w)


def $f(key, $x, stored):
    $x = nd.sigmoid($x + stored)
    $CULPRIT
    stored[:] = stored - 0.01 * nd.tanh($y)


store.set_updater($f)
for $turn in range($T):
    store.push("$name1", [nd.ones(($R, $C)), nd.ones(($R, $C)) * 2])
    store.pull("$name1", out=$w)
results = [$w.asnumpy()]
print(results[0].sum())
""",
        "nd",
        peer="function",
    ),
    Skeleton(
        "optimizer_class",
        "optimizer",
        """
import hybridnet as mx
from hybridnet import autograd, gluon, nd


@mx.optimizer.register
class $Own(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        return nd.zeros(weight.shape)

    def update(self, index, weight, grad, state):
        $x = nd.sigmoid(grad * 0.1)
        $CULPRIT
        state[:] = state * 0.9 + nd.tanh($y)
        weight[:] = weight - self._get_lr(index) * state


mx.random.seed($SEED)
$net = gluon.nn.Dense($R, in_units=$C, use_bias=False)
$net.initialize()
trainer = gluon.Trainer($net.collect_params(), $Own(learning_rate=0.01))
for $turn in range($T):
    with autograd.record():
        $loss = nd.mean($net(nd.ones((2, $C))))
    $loss.backward()
    trainer.step(1)
results = [$net.weight.data().asnumpy()]
""",
        "nd",
        peer="function",
    ),
    Skeleton(
        "metric",
        "metric",
        """
import hybridnet as mx
from hybridnet import nd


class $Own(mx.metric.EvalMetric):
    def __init__(self):
        super().__init__("$name1")

    def update(self, labels, preds):
        for label, $x in zip(labels, preds):
            $CULPRIT
            self.sum_metric += nd.mean(nd.tanh($y) - label).asscalar()
            self.num_inst += 1


metric = $Own()
$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
for $turn in range($T):
    $data = $data * 0.9
    metric.update([nd.zeros(($R, $C))], [$data])
results = [metric.get()[1]]
print(metric.get())
""",
        "nd",
        peer="function",
    ),
    Skeleton(
        "initializer",
        "gluon",
        """
import hybridnet as mx
from hybridnet import gluon, nd


@mx.init.register
class $Own(mx.init.Initializer):
    def _init_weight(self, name, arr):
        $x = nd.random.uniform(0.2, 0.8, shape=($R, $C))
        $CULPRIT
        arr[:] = $y


mx.random.seed($SEED)
$net = gluon.nn.HybridSequential()
$net.add(gluon.nn.Dense($R, in_units=$C, weight_initializer=$Own()))
$net.add(gluon.nn.Dense(2))
$net.initialize()
out = $net(nd.ones((3, $C)))
results = [out.asnumpy()]
""",
        "nd",
        peer="function",
    ),
]
