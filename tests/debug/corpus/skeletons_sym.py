"""Symbols: bound by an executor, trained by a module, run by a session of TensorFlow's."""

from __future__ import annotations

from skeletons import Skeleton

SYMBOLS = [
    Skeleton(
        "executor",
        "executor",
        """
import hybridnet as mx
from hybridnet import nd, sym


def $f($x):
    $before
    $CULPRIT
    $after
    return $y


$net = sym.FullyConnected(sym.var("data"), num_hidden=$C, name="$name1")
$net = $f(sym.sigmoid($net))
$net = sym.FullyConnected($net, num_hidden=$C, name="$name2")
mx.random.seed($SEED)
executor = $net.simple_bind(mx.cpu(), data=($R, $C))
for one in executor.arg_dict.values():
    one[:] = nd.random.uniform(0.1, 0.5, shape=one.shape)
out = executor.forward(is_train=False)[0]
results = [out.asnumpy()]
print(results[0].sum())
""",
        "sym",
        peer="module",
    ),
    Skeleton(
        "executor_backward",
        "executor",
        """
import hybridnet as mx
from hybridnet import nd, sym

v = sym.Variable("v", shape=($R, $C))
$x = sym.sigmoid(v)
$before
$CULPRIT
$after
$loss = sym.MakeLoss(sym.mean(sym.square($y)), name="$name1")
given = {"v": (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))}
grads = {"v": nd.zeros(($R, $C))}
executor = $loss.bind(mx.cpu(), given, args_grad=grads)
for $turn in range($T):
    executor.forward(is_train=True)
    executor.backward()
    given["v"][:] -= 0.001 * grads["v"]
results = [given["v"].asnumpy(), executor.outputs[0].asnumpy()]
print(grads["v"].asnumpy().mean())
""",
        "sym",
        trains=True,
        peer="by_hand",
    ),
    Skeleton(
        "module",
        "module",
        """
import numpy

import hybridnet as mx
from hybridnet import sym


def $g(v, width, name):
    v = sym.FullyConnected(v, num_hidden=width, name=name)
    return sym.Activation(v, act_type="sigmoid")


def $f($x):
    $before
    $CULPRIT
    $after
    return $y


h = sym.var("data")
for layer in range($T):
    h = $g(h, $C, "$name1%d" % layer)
    if layer == $BAD:
        h = $f(h)
h = sym.FullyConnected(h, num_hidden=1, name="$name2")
$net = sym.LinearRegressionOutput(h, sym.var("label"), name="out")

mx.random.seed($SEED)
rows = numpy.linspace(0.1, 0.9, 2 * $N).reshape(2 * $R, $C).astype("float32")
batches = mx.io.NDArrayIter(rows, rows[:, :1], batch_size=$R, label_name="label")
module = mx.mod.Module($net, label_names=("label",), context=mx.cpu())
module.fit(
    batches,
    num_epoch=2,
    optimizer="sgd",
    optimizer_params={"learning_rate": 0.001},
    eval_metric="mse",
    initializer=mx.init.Normal(0.1),
)
results = [one.asnumpy() for one in module.get_params()[0].values()]
""",
        "sym",
        trains=True,
        peer="training",
    ),
    Skeleton(
        "module_predict",
        "module",
        """
import numpy

import hybridnet as mx
from hybridnet import nd, sym

$x = sym.sigmoid(sym.FullyConnected(sym.var("data"), num_hidden=$C, name="$name1"))
$before
$CULPRIT
$after
$net = sym.softmax($y, name="$name2")
module = mx.mod.Module($net, label_names=None, context=mx.cpu())
module.bind(data_shapes=[("data", ($R, $C))], for_training=False)
mx.random.seed($SEED)
module.init_params(mx.init.Uniform(0.2))
rows = numpy.linspace(0, 1, $N, dtype="float32").reshape($R, $C)
batch = mx.io.DataBatch([nd.array(rows)], label=None)
module.forward(batch, is_train=False)
results = [one.asnumpy() for one in module.get_outputs()]
""",
        "sym",
        peer="module",
    ),
]

FUNCTIONS = [
    Skeleton(
        "function",
        "function",
        """
import hybridnet as hn
import hybridnet as mx
from hybridnet import nd


def $g(v):
    return $FILL


@hn.function
def $f($x):
    $x = $g($x)
    $before
    $CULPRIT
    $after
    return $y


$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
for $turn in range($T):
    $data = nd.sigmoid($f($data))
results = [$data.asnumpy()]
print(results[0].min())
""",
        "nd",
        peer="jitted",
    ),
    Skeleton(
        "function_branch",
        "function",
        """
import hybridnet as hn
import hybridnet as mx
from hybridnet import nd


def $g($x):
    $CULPRIT
    return $y


@hn.function
def $f(v, limit):
    $turn = nd.zeros((1,))
    while $turn < $T:
        if $turn < limit:
            v = $FILL
        else:
            v = nd.sigmoid($g(v))
        $turn = $turn + 1
    return v


$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
results = [$f($data, nd.array([$BAD])).asnumpy()]
print(results[0].mean())
""",
        "nd",
        peer="while_loop",
    ),
    Skeleton(
        "function_step",
        "function",
        """
import hybridnet as hn
import hybridnet as mx
from hybridnet import autograd, gluon, nd

mx.random.seed($SEED)
$net = gluon.nn.HybridSequential()
$layers_before
$net.add(gluon.nn.Dense($C, activation="sigmoid"))
$net.initialize()
trainer = gluon.Trainer($net.collect_params(), "sgd", {"learning_rate": 0.01})


def $f($x):
    $CULPRIT
    $after
    return nd.mean($y)


@hn.function
def step(v):
    with autograd.record():
        $loss = $f($net(v))
    $loss.backward()
    trainer.step($R)
    return $loss


$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
found = [step($data) for _ in range($T)]
results = [found[-1].asnumpy()]
""",
        "nd",
        trains=True,
        peer="training",
    ),
]
