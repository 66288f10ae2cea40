"""Shapes that do not fit in data, labels, weights from files, stores and blocks."""

from __future__ import annotations

from specials import Special

SHAPE = [
    Special(
        "a layer is given rows of another width later",
        "shape",
        "hybridized",
        """
import hybridnet as mx
from hybridnet import gluon, nd


class $Net(gluon.HybridBlock):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.first = gluon.nn.Dense(8, activation="relu")
            self.last = gluon.nn.Dense(2)

    def hybrid_forward(self, F, v):
        $x = self.first(v)  # !
        return self.last(F.tanh($x))


mx.random.seed($SEED)
$net = $Net()
$net.initialize()
$net.hybridize()
results = [$net(nd.ones(($R, width))).asnumpy() for width in ($C, {{$C + 1 || $C}})]
""",
        {
            "torch": """
import torch


class $Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = torch.nn.Linear(width, 8)
        self.last = torch.nn.Linear(8, 2)

    def forward(self, v):
        $x = self.first(v)  # !
        return self.last(torch.tanh($x))


$net = $Net($C)
results = [$net(torch.ones($R, width)).tolist() for width in ($C, $C + 1)]
""",
            "jax": """
import jax
import jax.numpy as jnp

$w = jnp.ones(($C, 8))


@jax.jit
def $f(v):
    $x = v @ $w  # !
    return jnp.tanh($x)


results = [$f(jnp.ones(($R, width))).tolist() for width in ($C, $C + 1)]
""",
        },
    ),
    Special(
        "labels of another shape",
        "shape",
        "gluon",
        """
import hybridnet as mx
from hybridnet import autograd, gluon, nd

mx.random.seed($SEED)
$net = gluon.nn.Dense(3, in_units=$C)
$net.initialize()
$loss = gluon.loss.{{SoftmaxCrossEntropyLoss() || SoftmaxCrossEntropyLoss(sparse_label=False)}}
with autograd.record():
    out = $net(nd.ones(($R, $C)))
    found = $loss(out, nd.ones(($R, 3)))  # !
found.backward()
results = [found.asnumpy()]
""",
    ),
    Special(
        "weights of another network",
        "shape",
        "gluon",
        """
import os
import tempfile

import hybridnet as mx
from hybridnet import gluon, nd


def $f(width):
    $net = gluon.nn.HybridSequential(prefix="$name1")
    $net.add(gluon.nn.Dense(width, in_units=$C), gluon.nn.Dense(2, in_units=width))
    return $net


mx.random.seed($SEED)
saved = $f(8)
saved.initialize()
folder = tempfile.mkdtemp()
saved.save_parameters(os.path.join(folder, "weights"))
other = $f({{6 || 8}})
other.load_parameters(os.path.join(folder, "weights"))  # !
results = [other(nd.ones(($R, $C))).shape]
""",
        {
            "torch": """
import torch


def $f(width):
    return torch.nn.Sequential(torch.nn.Linear($C, width), torch.nn.Linear(width, 2))


saved, other = $f(8).state_dict(), $f(6)
other.load_state_dict(saved)  # !
results = [other(torch.ones($R, $C)).shape]
""",
        },
    ),
    Special(
        "a module's labels",
        "shape",
        "module",
        """
import numpy

import hybridnet as mx
from hybridnet import sym

h = sym.FullyConnected(sym.var("data"), num_hidden=3, name="$name1")
h = sym.Activation(h, act_type="relu")
joined = sym.broadcast_sub(h, sym.var("label"))  # !
$net = sym.MakeLoss(sym.mean(sym.square(joined)))
mx.random.seed($SEED)
rows = numpy.ones((2 * $R, $C), "float32")
batches = mx.io.NDArrayIter(
    rows, numpy.ones((2 * $R, {{2 || 3}})), batch_size=$R, label_name="label"
)
module = mx.mod.Module($net, label_names=["label"])
module.fit(batches, num_epoch=1, eval_metric=mx.metric.Loss())
results = [one.asnumpy() for one in module.get_params()[0].values()]
""",
    ),
    Special(
        "shapes are inferred of a symbol",
        "shape",
        "executor",
        """
import hybridnet as mx
from hybridnet import sym

left, right = sym.var("left"), sym.var("right")
scores = sym.batch_dot(left, right, transpose_b=True)
weighed = sym.softmax(scores, axis=-1)
$net = sym.batch_dot(weighed, {{left || right}})  # !
shapes, outs, _ = $net.infer_shape(left=(2, $R, $C), right=(2, $R + 1, $C))
results = [list(outs[0])]
""",
    ),
    Special(
        "an executor is reshaped",
        "shape",
        "executor",
        """
import hybridnet as mx
from hybridnet import nd, sym

v = sym.var("v")
halves = sym.split(v, num_outputs=2, axis=1, name="$name1")  # !
$net = halves[0] * halves[1]
executor = $net.bind(mx.cpu(), {"v": nd.ones(($R, 8))})
first = executor.forward()[0].shape
executor = executor.reshape(v=($R, {{7 || 6}}), partial_shaping=True, allow_up_sizing=True)
results = [first, executor.forward()[0].shape]
""",
    ),
    Special(
        "a push of another shape",
        "shape",
        "kvstore",
        """
import hybridnet as mx
from hybridnet import nd

store = mx.kv.create("local")
store.init(["$name1", "$name2"], [nd.ones(($R, $C)), nd.ones(($C,))])
grads = {"$name1": nd.ones(($R, $C)), "$name2": nd.ones(($C {{+ 1||}},))}
for $turn in range($T):
    for key in grads:
        store.push(key, [grads[key], grads[key]])  # !
out = nd.zeros(($C,))
store.pull("$name2", out=out)
results = [out.asnumpy()]
""",
    ),
    Special(
        "a pull into an array of another shape",
        "shape",
        "kvstore",
        """
import hybridnet as mx
from hybridnet import nd

store = mx.kv.create("device")
store.init(3, nd.ones(($R, $C)))
outs = [nd.zeros(($R, $C)), nd.zeros({{($C, $R + 1) || ($R, $C)}})]
store.push(3, nd.ones(($R, $C)) * 2)
store.pull(3, out=outs)  # !
results = [outs[0].asnumpy()]
""",
    ),
    Special(
        "samples of different lengths in a batch",
        "shape",
        "data",
        """
import hybridnet as mx
from hybridnet import gluon, nd

lengths = [$C, $C, {{$C - 1 || $C}}, $C]
dataset = gluon.data.SimpleDataset([nd.ones((one,)) for one in lengths])
loader = gluon.data.DataLoader(dataset, batch_size=2, num_workers=$WORKERS)
shapes = []
for batch in loader:  # !
    shapes.append(batch.shape)
results = [shapes]
""",
        {
            "torch": """
import torch

samples = [torch.ones(one) for one in ($C, $C, $C - 1, $C)]
shapes = []
for batch in torch.utils.data.DataLoader(samples, batch_size=2, num_workers=$WORKERS):  # !
    shapes.append(batch.shape)
results = [shapes]
""",
        },
        alone=True,
    ),
]
