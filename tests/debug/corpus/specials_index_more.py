"""More of `specials_index.py`: loops, bound symbols, metrics, TensorFlow's graphs."""

from __future__ import annotations

from specials import Special

INDEX_MORE = [
    Special(
        "a loop that writes one step too many",
        "index",
        "control flow",
        """
import hybridnet as mx
from hybridnet import nd

table = nd.arange($N).reshape(($R, $C))


def more($turn, total):
    return $turn < $R {{+ 1||}}


def $f($turn, total):
    row = nd.take(table, $turn)  # !
    return row, [$turn + 1, total + nd.sum(row)]


outs, ($turn, total) = nd.contrib.while_loop(
    more, $f, [nd.zeros((1,)), nd.zeros((1,))], max_iterations=$R + 1
)
results = [total.asnumpy()]
""",
        {
            "torch": """
import torch

table = torch.arange($N).reshape($R, $C)
$turn, total = torch.zeros(1, dtype=torch.long), 0
while $turn < $R + 1:
    row = table[$turn]  # !
    total += row.sum().item()
    $turn = $turn + 1
results = [total]
""",
            "jax": """
import jax
import jax.numpy as jnp

table = jnp.arange($N).reshape($R, $C)


def $f(carried):
    $turn, total = carried
    row = table[$turn]  # !
    return $turn + 1, total + jnp.sum(row)


results = [jax.lax.while_loop(lambda one: one[0] < $R + 1, $f, (0, 0))[1].tolist()]
""",
        },
    ),
    Special(
        "a bound embedding of other words",
        "index",
        "executor",
        """
import hybridnet as mx
from hybridnet import nd, sym


def $g(words, width):
    return sym.Embedding(  # !
        words, sym.var("table"), input_dim=$R, output_dim=width, name="$name1"
    )


$net = sym.sum($g(sym.var("words"), $C), axis=1)
$net = sym.FullyConnected($net, num_hidden=2, name="$name2")
executor = $net.simple_bind(mx.cpu(), words=(2, 3))
executor.arg_dict["table"][:] = 1
for words in ([[0, 1, 2], [2, 1, 0]], [[0, 0, 0], [1, {{-1 || 2}}, 0]]):
    executor.forward(is_train=True, words=nd.array(words))
    executor.backward([nd.ones((2, 2))])
results = [executor.outputs[0].asnumpy()]
""",
    ),
    Special(
        "the place of a class in a metric",
        "index",
        "metric",
        """
import hybridnet as mx
from hybridnet import nd


def $f(label, pred):
    best = nd.pick(nd.array(pred), nd.array(label))  # !
    return nd.mean(best).asscalar()


metric = mx.metric.CustomMetric($f, "$name1", allow_extra_outputs=True)
for labels in ([0, 1], [1, {{$C || 2}}]):
    metric.update([nd.array(labels)], [nd.ones((2, $C))])
results = [metric.get()[1]]
""",
    ),
    Special(
        "a graph of TensorFlow gathers",
        "index",
        "tf1",
        """
import numpy

import hybridnet.compat.tf1 as tf

table = tf.get_variable("$name1", [$R, $C], initializer=tf.ones_initializer())
words = tf.placeholder(tf.int32, [None], name="words")
found = tf.nn.embedding_lookup(table, words)  # !
total = tf.reduce_sum(found)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    results = [float(session.run(total, {words: [0, {{$R || $R - 1}}, 1]}))]
""",
    ),
    Special(
        "positions of a function that was traced",
        "index",
        "function",
        """
import hybridnet as hn
from hybridnet import autograd, nd

table = nd.arange($N).reshape(($R, $C))
table.attach_grad()


@hn.function
def $f(places):
    chosen = nd.take(table, places)  # !
    return nd.sum(chosen * chosen)


with autograd.record():
    $loss = $f(nd.array([0, 1])) + $f(nd.array([1, {{$R + 3 || 2}}]))
$loss.backward()
results = [table.grad.asnumpy()]
""",
        {
            "torch": """
import torch

table = torch.arange(0.0, $N).reshape($R, $C).requires_grad_()


def $f(places):
    chosen = torch.index_select(table, 0, places)  # !
    return torch.sum(chosen * chosen)


$loss = $f(torch.tensor([0, 1])) + $f(torch.tensor([1, $R + 3]))
$loss.backward()
results = [table.grad.tolist()]
""",
            "jax": """
import jax
import jax.numpy as jnp


@jax.jit
def $f(table, places):
    chosen = jnp.take(table, places, axis=0)  # !
    return jnp.sum(chosen * chosen)


table = jnp.arange(0.0, $N).reshape($R, $C)
results = [jax.grad($f)(table, jnp.array([1, $R + 3])).tolist()]
""",
        },
    ),
    Special(
        "labels of a module's loss",
        "index",
        "module",
        """
import numpy

import hybridnet as mx
from hybridnet import sym

h = sym.FullyConnected(sym.var("data"), num_hidden=3, name="$name1")
logs = sym.log_softmax(h)
chosen = sym.pick(logs, sym.var("label"))  # !
$net = sym.MakeLoss(-sym.mean(chosen), name="$name2")
rows = numpy.linspace(-1, 1, $N, dtype="float32").reshape($R, $C)
labels = numpy.full($R, {{3 || 2}}, "float32")
module = mx.mod.Module($net, label_names=("label",))
module.bind([("data", ($R, $C))], [("label", ($R,))])
mx.random.seed($SEED)
module.init_params(mx.init.Uniform(0.1))
module.init_optimizer()
batches = mx.io.NDArrayIter(rows, labels, batch_size=$R, label_name="label")
for batch in batches:
    module.forward(batch, is_train=True)
    module.backward()
    module.update()
results = [one.asnumpy() for one in module.get_outputs()]
""",
    ),
    Special(
        "a dataset reads one row too far",
        "index",
        "data",
        """
import numpy

import hybridnet as mx
from hybridnet import gluon, nd


class $Net(gluon.data.Dataset):
    def __init__(self, rows, span):
        self.rows = rows
        self.span = span

    def __len__(self):
        return self.rows.shape[0] - self.span {{+ 1||}}

    def __getitem__(self, index):
        window = nd.arange(index, index + self.span + 1)
        return nd.take(self.rows, window, mode="{{raise || clip}}")  # !


rows = nd.array(numpy.linspace(0, 1, 4 * $N).reshape(4 * $R, $C))
loader = gluon.data.DataLoader($Net(rows, 2), batch_size=3, num_workers=$WORKERS)
results = [[batch.shape[0] for batch in loader]]
""",
        {
            "torch": """
import torch


class $Net(torch.utils.data.Dataset):
    def __init__(self, rows, span):
        self.rows = rows
        self.span = span

    def __len__(self):
        return len(self.rows) - self.span + 1

    def __getitem__(self, index):
        window = torch.arange(index, index + self.span + 1)
        return self.rows[window]  # !


rows = torch.linspace(0, 1, 4 * $N).reshape(4 * $R, $C)
loader = torch.utils.data.DataLoader($Net(rows, 2), batch_size=3, num_workers=$WORKERS)
results = [[batch.shape[0] for batch in loader]]
""",
        },
        alone=True,
    ),
    Special(
        "rows of a store that it does not have",
        "index",
        "kvstore",
        """
import hybridnet as mx
from hybridnet import nd

store = mx.kv.create("local")
table = nd.ones(($R, $C)).tostype("row_sparse")
store.init("$name1", table)
out = mx.nd.sparse.zeros("row_sparse", ($R, $C))
wanted = nd.array([0, {{$R + 1 || $R - 1}}])
store.row_sparse_pull("$name1", out=out, row_ids=wanted)  # !
results = [out.asnumpy()]
""",
    ),
]
