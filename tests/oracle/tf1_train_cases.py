"""Variables, initializers, optimizers and rates of TensorFlow's 1.x API; see `tf1_case.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, numbers, static


def _trained(tf: Any, optimizer: Any, steps: int = 4) -> Any:
    """Returns the variables, slots and operations, and what they held after each step."""
    w = tf.Variable(numbers(3, 2), name="w")
    b = tf.get_variable("b", initializer=tf.constant([0.5, -0.5]))
    x = tf.constant(numbers(4, 3))
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - numbers(4, 2)), name="loss")
    count = tf.train.get_or_create_global_step()
    pairs = optimizer.compute_gradients(loss)
    train = optimizer.apply_gradients(pairs, global_step=count, name="train")
    slots = {name: optimizer.get_slot(w, name) for name in sorted(optimizer.get_slot_names())}
    held = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            assert session.run(train) is None
            held.append(session.run([loss, w, b, count, *slots.values()]))
    return {
        "held": held,
        "names": [one.name for one in tf.global_variables()],
        "trainable": [one.name for one in tf.trainable_variables()],
        "slots": [one.name for one in slots.values()],
        "train": [train.name, optimizer.get_name()],
        "variables": [one.name for one in optimizer.variables()],
        "pairs": [[grad.dtype.name, var.name] for grad, var in pairs],
    }


def _optimizer(name: str, make: Callable[[Any], Any]) -> None:
    def program(tf: Any) -> Any:
        return _trained(tf, make(tf.train))

    program.__name__ = name
    program.__module__ = __name__
    case(program)


_optimizer("descent", lambda train: train.GradientDescentOptimizer(0.1))
_optimizer("momentum", lambda train: train.MomentumOptimizer(0.1, 0.9))
_optimizer("nesterov", lambda train: train.MomentumOptimizer(0.1, 0.9, use_nesterov=True))
_optimizer("adam", lambda train: train.AdamOptimizer(0.05, beta1=0.8, epsilon=1e-3))
_optimizer("rmsprop", lambda train: train.RMSPropOptimizer(0.05, 0.8, 0.5, epsilon=1e-3))
_optimizer(
    "rmsprop_centered", lambda train: train.RMSPropOptimizer(0.05, 0.8, epsilon=1e-3, centered=True)
)
_optimizer("adagrad", lambda train: train.AdagradOptimizer(0.1, initial_accumulator_value=0.2))
_optimizer("adadelta", lambda train: train.AdadeltaOptimizer(1.0, 0.9, 1e-3))
_optimizer("ftrl", lambda train: train.FtrlOptimizer(
    0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.02
))  # fmt: skip


@case
def minimized(tf: Any) -> Any:
    w = tf.Variable([1.0, 2.0], name="w")
    v = tf.Variable([3.0], name="v")
    fixed = tf.Variable([5.0], trainable=False)
    loss = tf.reduce_sum(tf.square(w)) + tf.reduce_sum(v * fixed)
    step = tf.Variable(0, trainable=False, name="step")
    rate = tf.train.exponential_decay(0.1, step, 2, 0.5, staircase=True)
    only = tf.train.GradientDescentOptimizer(rate).minimize(loss, step, var_list=[w])
    both = tf.train.AdamOptimizer(0.1).minimize(loss)
    found = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for operation in (only, only, only, both):
            session.run(operation)
            found.append(session.run([w, v, step, rate, fixed]))
    return [found, only.name, both.name, [one.name for one in tf.global_variables()]]


@case
def gradients_changed_on_the_way(tf: Any) -> Any:
    w, v = tf.Variable([3.0, -4.0]), tf.Variable([[2.0]])
    loss = tf.reduce_sum(tf.square(w)) + tf.reduce_sum(v) * 3.0
    optimizer = tf.train.GradientDescentOptimizer(1.0)
    grads, variables = zip(*optimizer.compute_gradients(loss), strict=True)
    clipped, norm = tf.clip_by_global_norm(grads, 1.0)
    train = optimizer.apply_gradients(zip(clipped, variables, strict=True))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        _, before = session.run([train, norm])
        return [before, *session.run([w, v]), train.name, train.type]


@case
def looked_up_rows_are_trained(tf: Any) -> Any:
    table = tf.Variable(numbers(5, 2), name="table")
    rows = tf.nn.embedding_lookup(table, [0, 3, 3])
    loss = tf.reduce_sum(tf.square(rows))
    found = []
    for make in (
        lambda: tf.train.GradientDescentOptimizer(0.1), lambda: tf.train.AdagradOptimizer(0.1),
        lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    ):  # fmt: skip
        train = make().minimize(loss)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(train)
            session.run(train)
            found.append(session.run(table))
    return found


@case
def rates(tf: Any) -> Any:
    found = []
    for step in (0, 3, 7, 25):
        count = tf.constant(step)
        found += [
            tf.train.exponential_decay(0.1, count, 5, 0.9),
            tf.train.exponential_decay(0.1, count, 5, 0.9, staircase=True),
            tf.train.piecewise_constant(count, [3, 10], [1.0, 0.5, 0.1]),
            tf.train.polynomial_decay(0.1, count, 10, 0.01, power=2.0),
            tf.train.polynomial_decay(0.1, count, 10, cycle=True),
            tf.train.inverse_time_decay(0.1, count, 5, 0.5),
            tf.train.natural_exp_decay(0.1, count, 5, 0.5),
            tf.train.cosine_decay(0.1, count, 10, alpha=0.1),
            tf.train.cosine_decay_restarts(0.1, count, 5),
            tf.train.linear_cosine_decay(0.1, count, 10),
        ]
    return [tf.identity(one, name="rate") for one in found]


@case
def moving_averages(tf: Any) -> Any:
    w = tf.Variable([1.0, 2.0], name="w")
    step = tf.Variable(0, trainable=False, name="step")
    mean = tf.train.ExponentialMovingAverage(0.9, num_updates=step)
    change = tf.assign_add(w, [1.0, 1.0])
    with tf.control_dependencies([change]):
        update = mean.apply([w])
    found = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(update)
            session.run(tf.assign_add(step, 5))
            found.append(session.run([w, mean.average(w)]))
    return [
        found, mean.average(w).name, mean.average_name(w), sorted(mean.variables_to_restore()),
        [one.name for one in tf.moving_average_variables()],
    ]  # fmt: skip


@case
def initializers(tf: Any) -> Any:
    def made(name: str, shape: list[int], initializer: Any) -> Any:
        return tf.get_variable(name, shape, initializer=initializer)

    fixed = [
        made("zeros", [2], tf.zeros_initializer()), made("ones", [2], tf.ones_initializer()),
        made("constant", [2, 2], tf.constant_initializer(0.5)),
        made("constants", [2, 2], tf.constant_initializer([1, 2, 3, 4])),
        tf.get_variable("array", initializer=np.float32([1, 2])),
        tf.get_variable("function", initializer=lambda: tf.ones([2])),
        made("eye", [2, 3], tf.initializers.identity(gain=2.0)),
        tf.get_variable("whole", [2], tf.int32, tf.zeros_initializer()),
    ]  # fmt: skip
    drawn = [
        tf.get_variable("default", [3, 4]), made("normal", [3], tf.random_normal_initializer()),
        made("uniform", [3], tf.random_uniform_initializer(-1, 1, seed=3)),
        made("truncated", [3], tf.truncated_normal_initializer(stddev=0.1)),
        made("glorot", [3, 3], tf.glorot_uniform_initializer()),
        made("normal2", [3, 3], tf.glorot_normal_initializer()),
        made("variance", [3, 3, 1, 2], tf.variance_scaling_initializer(2.0)),
        made("he", [3, 3], tf.initializers.he_normal()),
        made("orthogonal", [3, 3], tf.orthogonal_initializer()),
    ]  # fmt: skip
    square = tf.matmul(drawn[-1], drawn[-1], transpose_b=True)
    limit = float(np.sqrt(6.0 / 7.0))
    return [
        [tf.identity(one, name="value") for one in fixed],
        [static(tf.identity(one, name="value")) for one in drawn],
        tf.round(square * 1000.0) + 0.0,
        tf.reduce_all(tf.abs(drawn[0]) <= limit),
        tf.reduce_all(tf.abs(drawn[3]) <= 0.2),
        [one.name for one in tf.global_variables()],
    ]


@case
def refused(tf: Any) -> Any:
    w = tf.Variable([1.0])
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    return {
        "loss of no variable": error_of(lambda: optimizer.minimize(tf.constant(1.0))),
        "no gradients": error_of(lambda: optimizer.apply_gradients([])),
        "all none": error_of(lambda: optimizer.apply_gradients([(None, w)])),
        "steps": error_of(lambda: tf.train.exponential_decay(0.1, None, 5, 0.9)),
        "shape": error_of(lambda: tf.get_variable("a", initializer=tf.constant([1.0]), shape=[2])),
    }
