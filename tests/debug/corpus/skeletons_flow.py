"""Loops and branches that are operators."""

from __future__ import annotations

from skeletons import Skeleton

FLOW = [
    Skeleton(
        "foreach",
        "control flow",
        """
import hybridnet as mx
from hybridnet import nd


def $f(v, $s):
    $x = v * 0.5 + $s * 0.25
    $before
    $CULPRIT
    $after
    return $y, nd.sigmoid($y)


rows = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
$data = nd.stack(*[rows * 0.9 for _ in range($T)])
outs, last = nd.contrib.foreach($f, $data, rows)
results = [outs.asnumpy(), last.asnumpy()]
print(results[1].shape)
""",
        "nd",
        peer="scan",
    ),
    Skeleton(
        "foreach_symbol",
        "control flow",
        """
import hybridnet as mx
from hybridnet import nd, sym


def body($x, $s):
    $x = sym.sigmoid($x + $s)
    $before
    $CULPRIT
    $after
    return $y, $s * 0.5


outs, _ = sym.contrib.foreach(body, sym.var("data"), sym.var("begin"))
rows = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
given = {"data": nd.stack(*[rows for _ in range($T)]), "begin": rows}
executor = outs.bind(mx.cpu(), given)
results = [executor.forward()[0].asnumpy()]
print(results[0].mean())
""",
        "sym",
        peer="scan",
    ),
    Skeleton(
        "while_loop",
        "control flow",
        """
import hybridnet as mx
from hybridnet import nd


def more($turn, v):
    return $turn < $T


def $f($turn, $x):
    $before
    $CULPRIT
    return nd.sum($y), [$turn + 1, nd.sigmoid($y)]


$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
outs, ($turn, v) = nd.contrib.while_loop(more, $f, [nd.zeros((1,)), $data], max_iterations=$T)
results = [v.asnumpy(), $turn.asscalar()]
""",
        "nd",
        peer="while_loop",
    ),
    Skeleton(
        "while_symbol",
        "control flow",
        """
import hybridnet as mx
from hybridnet import nd, sym


def $g($x):
    $before
    $CULPRIT
    return $y


outs, ($turn, v) = sym.contrib.while_loop(
    cond=lambda $turn, v: $turn < $T,
    func=lambda $turn, v: (sym.sum(v), [$turn + 1, sym.sigmoid($g(v))]),
    loop_vars=[sym.var("begin"), sym.var("v")],
    max_iterations=$T + 1,
)
rows = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
executor = sym.Group([v, $turn]).bind(mx.cpu(), {"begin": nd.zeros((1,)), "v": rows})
results = [one.asnumpy() for one in executor.forward()]
""",
        "sym",
        peer="while_loop",
    ),
    Skeleton(
        "cond",
        "control flow",
        """
import hybridnet as mx
from hybridnet import nd


def usual(v):
    return $FILL


def $f($x):
    $before
    $CULPRIT
    $after
    return $y


$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
for $turn in range($T):
    chosen = nd.array([$turn == $BAD])
    $data = nd.contrib.cond(chosen, lambda: $f($data), lambda: usual($data))
    $data = nd.sigmoid($data)
results = [$data.asnumpy()]
""",
        "nd",
        peer="cond",
    ),
    Skeleton(
        "cond_hybridized",
        "control flow",
        """
import hybridnet as mx
from hybridnet import gluon, nd


class $Net(gluon.HybridBlock):
    def unusual(self, F, $x):
        $before
        $CULPRIT
        return $y

    def hybrid_forward(self, F, v):
        big = F.sum(v).reshape((1,)) > 0
        return F.contrib.cond(big, lambda: self.unusual(F, v), lambda: v * 2)


$net = $Net()
$net.initialize()
$net.hybridize()
$data = (nd.arange(1, $N + 1) / ($N + 1)).reshape(($R, $C))
results = [nd.tanh($net($data)).asnumpy()]
print(results[0].shape)
""",
        "F",
        peer="cond",
    ),
]
