"""Blocks: of one's own, in a network, hybridized or not, and trained."""

from __future__ import annotations

from skeletons import Skeleton

_TRAIN = """
$net.initialize(mx.init.Xavier())
trainer = gluon.Trainer($net.collect_params(), "sgd", {"learning_rate": 0.01})
$loss = gluon.loss.L2Loss()
$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
for $turn in range($T):
    with autograd.record():
        found = $loss($net($data), nd.zeros(($R, $C)))
    found.backward()
    trainer.step($R)
    nd.waitall()
results = [found.asnumpy(), *(one.data().asnumpy() for one in $net.collect_params().values())]
print(found.mean().asscalar())
"""
_HYBRID = """
import hybridnet as mx
from hybridnet import autograd, gluon, nd


class $Net(gluon.HybridBlock):
    def hybrid_forward(self, F, $x):
        $before
        $CULPRIT
        $after
        return $y


mx.random.seed($SEED)
$net = gluon.nn.HybridSequential()
$net.add(gluon.nn.Dense($C, activation="sigmoid", in_units=$C))
$layers_before
$net.add($Net())
$layers_after
$net.add(gluon.nn.Dense($C, in_units=$C))
"""

GLUON = [
    Skeleton(
        "block",
        "gluon",
        """
import hybridnet as mx
from hybridnet import gluon, nd


class $Net(gluon.Block):
    def __init__(self, width, **kwargs):
        super().__init__(**kwargs)
        with self.name_scope():
            self.first = gluon.nn.Dense(width, activation="sigmoid")
            self.last = gluon.nn.Dense(width)

    def mixed(self, $x):
        $before
        $CULPRIT
        $after
        return $y

    def forward(self, v):
        return self.last(self.mixed(self.first(v)))


mx.random.seed($SEED)
$net = $Net($C)
$net.initialize()
$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
results = [$net($data).asnumpy()]
print(results[0].max())
""",
        "nd",
        peer="module",
    ),
    Skeleton("not_hybridized", "gluon", _HYBRID + _TRAIN, "F", trains=True, peer="training"),
    Skeleton(
        "hybridized",
        "hybridized",
        _HYBRID + "$net.hybridize()\n" + _TRAIN.lstrip("\n"),
        "F",
        trains=True,
        peer="training",
    ),
    Skeleton(
        "hybridized_static",
        "hybridized",
        _HYBRID
        + """
$net.initialize()
$net.hybridize(static_alloc=True, static_shape=True)
$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
results = [[$net($data * 0.9).asnumpy() for _ in range($T)][-1]]
print(results[0].shape)
""",
        "F",
        peer="module",
    ),
    Skeleton(
        "hybrid_lambda",
        "hybridized",
        """
import hybridnet as mx
from hybridnet import gluon, nd

mx.random.seed($SEED)
$net = gluon.nn.HybridSequential()
$layers_before
$net.add(gluon.nn.Activation("sigmoid"))
own = gluon.nn.HybridLambda(lambda F, $x: $EXPR)  # !
$net.add(own)
$net.add(gluon.nn.Activation("tanh"))
$net.initialize()
$net.hybridize()
$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
results = [$net($data).asnumpy()]
print(results[0].mean())
""",
        "F",
        peer="module",
    ),
    Skeleton(
        "loss_block",
        "hybridized",
        """
import hybridnet as mx
from hybridnet import autograd, gluon, nd


class $Own(gluon.loss.Loss):
    def __init__(self, weight=None, batch_axis=0, **kwargs):
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F, v, label, sample_weight=None):
        $x = F.sigmoid(v - label)
        $before
        $CULPRIT
        return F.mean(F.square($y), axis=self._batch_axis, exclude=True)


mx.random.seed($SEED)
$net = gluon.nn.Dense($C, in_units=$C)
$net.initialize(mx.init.Normal(0.1))
$loss = $Own()
$net.hybridize()
$loss.hybridize()
trainer = gluon.Trainer($net.collect_params(), "adam", {"learning_rate": 1e-3})
for $turn in range($T):
    $data = nd.ones(($R, $C)) * 0.1 * $turn
    with autograd.record():
        found = $loss($net($data), nd.ones(($R, $C)))
    found.backward()
    trainer.step($R)
results = [found.asnumpy(), $net.weight.data().asnumpy()]
""",
        "F",
        trains=True,
        peer="training",
    ),
]
