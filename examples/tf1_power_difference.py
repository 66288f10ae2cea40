"""A new operator for TensorFlow 1.x's graphs, in three ways: (x - y) ** z with its gradients.

    python examples/tf1_power_difference.py
    python examples/tf1_power_difference.py --rows=2048 --columns=1024 --runs=30

The operator of a well-known course exercise. It is composed of operators that are there; is Python
code on NumPy arrays (`tf.py_func`); and is an operator of our own, which a run compiles like any
other. All three are held against NumPy, and their gradients against numeric ones. The time of a run
is given as a ratio to that of the composed one.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from jax import numpy as jnp

import hybridnet.compat.tf1 as tf
from hybridnet.compat.tf1.graph import op
from hybridnet.ops.core.registry import get, operator

flags = tf.app.flags
flags.DEFINE_integer("rows", 512, "of x; y is one row, z one number for each row")
flags.DEFINE_integer("columns", 512, "of x and y")
flags.DEFINE_integer("runs", 20, "how many are timed, of each way by turns")
FLAGS = flags.FLAGS


# -- composed of operators ---------------------------------------------------------------------


def composed(x, y, z):
    """TensorFlow's own operators, and the gradients that they have."""
    return tf.pow(tf.subtract(x, y), z)


# -- Python code -------------------------------------------------------------------------------


