"""Updates, metrics and first weights that users write in Python."""

from __future__ import annotations

from skeletons import Skeleton

UPDATES = [
    Skeleton(
        "updater",
        "kvstore",
        """
import hybridnet as mx
from hybridnet import nd

store = mx.kv.create("local")
$w = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
store.init("$name1", $w)


def $f(key, $x, stored):
    $x = nd.sigmoid($x + stored)
    $CULPRIT
    stored[:] = stored - 0.01 * nd.tanh($y)


store.set_updater($f)
for $turn in range($T):
    store.push("$name1", [nd.ones(($R, $C)), nd.ones(($R, $C)) * 2])
    store.pull("$name1", out=$w)
results = [$w.asnumpy()]
print(results[0].sum())
""",
        "nd",
        peer="function",
    ),
    Skeleton(
        "optimizer_class",
        "optimizer",
        """
import hybridnet as mx
from hybridnet import autograd, gluon, nd


@mx.optimizer.register
class $Own(mx.optimizer.Optimizer):
    def create_state(self, index, weight):
        return nd.zeros(weight.shape)

    def update(self, index, weight, grad, state):
        $x = nd.sigmoid(grad * 0.1)
        $CULPRIT
        state[:] = state * 0.9 + nd.tanh($y)
        weight[:] = weight - self._get_lr(index) * state


mx.random.seed($SEED)
$net = gluon.nn.Dense($R, in_units=$C, use_bias=False)
$net.initialize()
trainer = gluon.Trainer($net.collect_params(), $Own(learning_rate=0.01))
for $turn in range($T):
    with autograd.record():
        $loss = nd.mean($net(nd.ones((2, $C))))
    $loss.backward()
    trainer.step(1)
results = [$net.weight.data().asnumpy()]
""",
        "nd",
        peer="function",
    ),
    Skeleton(
        "metric",
        "metric",
        """
import hybridnet as mx
from hybridnet import nd


class $Own(mx.metric.EvalMetric):
    def __init__(self):
        super().__init__("$name1")

    def update(self, labels, preds):
        for label, $x in zip(labels, preds):
            $CULPRIT
            self.sum_metric += nd.mean(nd.tanh($y) - label).asscalar()
            self.num_inst += 1


metric = $Own()
$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
for $turn in range($T):
    $data = $data * 0.9
    metric.update([nd.zeros(($R, $C))], [$data])
results = [metric.get()[1]]
print(metric.get())
""",
        "nd",
        peer="function",
    ),
    Skeleton(
        "initializer",
        "gluon",
        """
import hybridnet as mx
from hybridnet import gluon, nd


@mx.init.register
class $Own(mx.init.Initializer):
    def _init_weight(self, name, arr):
        $x = nd.random.uniform(0.2, 0.8, shape=($R, $C))
        $CULPRIT
        arr[:] = $y


mx.random.seed($SEED)
$net = gluon.nn.HybridSequential()
$net.add(gluon.nn.Dense($R, in_units=$C, weight_initializer=$Own()))
$net.add(gluon.nn.Dense(2))
$net.initialize()
out = $net(nd.ones((3, $C)))
results = [out.asnumpy()]
""",
        "nd",
        peer="function",
    ),
]
