"""Sound programs: NaN and infinity that are meant, or that nobody ever sees.

Each is a name, a way to write programs, and what the program does; what it imports is the same for
all of them.
"""

from __future__ import annotations

from specials import Special

HEAD = """
import numpy

import hybridnet as hn
import hybridnet as mx
from hybridnet import autograd, gluon, nd, np, npx, sym

inf, nan = float("inf"), float("nan")
mx.random.seed($SEED)
"""

_PROGRAMS = [
    (
        "where masks the log of 0",
        "nd",
        """
v = nd.arange($N).reshape(($R, $C))
$y = nd.where(v > 0, nd.log(v), nd.zeros_like(v))
results = [$y.asnumpy()]
""",
    ),
    (
        "nan_to_num of a quotient",
        "np",
        """
v = np.arange($N).reshape($R, $C) - 2
$y = np.nan_to_num(v / (v * v))
results = [np.clip($y, -1, 1).asnumpy()]
""",
    ),
    (
        "a mask of minus infinity that is a constant",
        "hybridized",
        """
class $Net(gluon.HybridBlock):
    def hybrid_forward(self, F, scores, mask):
        return F.softmax(F.broadcast_add(scores, mask), axis=-1)


mask = nd.array(numpy.triu(numpy.full(($R, $R), -inf), 1))
$net = $Net()
$net.hybridize()
scores = nd.random.normal(shape=(2, $R, $R))
results = [$net(scores, mask.expand_dims(0)).asnumpy() for _ in range($T)]
""",
    ),
    (
        "attention learns under a mask",
        "gluon",
        """
$w = nd.random.normal(shape=($C, $C))
$w.attach_grad()
mask = nd.array(numpy.triu(numpy.full(($R, $R), -inf), 1))
v = nd.random.normal(shape=($R, $C))
for $turn in range($T):
    with autograd.record():
        scores = nd.dot(nd.dot(v, $w), v.T) + mask
        $loss = nd.sum(nd.dot(nd.softmax(scores), v) ** 2)
    $loss.backward()
    $w -= 0.001 * $w.grad
results = [$w.asnumpy()]
""",
    ),
    (
        "the largest so far begins at minus infinity",
        "nd",
        """
best = nd.full(($C,), -inf)
for $turn in range($T):
    best = nd.maximum(best, nd.sin(nd.arange($C) * $turn))
results = [best.asnumpy()]
""",
    ),
    (
        "the least of no rows begins at infinity",
        "np",
        """
rows = np.random.normal(size=($R, $C))
least = np.full(($C,), inf)
for row in rows:
    least = np.minimum(least, row)
results = [least.asnumpy()]
""",
    ),
    (
        "a loop carries a running maximum",
        "control flow",
        """
def body(v, best):
    best = nd.maximum(best, v)
    return best * 2, best


rows = nd.sin(nd.arange($N)).reshape(($R, $C))
outs, best = nd.contrib.foreach(body, rows, nd.full(($C,), -inf))
results = [outs.asnumpy(), best.asnumpy()]
""",
    ),
    (
        "the branch that would divide by 0 is not taken",
        "control flow",
        """
total = nd.zeros((1,))
for $turn in range($T):
    count = nd.array([$turn])
    total = total + nd.contrib.cond(count > 0, lambda: 1 / count, lambda: count)
results = [total.asnumpy()]
""",
    ),
    (
        "numbers that are missing are left out of a sum",
        "nd",
        """
rows = numpy.arange($N, dtype="float32").reshape($R, $C)
rows[0, 1] = nan
with hn.debug.allow_nans():
    v = nd.array(rows)
    $y = nd.nansum(v, axis=1)
results = [$y.asnumpy()]
""",
    ),
    (
        "whether numbers are missing is asked",
        "np",
        """
rows = numpy.arange($N, dtype="float32").reshape($R, $C)
rows[1, 1] = nan
v = np.array(rows)
missing = np.isnan(v)
$y = np.where(missing, np.zeros_like(v), v)
results = [missing.asnumpy(), $y.asnumpy()]
""",
    ),
    (
        "an overflow is clipped, as is said",
        "nd",
        """
v = nd.arange($N).reshape(($R, $C)) * 100
with hn.debug.allow_nans():
    $y = nd.exp(v)
    $y = nd.clip($y, 0, 1e6)
results = [$y.asnumpy()]
""",
    ),
    (
        "0 divided by 0 is allowed and replaced",
        "np",
        """
counts = np.array([0.0, 2.0, 0.0, 4.0])
with hn.debug.allow_nans():
    shares = counts / counts
    shares = np.where(np.isnan(shares), 0, shares)
results = [shares.asnumpy()]
""",
    ),
    (
        "a step is left out where gradients overflow",
        "optimizer",
        """
$net = gluon.nn.Dense(2, in_units=$C)
$net.initialize()
trainer = gluon.Trainer($net.collect_params(), "sgd", {"learning_rate": 0.01})
scale = 1e38
for $turn in range($T + 3):
    with hn.debug.allow_nans():
        with autograd.record():
            $loss = nd.sum($net(nd.ones(($R, $C))) ** 2) * scale * 10
        $loss.backward()
        grads = [one.grad() for one in $net.collect_params().values()]
        fine = bool(nd.multi_all_finite(*grads, num_arrays=len(grads)).asscalar())
    if fine:
        trainer.step(scale)
    else:
        scale = scale / 1e10
        for one in grads:
            one[:] = 0
results = [$net.weight.data().asnumpy()]
""",
    ),
    (
        "a metric of nothing",
        "metric",
        """
metric = mx.metric.Accuracy()
nothing = metric.get()[1]
metric.update([nd.zeros(($R,))], [nd.ones(($R, 2))])
results = [nothing != nothing, metric.get()[1]]
""",
    ),
    (
        "a metric that leaves out what is missing",
        "metric",
        """
def known(label, pred):
    gaps = numpy.abs(label - pred)
    return float(numpy.nanmean(gaps))


metric = mx.metric.CustomMetric(known)
label = numpy.ones($R, "float32")
label[0] = nan
metric.update([numpy.array(label)], [numpy.zeros($R)])
results = [metric.get()[1]]
""",
    ),
    (
        "a saturated gate",
        "nd",
        """
v = nd.array([-1e30, -100, 0, 100, 1e30])
results = [nd.sigmoid(v).asnumpy(), nd.tanh(v).asnumpy(), nd.softmax(v).asnumpy()]
""",
    ),
    (
        "softplus by hand, without an overflow",
        "hybridized",
        """
own = gluon.nn.HybridLambda(lambda F, v: F.relu(v) + F.log1p(F.exp(-F.abs(v))))
own.hybridize()
v = nd.array([-1e4, -1, 0, 1, 1e4])
v.attach_grad()
with autograd.record():
    $y = own(v)
$y.backward()
results = [$y.asnumpy(), v.grad.asnumpy()]
""",
    ),
    (
        "where twice, so that the gradient is finite",
        "nd",
        """
v = nd.array([-1.0, 0.0, 4.0])
v.attach_grad()
with autograd.record():
    safe = nd.where(v > 0, v, nd.ones_like(v))
    $y = nd.where(v > 0, nd.sqrt(safe), nd.zeros_like(v))
$y.backward()
results = [$y.asnumpy(), v.grad.asnumpy()]
""",
    ),
    (
        "the root of 0 without a gradient",
        "nd",
        """
v = nd.arange($C)
v.attach_grad()
with autograd.record():
    with autograd.pause():
        norm = nd.sqrt(v * 0)
    $loss = nd.sum(v * 2 + norm)
$loss.backward()
results = [v.grad.asnumpy()]
""",
    ),
]

UNSEEN = [Special(name, "nan", front, HEAD + text) for name, front, text in _PROGRAMS]
