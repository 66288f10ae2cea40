"""More of `specials_memory.py`: bound symbols, random numbers, metrics, TensorFlow's graphs."""

from __future__ import annotations

from specials import Special

MEMORY_MORE = [
    Special(
        "weights bound by a symbol",
        "memory",
        "executor",
        """
import hybridnet as mx
from hybridnet import nd, sym

h = sym.FullyConnected(sym.var("data"), num_hidden={{2 ** 20 || 8}}, name="$name1")
h = sym.Activation(h, act_type="tanh")
$net = sym.FullyConnected(h, num_hidden={{2 ** 20 || 8}}, name="$name2")
executor = $net.simple_bind(mx.cpu(), data=(1, $C))  # !
for one in executor.arg_dict.values():
    one[:] = 0.5  # !
results = [executor.forward()[0].asnumpy().shape]  # !
""",
    ),
    Special(
        "weights that a module draws",
        "memory",
        "module",
        """
import hybridnet as mx
from hybridnet import nd, sym

h = sym.FullyConnected(sym.var("data"), num_hidden={{2 ** 20 || 8}}, name="$name1")
$net = sym.FullyConnected(h, num_hidden={{2 ** 19 || 8}}, name="$name2")
module = mx.mod.Module($net, label_names=None)
module.bind([("data", (1, $C))], for_training=False)  # !
mx.random.seed($SEED)
module.init_params(mx.init.Uniform(0.1))  # !
module.forward(mx.io.DataBatch([nd.ones((1, $C))]), is_train=False)
results = [module.get_outputs()[0].asnumpy().shape]
""",
    ),
    Special(
        "random numbers",
        "memory",
        "nd",
        """
import hybridnet as mx
from hybridnet import nd

mx.random.seed($SEED)


def noise(scale, size):
    return nd.random.normal(0, scale, shape=(size, size))  # !


$data = nd.ones(($R, $C))
for size in ($C, {{2 ** 19 || 2 * $C}}):
    $data = $data + nd.max(noise(0.1, size)).asscalar()
results = [$data.shape]
""",
        {
            "torch": """
import torch


def noise(scale, size):
    return torch.randn(size, size) * scale  # !


$data = torch.ones($R, $C)
for size in ($C, 2**19):
    $data = $data + torch.max(noise(0.1, size)).item()
results = [$data.shape]
""",
            "jax": """
import jax
import jax.numpy as jnp


def noise(scale, size):
    return jax.random.normal(jax.random.key($SEED), (size, size)) * scale  # !


$data = jnp.ones(($R, $C))
for size in ($C, 2**19):
    $data = $data + jnp.max(noise(0.1, size)).item()
results = [$data.shape]
""",
        },
    ),
    Special(
        "a kernel matrix in a metric",
        "memory",
        "metric",
        """
import hybridnet as mx
from hybridnet import nd


def $f(label, pred):
    v = nd.array(pred).reshape((-1, 1))
    gaps = nd.broadcast_sub(v, v.T)  # !
    return nd.mean(nd.abs(gaps)).asscalar()


metric = mx.metric.CustomMetric($f, "$name1")
for size in (4, 8, {{300_000 || 16}}):
    metric.update([nd.ones((size,))], [nd.arange(size)])
results = [metric.get()[1]]
""",
        {
            "torch": """
import torch


def $f(pred):
    v = pred.reshape(-1, 1)
    gaps = v - v.T  # !
    return torch.mean(torch.abs(gaps)).item()


results = [$f(torch.arange(float(size))) for size in (4, 8, 300_000)]
""",
            "jax": """
import jax.numpy as jnp


def $f(pred):
    v = pred.reshape(-1, 1)
    gaps = v - v.T  # !
    return jnp.mean(jnp.abs(gaps)).item()


results = [$f(jnp.arange(float(size))) for size in (4, 8, 300_000)]
""",
        },
    ),
    Special(
        "a graph of TensorFlow makes a matrix",
        "memory",
        "tf1",
        """
import numpy

import hybridnet.compat.tf1 as tf

v = tf.placeholder(tf.float32, [None, 3])
pairs = tf.matmul(v, v, transpose_b=True)  # !
halves = pairs * 0.5
with tf.Session() as session:
    for size in (4, {{300_000 || 8}}):
        found = session.run(halves, {v: numpy.ones((size, 3))})
results = [found.shape]
""",
    ),
]
