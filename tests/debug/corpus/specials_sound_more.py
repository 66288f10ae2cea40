"""More sound programs: constants that are infinite, layers at their edges, graphs, empty arrays."""

from __future__ import annotations

from specials import Special
from specials_sound import HEAD

_AT_EDGES = [
    (
        "columns that do not vary are normalized",
        "gluon",
        """
$net = gluon.nn.HybridSequential()
$net.add(gluon.nn.BatchNorm(), gluon.nn.LayerNorm(), gluon.nn.Dense(2))
$net.initialize()
$net.hybridize()
trainer = gluon.Trainer($net.collect_params(), "adam")
for $turn in range($T):
    with autograd.record():
        $loss = nd.sum($net(nd.ones(($R, $C))))
    $loss.backward()
    trainer.step($R)
results = [$loss.asnumpy()]
""",
    ),
    (
        "the norm of gradients that are 0",
        "gluon",
        """
grads = [nd.zeros(($R, $C)), nd.zeros(($C,))]
norm = gluon.utils.clip_global_norm(grads, 1.0)
results = [norm, grads[0].asnumpy()]
""",
    ),
    (
        "Adam where the gradient is 0",
        "optimizer",
        """
$w = gluon.Parameter("w", shape=($R, $C))
$w.initialize(mx.init.One())
trainer = gluon.Trainer({"w": $w}, "adam", {"learning_rate": 0.1})
for $turn in range($T):
    with autograd.record():
        $loss = nd.sum($w.data() * 0)
    $loss.backward()
    trainer.step(1)
results = [$w.data().asnumpy()]
""",
    ),
    (
        "memory that is filled before it is read",
        "nd",
        """
v = nd.empty(($R, $C))
for $turn in range($R):
    v[$turn] = $turn
results = [nd.sum(v, axis=1).asnumpy()]
""",
    ),
    (
        "near the largest of float16",
        "nd",
        """
v = nd.full(($R, $C), 65504, dtype="float16")
results = [nd.max(v).asscalar(), (v / 2 + 1).asnumpy()]
""",
    ),
    (
        "one over infinity",
        "np",
        """
v = np.array([1.0, 2.0, inf])
results = [(1 / v).asnumpy(), np.tanh(v).asnumpy(), np.arctan(v).asnumpy()]
""",
    ),
    (
        "0 to the power of 0",
        "np",
        """
v = np.zeros(($R,))
results = [(v ** 0).asnumpy(), np.arctan2(v, v).asnumpy(), np.hypot(v, v).asnumpy()]
""",
    ),
    (
        "the best of what is not masked",
        "nd",
        """
scores = nd.sin(nd.arange($N)).reshape(($R, $C))
banned = nd.array([-inf] + [0] * ($C - 1)).reshape((1, $C))
best = nd.argmax(nd.broadcast_add(scores, banned), axis=1)
results = [best.asnumpy()]
""",
    ),
    (
        "a softmax over the length of each row",
        "nd",
        """
scores = nd.sin(nd.arange($N)).reshape(($R, $C))
lengths = nd.array([1] + [$C] * ($R - 1), dtype="int32")
results = [nd.softmax(scores, lengths, use_length=True, axis=-1).asnumpy()]
""",
    ),
    (
        "the largest of a sequence that was padded",
        "nd",
        """
v = nd.sin(nd.arange($N)).reshape(($R, $C, 1))
lengths = nd.array([1] * $C)
padded = nd.SequenceMask(v, lengths, use_sequence_length=True, value=-1e30)
results = [nd.max(padded, axis=0).asnumpy()]
""",
    ),
    (
        "a traced function masks",
        "function",
        """
@hn.function
def $f(v):
    return nd.sum(nd.where(v > 0, 1 / v, nd.zeros_like(v)), axis=1)


results = [$f(nd.arange($N).reshape(($R, $C)) * $turn).asnumpy() for $turn in range(1, $T)]
""",
    ),
    (
        "a bound symbol masks",
        "executor",
        """
v = sym.var("v")
$net = sym.where(v > 0, sym.log(v), sym.zeros_like(v))
executor = $net.bind(mx.cpu(), {"v": nd.arange($N).reshape(($R, $C))})
results = [executor.forward(is_train=False)[0].asnumpy() for _ in range($T)]
""",
    ),
    (
        "a module ignores labels",
        "module",
        """
$net = sym.FullyConnected(sym.var("data"), num_hidden=3, name="$name1")
$net = sym.SoftmaxOutput($net, sym.var("label"), use_ignore=True, ignore_label=-1)
labels = numpy.array([-1, 0, 1, 2] * $R, "float32")
rows = numpy.ones((4 * $R, $C), "float32")
batches = mx.io.NDArrayIter(rows, labels, batch_size=4, label_name="label")
module = mx.mod.Module($net, label_names=["label"])
module.fit(batches, num_epoch=2, initializer=mx.init.Normal(0.1))
results = [one.asnumpy() for one in module.get_params()[0].values()]
""",
    ),
    (
        "an own operator masks",
        "operators in Python",
        """
class $Own(autograd.Function):
    def forward(self, v):
        self.save_for_backward(v)
        return nd.sqrt(nd.relu(v))

    def backward(self, dy):
        (v,) = self.saved_tensors
        return nd.where(v > 0, dy * 0.5 * nd.rsqrt(v), nd.zeros_like(v))


v = nd.array([-1.0, 0.0, 4.0])
v.attach_grad()
with autograd.record():
    $loss = nd.sum($Own()(v))
$loss.backward()
results = [v.grad.asnumpy()]
""",
    ),
    (
        "sentences are aligned by dynamic programming",
        "gluon",
        """
$loss = gluon.loss.CTCLoss(layout="NTC")
scores = nd.random.normal(shape=(2, 6, 4))
scores.attach_grad()
labels = nd.array([[1, 2, -1], [0, 1, 2]])
with autograd.record():
    found = $loss(scores, labels)
found.backward()
results = [found.asnumpy(), scores.grad.asnumpy()]
""",
    ),
    (
        "rows are made by workers that mask",
        "data",
        """
def $f(row):
    v = nd.array(row)
    return nd.where(v > 0, nd.log(v), nd.zeros_like(v))


rows = numpy.arange($N, dtype="float32").reshape($R, $C)
dataset = gluon.data.SimpleDataset(list(rows)).transform($f)
loader = gluon.data.DataLoader(dataset, batch_size=2, num_workers=0)
results = [[batch.asnumpy() for batch in loader]]
""",
    ),
    (
        "a graph of TensorFlow masks",
        "tf1",
        """
import hybridnet.compat.tf1 as tf

v = tf.placeholder(tf.float32, [None])
safe = tf.where(v > 0, tf.log(v), tf.zeros_like(v))
with tf.Session() as session:
    results = [session.run(safe, {v: [0.0, 1.0, 2.0]}).tolist()]
""",
    ),
    (
        "no rows at all",
        "np",
        """
v = np.zeros((0, $C))
total = np.sum(v, axis=0) + np.concatenate([v, np.ones((1, $C))])[0]
results = [total.asnumpy(), v.shape, np.sum(v).item()]
""",
    ),
    (
        "an updater that clips",
        "kvstore",
        """
store = mx.kv.create("local")
store.init(0, nd.zeros(($C,)))


def $f(key, grad, stored):
    stored[:] = stored - 0.1 * nd.clip(grad, -1, 1)


store.set_updater($f)
for $turn in range($T):
    store.push(0, [nd.full(($C,), 1e30), nd.full(($C,), -1e20)])
out = nd.zeros(($C,))
store.pull(0, out=out)
results = [out.asnumpy()]
""",
    ),
]

AT_EDGES = [Special(name, "nan", front, HEAD + text) for name, front, text in _AT_EDGES]
