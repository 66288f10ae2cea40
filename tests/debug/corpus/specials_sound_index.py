"""Sound programs: positions at the very borders, negative where that counts, and none."""

from __future__ import annotations

from specials import Special
from specials_sound import HEAD

_BORDERS = [
    (
        "the first row and the last",
        "nd",
        """
v = nd.arange($N).reshape(($R, $C))
rows, columns = nd.array([0, $R - 1]), nd.array([$C - 1])
results = [nd.take(v, rows).asnumpy(), nd.take(v, columns, axis=1).asnumpy()]
""",
    ),
    (
        "positions that wrap",
        "nd",
        """
v = nd.arange($N).reshape(($R, $C))
results = [nd.take(v, nd.array([-1, $R, 2 * $R + 1]), mode="wrap").asnumpy()]
""",
    ),
    (
        "numbers and slices in brackets",
        "nd",
        """
v = nd.arange($N).reshape(($R, $C))
results = [v[-1].asnumpy(), v[0:100].asnumpy(), v[-2:, -1].asnumpy(), v[::-1].asnumpy()]
""",
    ),
    (
        "negative positions in an array",
        "np",
        """
v = np.arange($N).reshape($R, $C)
places = np.array([-1, 0, -$R, $R - 1])
results = [v[places].asnumpy(), v[-1, -1].item()]
""",
    ),
    (
        "labels from the first class to the last",
        "hybridized",
        """
$net = gluon.nn.Dense($C)
$net.initialize()
$net.hybridize()
$loss = gluon.loss.SoftmaxCrossEntropyLoss()
$loss.hybridize()
trainer = gluon.Trainer($net.collect_params(), "sgd", {"learning_rate": 0.1})
for $turn in range($T):
    with autograd.record():
        found = $loss($net(nd.ones(($C, 3))), nd.arange($C))
    found.backward()
    trainer.step($C)
results = [found.asnumpy()]
""",
    ),
    (
        "the first word and the last",
        "hybridized",
        """
$net = gluon.nn.HybridSequential()
$net.add(gluon.nn.Embedding($R, 3), gluon.nn.Dense(2))
$net.initialize()
$net.hybridize()
results = [$net(nd.array([[0, $R - 1], [$R - 1, 0]])).asnumpy() for _ in range($T)]
""",
    ),
    (
        "corners gathered and scattered",
        "nd",
        """
v = nd.arange($N).reshape(($R, $C))
corners = nd.array([[0, 0, $R - 1, $R - 1], [0, $C - 1, 0, $C - 1]])
found = nd.gather_nd(v, corners)
results = [found.asnumpy(), nd.scatter_nd(found, corners, shape=($R, $C)).asnumpy()]
""",
    ),
    (
        "no positions",
        "np",
        """
v = np.arange($N).reshape($R, $C)
none = np.array([], dtype="int32")
results = [v[none].shape, np.take(v, none, axis=1).shape, v[2:2].shape]
""",
    ),
    (
        "a mask that chooses nothing",
        "np",
        """
v = np.arange($N).reshape($R, $C)
chosen = v[v > 1000]
results = [chosen.shape, np.sum(chosen).item()]
""",
    ),
    (
        "positions that were sorted",
        "nd",
        """
v = nd.sin(nd.arange($C))
order = nd.argsort(v)
best = nd.topk(v, k=2)
results = [nd.take(v, order).asnumpy(), nd.take(v, best).asnumpy()]
""",
    ),
    (
        "sequences of full length and of one",
        "nd",
        """
v = nd.arange(2 * $N).reshape(($R, $C, 2))
lengths = nd.array([1] + [$R] * ($C - 1))
results = [
    nd.SequenceLast(v, lengths, use_sequence_length=True).asnumpy(),
    nd.SequenceReverse(v, lengths, use_sequence_length=True).asnumpy(),
]
""",
    ),
    (
        "the last rows written",
        "nd",
        """
v = nd.zeros(($R, $C))
v[-1] = 1
v[nd.array([0, $R - 1])] = 2
v = nd.contrib.index_copy(v, nd.array([$R - 1]), nd.ones((1, $C)) * 3)
results = [v.asnumpy()]
""",
    ),
    (
        "a bound embedding at its borders",
        "executor",
        """
$net = sym.Embedding(sym.var("words"), sym.var("table"), input_dim=$R, output_dim=2)
executor = $net.simple_bind(mx.cpu(), words=(2,))
executor.arg_dict["table"][:] = 0.5
for words in ([0, $R - 1], [$R - 1, 0]):
    executor.forward(is_train=True, words=nd.array(words))
    executor.backward([nd.ones((2, 2))])
results = [executor.grad_dict["table"].asnumpy()]
""",
    ),
    (
        "a loop over all rows",
        "control flow",
        """
v = nd.arange($N).reshape(($R, $C))
outs, (last,) = nd.contrib.while_loop(
    lambda i: i < $R, lambda i: (nd.take(v, i), [i + 1]), [nd.zeros((1,))], max_iterations=$R
)
results = [outs.asnumpy(), last.asscalar()]
""",
    ),
    (
        "a traced function takes the last",
        "function",
        """
v = nd.arange($N).reshape(($R, $C))


@hn.function
def $f(places):
    return nd.pick(nd.take(v, places), places * 0 + $C - 1)


results = [$f(nd.array([$turn % $R, $R - 1])).asnumpy() for $turn in range($T)]
""",
    ),
    (
        "a graph of TensorFlow gathers at the borders",
        "tf1",
        """
import hybridnet.compat.tf1 as tf

table = tf.constant(numpy.arange($N, dtype="float32").reshape($R, $C))
places = tf.placeholder(tf.int32, [None])
with tf.Session() as session:
    results = [session.run(tf.gather(table, places), {places: [0, $R - 1]}).tolist()]
""",
    ),
]

BORDERS = [Special(name, "index", front, HEAD + text) for name, front, text in _BORDERS]
