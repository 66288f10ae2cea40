"""The same programs for JAX, as somebody who uses JAX would write them."""

from __future__ import annotations

from skeletons import Skeleton

_FUNCTION = """
import jax
import jax.numpy as jnp


def $g(v):
    return $FILL


JIT
def $f($x):
    $before
    $CULPRIT
    $after
    return $y


$data = (jnp.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
for $turn in range($T):
    $data = $g($data)
    if $turn == $BAD:
        $data = $f($data)
results = [$data.tolist()]
"""
_NET = """
import jax
import jax.numpy as jnp


def dense(v):
    weights = jax.random.normal(jax.random.key($SEED), ($C, $C)) * 0.1
    return jax.nn.sigmoid(v @ weights)


def squeeze(v):
    return jnp.tanh(v) * 0.5 + 0.5


def $f($x):
    $before
    $CULPRIT
    $after
    return $y


layers = [dense]
$layers_before
layers.append($f)
$layers_after


def $net(v, $w):
    for layer in layers:
        v = layer(v)
    return v @ $w


$data = (jnp.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
$w = jnp.ones(($C, $C)) * 0.1
"""
_FLOW = """
import jax
import jax.numpy as jnp


def usual(v):
    return $FILL


def $f($x):
    $before
    $CULPRIT
    return $y


$data = (jnp.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
"""

JAX = {
    one.name: one
    for one in (
        Skeleton("loop", "nd", _FUNCTION.replace("JIT\n", ""), "np"),
        Skeleton("function", "nd", _FUNCTION.replace("JIT\n", ""), "np"),
        Skeleton("jitted", "function", _FUNCTION.replace("JIT", "@jax.jit"), "np"),
        Skeleton(
            "lambdas",
            "nd",
            """
import jax
import jax.numpy as jnp

$data = (jnp.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
ways = []
ways.append(lambda v: $FILL)
ways.append(lambda $x: $EXPR)  # !
ways.append(lambda v: jnp.tanh(v))
for way in ways:
    $data = way($data)
results = [$data.tolist()]
""",
            "np",
        ),
        Skeleton(
            "comprehension",
            "nd",
            """
import jax
import jax.numpy as jnp


def $g(v):
    return $FILL


rows = (jnp.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
batches = [$g(rows), rows, $g($g(rows))]
parts = [$EXPR for $x in batches]  # !
results = [sum(parts).tolist()]
""",
            "np",
        ),
        Skeleton(
            "by_hand",
            "nd",
            """
import jax
import jax.numpy as jnp


def $f($w, v):
    $x = $w * 0.5 + v * 0.1
    $before
    $CULPRIT
    $after
    return jnp.mean($y * $y)


step = jax.jit(jax.value_and_grad($f))
$w = (jnp.arange(1, $N + 1) / ($N + 1)).reshape($R, $C)
for $turn in range($T):
    $loss, slope = step($w, jnp.ones(($R, $C)) * 0.5)
    $w = $w - 0.001 * slope
results = [$w.tolist(), $loss.tolist()]
""",
            "np",
            trains=True,
        ),
        Skeleton("module", "gluon", _NET + "results = [jax.jit($net)($data, $w).tolist()]\n", "np"),
        Skeleton(
            "training",
            "gluon",
            _NET.replace("v = layer(v)", "v = layer(v + jnp.mean($w))").replace("$f)", "$f)")
            + """

@jax.jit
def step($w):
    $loss, slope = jax.value_and_grad(lambda $w: jnp.mean($net($data, $w) ** 2))($w)
    return $loss, $w - 0.01 * slope


for $turn in range($T):
    $loss, $w = step($w)
results = [$loss.tolist(), $w.tolist()]
""",
            "np",
            trains=True,
        ),
        Skeleton(
            "while_loop",
            "control flow",
            _FLOW
            + """
outs = jax.lax.while_loop(
    lambda one: one[0] < $T, lambda one: (one[0] + 1, jnp.tanh($f(one[1]))), (0, $data)
)
results = [outs[1].tolist()]
""",
            "np",
        ),
        Skeleton(
            "cond",
            "control flow",
            _FLOW
            + """
for $turn in range($T):
    $data = jax.lax.cond($turn == $BAD, $f, usual, $data)
results = [$data.tolist()]
""",
            "np",
        ),
        Skeleton(
            "scan",
            "control flow",
            _FLOW
            + """
def body(carried, v):
    made = $f(v * 0.5 + carried * 0.25)
    return jnp.tanh(made), made


last, outs = jax.lax.scan(body, $data, jnp.stack([$data] * $T))
results = [last.tolist()]
""",
            "np",
        ),
    )
}
