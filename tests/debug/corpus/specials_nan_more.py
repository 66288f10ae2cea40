"""More of `specials_nan.py`: states that grow, gradients, in-place writes, TensorFlow."""

from __future__ import annotations

from specials import Special

NAN_MORE = [
    Special(
        "a recurrent state that doubles until it overflows",
        "nan",
        "nd",
        """
import hybridnet as mx
from hybridnet import nd

$s = nd.ones(($R, $C)) + 0.5
for $turn in range({{12 || 3}}):
    $s = $s * $s  # !
    if $turn % 4 == 3:
        print($turn)
results = [$s.asnumpy()]
""",
        {
            "torch": """
import torch

$s = torch.ones($R, $C) + 0.5
for $turn in range(12):
    $s = $s * $s  # !
results = [$s.tolist()]
""",
            "jax": """
import jax.numpy as jnp

$s = jnp.ones(($R, $C)) + 0.5
for $turn in range(12):
    $s = $s * $s  # !
results = [$s.tolist()]
""",
        },
    ),
    Special(
        "clipping by a norm of 0",
        "nan",
        "nd",
        """
import hybridnet as mx
from hybridnet import autograd, nd

$w = nd.ones(($C,)) * 0.5
$w.attach_grad()
for $turn in range($T):
    with autograd.record():
        $loss = nd.sum($w * {{0 || 2}})
    $loss.backward()
    norm = nd.sqrt(nd.sum($w.grad * $w.grad))
    clipped = nd.broadcast_div($w.grad, norm)  # !
    $w -= 0.1 * clipped
results = [$w.asnumpy()]
""",
        {
            "torch": """
import torch

$w = (torch.ones($C) * 0.5).requires_grad_()
for $turn in range($T):
    $loss = torch.sum($w * 0)
    $loss.backward()
    with torch.no_grad():
        norm = torch.sqrt(torch.sum($w.grad * $w.grad))
        clipped = $w.grad / norm  # !
        $w -= 0.1 * clipped
results = [$w.tolist()]
""",
            "jax": """
import jax
import jax.numpy as jnp

$w = jnp.ones($C) * 0.5
for $turn in range($T):
    slope = jax.grad(lambda $w: jnp.sum($w * 0))($w)
    norm = jnp.sqrt(jnp.sum(slope * slope))
    clipped = slope / norm  # !
    $w = $w - 0.1 * clipped
results = [$w.tolist()]
""",
        },
    ),
    Special(
        "a value written in place",
        "nan",
        "nd",
        """
import hybridnet as mx
from hybridnet import nd

table = nd.zeros(($R, $C))
for $turn in range($T):
    row = nd.ones(($C,)) * $turn
    table[$turn % $R] = nd.log(row {{|| + 1}})  # !
$y = nd.sum(table, axis=1)
results = [$y.asnumpy()]
""",
        {
            "torch": """
import torch

table = torch.zeros($R, $C)
for $turn in range($T):
    row = torch.ones($C) * $turn
    table[$turn % $R] = torch.log(row)  # !
results = [table.sum(dim=1).tolist()]
""",
            "jax": """
import jax.numpy as jnp

table = jnp.zeros(($R, $C))
for $turn in range($T):
    row = jnp.ones($C) * $turn
    table = table.at[$turn % $R].set(jnp.log(row))  # !
results = [table.sum(axis=1).tolist()]
""",
        },
    ),
    Special(
        "a graph of TensorFlow takes a log",
        "nan",
        "tf1",
        """
import numpy

import hybridnet.compat.tf1 as tf

v = tf.placeholder(tf.float32, [None, $C], name="v")
hidden = tf.nn.sigmoid(v)
$y = tf.log(hidden - {{2.0 || 0.0}})  # !
$loss = tf.reduce_mean($y)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    found = session.run($loss, {v: numpy.ones(($R, $C))})
results = [float(found)]
""",
    ),
    Special(
        "a graph of TensorFlow has a gradient of the root at 0",
        "nan",
        "tf1",
        """
import numpy

import hybridnet.compat.tf1 as tf

$w = tf.Variable(numpy.ones(($C, 1), "float32"), name="$name1")
v = tf.placeholder(tf.float32, [$R, $C])
product = tf.matmul(v, $w)
$y = tf.sqrt(product * product)  # !
$loss = tf.reduce_mean($y)
train = tf.train.GradientDescentOptimizer(0.1).minimize($loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for $turn in range($T):
        session.run(train, {v: numpy.full(($R, $C), {{0.0 || 0.3}})})
    found = session.run($w)
results = [found.tolist()]
""",
    ),
    Special(
        "an own gradient divides by what is 0",
        "nan",
        "operators in Python",
        """
import hybridnet as mx
from hybridnet import autograd, nd


class $Own(autograd.Function):
    def forward(self, v):
        self.save_for_backward(v)
        return nd.abs(v)

    def backward(self, dy):
        (v,) = self.saved_tensors
        return dy * v / nd.abs(v)  # !


$w = nd.array([-1.0, {{0.0 || 2.0}}, 1.0] * $R)
$w.attach_grad()
with autograd.record():
    $loss = nd.sum($Own()($w) * 2)
$loss.backward()
results = [$w.grad.asnumpy()]
""",
        {
            "torch": """
import torch


class $Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return torch.abs(v)

    @staticmethod
    def backward(ctx, dy):
        (v,) = ctx.saved_tensors
        return dy * v / torch.abs(v)  # !


$w = torch.tensor([-1.0, 0.0, 1.0] * $R, requires_grad=True)
$loss = torch.sum($Own.apply($w) * 2)
$loss.backward()
results = [$w.grad.tolist()]
""",
        },
    ),
    Special(
        "a metric divides by how many there were",
        "nan",
        "metric",
        """
import hybridnet as mx
from hybridnet import nd


def recall(labels, preds):
    hits = nd.sum(preds * labels)
    return nd.broadcast_div(hits, nd.sum(labels)).asscalar()  # !


given = [nd.ones(($R,)), nd.{{zeros || ones}}(($R,)), nd.ones(($R,))]
found = [recall(labels, nd.ones(($R,))) for labels in given]
results = [sum(found) / len(found)]
""",
        {
            "torch": """
import torch


def recall(labels, preds):
    hits = torch.sum(preds * labels)
    return (hits / torch.sum(labels)).item()  # !


found = [recall(one, torch.ones($R)) for one in (torch.ones($R), torch.zeros($R))]
results = [sum(found) / len(found)]
""",
            "jax": """
import jax.numpy as jnp


def recall(labels, preds):
    hits = jnp.sum(preds * labels)
    return (hits / jnp.sum(labels)).item()  # !


found = [recall(one, jnp.ones($R)) for one in (jnp.ones($R), jnp.zeros($R))]
results = [sum(found) / len(found)]
""",
        },
    ),
]
