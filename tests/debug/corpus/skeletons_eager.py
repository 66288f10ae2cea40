"""Arrays: functions, loops, lambdas, comprehensions, classes and training by hand."""

from __future__ import annotations

from skeletons import Skeleton

EAGER = [
    Skeleton(
        "loop",
        "nd",
        """
import hybridnet as mx
from hybridnet import nd


def $g(v):
    return $FILL


def $f($x):
    $before
    $CULPRIT
    $after
    return $y


$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
for $turn in range($T):
    $data = $g($data)
    if $turn == $BAD:
        $data = $f($data)
results = [$data.asnumpy()]
print(results[0].mean())
""",
        "nd",
        peer="loop",
    ),
    Skeleton(
        "lambdas",
        "nd",
        """
import functools

import hybridnet as mx
from hybridnet import nd

$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
first = lambda v: $FILL
second = lambda $x: $EXPR  # !
third = lambda v: nd.sigmoid(v)
ways = [first, first, second, third]
results = [functools.reduce(lambda v, way: way(v), ways, $data).asnumpy()]
print(results[0].shape)
""",
        "nd",
        peer="lambdas",
    ),
    Skeleton(
        "comprehension",
        "nd",
        """
import hybridnet as mx
from hybridnet import nd


def $g(v):
    return $FILL


rows = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
batches = [$g(rows), rows, $g($g(rows))]
parts = [$EXPR for $x in batches]  # !
total = nd.add_n(*parts)
results = [total.asnumpy(), len(parts)]
print(total.shape)
""",
        "nd",
        peer="comprehension",
    ),
    Skeleton(
        "by_hand",
        "nd",
        """
import hybridnet as mx
from hybridnet import autograd, nd


class $Net:
    def __init__(self, $w):
        self.$w = $w

    def __call__(self, v):
        $x = self.$w * 0.5 + v * 0.1
        $before
        $CULPRIT
        $after
        return $y


def train($net, v, rate=0.001):
    with autograd.record():
        $loss = nd.mean(nd.square($net(v)))
    $loss.backward()
    $net.$w[:] = $net.$w - rate * $net.$w.grad
    return $loss


$w = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
$w.attach_grad()
$net = $Net($w)
v = nd.ones(($R, $C)) * 0.5
for $turn in range($T):
    last = train($net, v)
    nd.waitall()
results = [last.asnumpy(), $net.$w.asnumpy()]
print(last.asscalar())
""",
        "nd",
        trains=True,
        peer="by_hand",
    ),
    Skeleton(
        "np_function",
        "np",
        """
import hybridnet as mx
from hybridnet import np


def $g(v):
    return $FILL


def $f($x):
    $before
    $CULPRIT
    $after
    return $y


$data = (np.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
$data = $f($g($data))
results = [np.tanh($data).asnumpy()]
print(results[0].shape)
""",
        "np",
        peer="function",
    ),
    Skeleton(
        "np_lambdas",
        "np",
        """
from hybridnet import np

ways = {}
ways["first"] = lambda v: $FILL
ways["second"] = lambda $x: $EXPR  # !
ways["third"] = lambda v: np.tanh(v)
$data = (np.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
for name in sorted(ways):
    $data = ways[name]($data)
results = [$data.asnumpy()]
""",
        "np",
        peer="lambdas",
    ),
    Skeleton(
        "np_training",
        "np",
        """
from hybridnet import autograd, np


def $f($w, $x):
    $x = $x * 0.1 + $w * 0.5
    $before
    $CULPRIT
    $after
    return np.mean($y * $y)


$w = (np.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
$w.attach_grad()
for $turn in range($T):
    with autograd.record():
        $loss = $f($w, np.ones(($R, $C)) * 0.5)
    $loss.backward()
    $w[:] = $w - 0.001 * $w.grad
results = [$w.asnumpy(), $loss.item()]
print(results[-1])
""",
        "np",
        trains=True,
        peer="by_hand",
    ),
]