def summed_to(value: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Adds up what came of the elements of an array that was broadcast."""
    added = tuple(range(value.ndim - len(shape)))
    value = value.sum(added)
    kept = tuple(axis for axis, size in enumerate(shape) if size == 1)
    return value.sum(kept, keepdims=True)


def python_gradients(x, y, z, dy):
    """The gradients of the three inputs, by NumPy; that of z is 0 where x - y is not above 0."""
    base = x - y
    slope = dy * z * base ** (z - 1)
    log = np.log(np.where(base > 0, base, 1))
    each = slope, -slope, dy * base**z * log
    found = (summed_to(one, of.shape) for one, of in zip(each, (x, y, z), strict=True))
    return [one.astype(np.float32) for one in found]


@tf.RegisterGradient("PowerDifferenceGrad")
def gradient_by_python(operation, dy):
    """The rule by which `tf.gradients` goes through the Python code."""
    return tf.py_func(python_gradients, [*operation.inputs, dy], [tf.float32] * 3)


def by_python(x, y, z):
    """Python code on the host: a run is cut before and after it."""
    with tf.get_default_graph().gradient_override_map({"PyFunc": "PowerDifferenceGrad"}):
        made = tf.py_func(lambda x, y, z: (x - y) ** z, [x, y, z], tf.float32)
    made.set_shape(tf.broadcast_static_shape(tf.broadcast_static_shape(x.shape, y.shape), z.shape))
    return made


# -- an operator of our own --------------------------------------------------------------------


@operator("power_difference_gradient", outputs=3, no_gradient="the exercise ends here")
def power_difference_gradient(x, y, z, dy):
    """The gradients of the three inputs of `power_difference`, each of its input's shape."""
    base = x - y
    slope = dy * z * base ** (z - 1)
    each = slope, -slope, dy * base**z * jnp.log(jnp.where(base > 0, base, 1))

    def summed(value, shape):
        value = value.sum(tuple(range(value.ndim - len(shape))))
        kept = tuple(axis for axis, size in enumerate(shape) if size == 1)
        return value.sum(kept, keepdims=True)

    return tuple(summed(one, of.shape) for one, of in zip(each, (x, y, z), strict=True))


def _rule(back):
    return back.apply(get("power_difference_gradient").bind({})[0], [*back.inputs, *back.grads], ())


@operator("power_difference", gradient=_rule)
def power_difference(x, y, z):
    """``(x - y) ** z``, element by element.

    Args:
        x, y, z: floating, of shapes that can be broadcast.
    """
    return (x - y) ** z


def registered(x, y, z):
    """The operator as an Operation of the type PowerDifference."""
    return op("PowerDifference", "power_difference", [x, y, z])


# -- and all of them ---------------------------------------------------------------------------

WAYS: dict[str, Callable] = {
    "composed": composed,
    "py_func": by_python,
    "registered": registered,
}
Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def drawn(rows: int, columns: int) -> Arrays:
    """Returns x (rows, columns), y (columns,) below it, and z (rows, 1)."""
    draw = np.random.default_rng(0)
    x = draw.uniform(1.5, 2.5, (rows, columns))
    y, z = draw.uniform(0, 1, columns), draw.uniform(1, 3, (rows, 1))
    return x.astype("float32"), y.astype("float32"), z.astype("float32")


def numeric_gradients(arrays: Arrays, weights: np.ndarray, step: float = 1e-5) -> list[np.ndarray]:
    """Returns the slopes of the weighted sum along each element, in float64."""
    wide = [one.astype("float64") for one in arrays]

    def total() -> float:
        x, y, z = wide
        return float((weights * (x - y) ** z).sum())

    found = []
    for one in wide:
        slopes = np.empty_like(one)
        for place in np.ndindex(one.shape):
            kept = one[place]
            one[place] = kept + step
            above = total()
            one[place] = kept - step
            slopes[place] = (above - total()) / (2 * step)
            one[place] = kept
        found.append(slopes)
    return found


def errors(way: Callable) -> tuple[float, float]:
    """Returns the largest relative errors of the values and of the gradients."""
    arrays = drawn(3, 4)
    weights = np.random.default_rng(1).uniform(-1, 1, (3, 4)).astype("float32")
    with tf.Graph().as_default(), tf.Session() as session:
        inputs = [tf.placeholder(tf.float32, one.shape) for one in arrays]
        made = way(*inputs)
        slopes = tf.gradients(tf.reduce_sum(made * weights), inputs)
        value, *slopes = session.run([made, *slopes], dict(zip(inputs, arrays, strict=True)))
    x, y, z = (one.astype("float64") for one in arrays)
    wanted = numeric_gradients(arrays, weights.astype("float64"))
    off = [np.abs(a - b).max() / np.abs(b).max() for a, b in zip(slopes, wanted, strict=True)]
    return float(np.abs(value / (x - y) ** z - 1).max()), float(max(off))


def ratios() -> dict[str, float]:
    """Returns the median time of a run with gradients of each way, over that of the first."""
    arrays = drawn(FLAGS.rows, FLAGS.columns)
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    with tf.Graph().as_default(), tf.Session() as session:
        # Held on the device: to feed them would take most of the time.
        inputs = [tf.Variable(one) for one in arrays]
        session.run(tf.global_variables_initializer())
        steps = {}
        for name, way in WAYS.items():
            given = [one.read_value() for one in inputs]
            slopes = tf.gradients(tf.reduce_sum(way(*given)), given)
            # Fetched: what nobody asks for would not be computed.
            steps[name] = tf.add_n([tf.reduce_sum(one) for one in slopes])
            session.run(steps[name])  # compiles
        for _ in range(FLAGS.runs):
            for name, step in steps.items():
                began = time.perf_counter()
                session.run(step)
                taken[name].append(time.perf_counter() - began)
    medians = {name: float(np.median(some)) for name, some in taken.items()}
    return {name: one / medians["composed"] for name, one in medians.items()}


def main(_: list[str]) -> None:
    """Compares the ways, and prints a line for each."""
    relative = ratios()
    print(f"{'':12}{'error of values':>16}{'of gradients':>14}{'time of a run':>15}")
    for name, way in WAYS.items():
        value, slope = errors(way)
        print(f"{name:12}{value:16.1e}{slope:14.1e}{relative[name]:15.2f}")
    worst = max(max(errors(way)) for way in WAYS.values())
    print(f"largest error {worst:.7f}")


if __name__ == "__main__":
    tf.app.run()
