"""Operators and data that users write in Python."""

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
]
