"""More of `specials_shape.py`: operators in Python, contexts, functions, TensorFlow."""

from __future__ import annotations

from specials import Special

SHAPE_MORE = [
    Special(
        "an own operator's shapes do not agree",
        "shape",
        "operators in Python",
        """
import hybridnet as mx
from hybridnet import nd


class $Own(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        pooled = nd.sum(in_data[0], axis=1)
        self.assign(out_data[0], req[0], pooled)  # !

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], in_data[0])


@mx.operator.register("$name1")
class $Net(mx.operator.CustomOpProp):
    def infer_shape(self, in_shape):
        return in_shape, [{{[in_shape[0][1] + 1] || [in_shape[0][0]]}}], []

    def create_operator(self, ctx, shapes, dtypes):
        return $Own()


out = nd.Custom(nd.ones(($R, $C)), op_type="$name1")
results = [out.asnumpy()]
""",
    ),
    Special(
        "an own gradient of another shape",
        "shape",
        "operators in Python",
        """
import hybridnet as mx
from hybridnet import autograd, nd


class $Own(autograd.Function):
    def forward(self, v, factor):
        self.save_for_backward(v, factor)
        return nd.broadcast_mul(v, factor)

    def backward(self, dy):
        v, factor = self.saved_tensors
        whole = dy * v
        return dy * factor{{ + whole.T || .reshape((1, $C))}}, nd.sum(whole, axis=0)  # !


$w, factor = nd.ones(($R, $C)), nd.ones(($C,))
$w.attach_grad()
factor.attach_grad()
with autograd.record():
    $loss = nd.sum($Own()($w, factor))
$loss.backward()
results = [$w.grad.asnumpy(), factor.grad.asnumpy()]
""".replace(".reshape((1, $C))}}", "* 1}}"),
    ),
    Special(
        "data on a context where the weights are not",
        "shape",
        "gluon",
        """
import hybridnet as mx
from hybridnet import gluon, nd


class $Net(gluon.Block):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.inner = gluon.nn.Dense(2, in_units=$C)

    def forward(self, v):
        return nd.tanh(self.inner(v))  # !


mx.random.seed($SEED)
$net = $Net()
$net.initialize(ctx=mx.cpu(0))
parts = gluon.utils.split_and_load(nd.ones((4, $C)), [mx.cpu(0), mx.cpu({{1 || 0}})])
results = [$net(part).asnumpy() for part in parts]
""",
    ),
    Special(
        "a context that there is not",
        "shape",
        "nd",
        """
import hybridnet as mx
from hybridnet import nd

$data = nd.ones(($R, $C))
for place in (mx.cpu(0), mx.cpu(1), mx.{{gpu(77) || cpu(0)}}):
    moved = $data.as_in_context(place)  # !
    $data = moved * 2
results = [$data.asnumpy()]
""",
    ),
    Special(
        "positions that are words",
        "shape",
        "nd",
        """
import hybridnet as mx
from hybridnet import nd

names = ["north", "south"]
rows = nd.arange($N).reshape(($R, $C))
found = []
for key in (0, {{names[1] || 1}}):
    found.append(rows[key] + 1)  # !
results = [one.asnumpy() for one in found]
""",
    ),
    Special(
        "a traced function is called with another width",
        "shape",
        "function",
        """
import hybridnet as hn
from hybridnet import nd

$w = nd.ones(($C, 3))


def $g(v):
    return nd.dot(v, $w)  # !


@hn.function
def $f(v):
    return nd.softmax($g(nd.tanh(v)))


results = [$f(nd.ones(($R, width))).asnumpy() for width in ($C, {{$C - 1 || $C}})]
""",
        {
            "torch": """
import torch

$w = torch.ones($C, 3)


def $g(v):
    return torch.mm(v, $w)  # !


results = [$g(torch.tanh(torch.ones($R, width))).tolist() for width in ($C, $C - 1)]
""",
            "jax": """
import jax
import jax.numpy as jnp

$w = jnp.ones(($C, 3))


def $g(v):
    return jnp.dot(v, $w)  # !


step = jax.jit(lambda v: jax.nn.softmax($g(jnp.tanh(v))))
results = [step(jnp.ones(($R, width))).tolist() for width in ($C, $C - 1)]
""",
        },
    ),
    Special(
        "a graph of TensorFlow is fed another shape",
        "shape",
        "tf1",
        """
import numpy

import hybridnet.compat.tf1 as tf

v = tf.placeholder(tf.float32, None, name="v")
$w = tf.constant(numpy.ones(($C, 2), "float32"))
product = tf.matmul(v, $w)  # !
total = tf.reduce_sum(product)
with tf.Session() as session:
    results = [float(session.run(total, {v: numpy.ones(($R, {{$C + 2 || $C}}))}))]
""",
    ),
    Special(
        "a graph of TensorFlow that does not fit as it is built",
        "shape",
        "tf1",
        """
import hybridnet.compat.tf1 as tf


def $f(v, units):
    $w = tf.get_variable("$name1%d" % units, [{{$C || v.shape[1]}}, units])
    return tf.nn.relu(tf.matmul(v, $w))  # !


h = tf.ones([$R, $C])
for units in (8, 4, 2):
    h = $f(h, units)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    results = [session.run(h).shape]
""",
    ),
    Special(
        "a rule of a server does not fit its weights",
        "shape",
        "kvstore",
        """
import hybridnet as mx
from hybridnet import nd


@mx.optimizer.register
class $Own(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        return nd.zeros((weight.size {{+ 1||}},))

    def update(self, index, weight, grad, state):
        state[:] = state * 0.9 + grad.reshape((-1,))  # !
        weight[:] = weight - self.lr * state.reshape(weight.shape)


def train():
    store = mx.kv.create("dist_sync")
    store.init("$name1", nd.ones(($R, $C)))
    store.set_optimizer($Own(learning_rate=0.1))
    out = nd.zeros(($R, $C))
    for $turn in range($T):
        store.push("$name1", nd.ones(($R, $C)))
        store.pull("$name1", out=out)
        out.wait_to_read()
    return out.asnumpy()


if __name__ == "__main__":
    results = [train()]
""",
        alone=True,
        servers=True,
    ),
    Special(
        "an optimizer's state of another shape",
        "shape",
        "optimizer",
        """
import hybridnet as mx
from hybridnet import autograd, gluon, nd


class $Own(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        return nd.zeros({{(weight.size,) || weight.shape}})

    def update(self, index, weight, grad, state):
        state[:] = state * 0.9 + grad  # !
        weight[:] = weight - self.lr * state


mx.random.seed($SEED)
$net = gluon.nn.Dense(3, in_units=$C, use_bias=False)
$net.initialize()
trainer = gluon.Trainer($net.collect_params(), $Own(learning_rate=0.1))
for $turn in range($T):
    with autograd.record():
        $loss = nd.mean($net(nd.ones(($R, $C))))
    $loss.backward()
    trainer.step(1)
results = [$net.weight.data().asnumpy()]
""",
    ),
]
