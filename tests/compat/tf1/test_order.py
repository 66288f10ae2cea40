"""Random programs of variables: what control edges order happens as in a serial program."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hybridnet.compat.tf1 as tf

COUNT = 3
which = st.integers(0, COUNT - 1)
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "sub", "copy", "scale", "read", "branch", "loop"]), which, which
    ),
    min_size=1,
    max_size=7,
)


def serial(program, values, fed):
    """Runs a program as Python does; returns what its reads saw."""
    held, seen = list(values), []
    for step, to, of in program:
        if step == "add":
            held[to] += held[of]
        elif step == "sub":
            held[to] -= fed
        elif step == "copy":
            held[to] = held[of]
        elif step == "scale":
            held[to] *= 2.0
        elif step == "branch":
            if held[of] > 2.0:
                held[to] += 1.0
            else:
                held[to] = fed
        elif step == "loop":
            for _ in range(3):
                held[to] += held[of]
        else:
            seen.append(held[of])
    return seen, held


def built(program, variables, x):
    """Builds the same as Operations that run one after another."""
    reads, last = [], tf.no_op()
    for step, to, of in program:
        v, w = variables[to], variables[of]
        with tf.control_dependencies([last]):
            if step == "add":
                last = tf.assign_add(v, w)
            elif step == "sub":
                last = tf.assign_sub(v, x)
            elif step == "copy":
                last = tf.assign(v, w)
            elif step == "scale":
                last = tf.assign(v, v * 2.0)
            elif step == "branch":
                last = tf.cond(
                    w > 2.0, lambda v=v: tf.assign_add(v, 1.0), lambda v=v: tf.assign(v, x)
                )
            elif step == "loop":
                last = tf.while_loop(lambda i: i < 3, lambda i, v=v, w=w: turn(i, v, w), [0])
            else:
                last = w.read_value()
                reads.append(last)
    return reads, last


def turn(i, v, w):
    with tf.control_dependencies([tf.assign_add(v, w.read_value())]):
        return i + 1


@settings(max_examples=25)
@given(steps, st.integers(0, 4))
def test_control_edges_give_the_order_of_a_serial_program(program, fed):
    start = [1.0, 2.0, 3.0]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        variables = [tf.Variable(value) for value in start]
        before = [v + 0.0 for v in variables]  # not controlled: as the run begins
        reads, last = built(program, variables, x)
        session.run(tf.global_variables_initializer())
        values = start
        for _ in range(2):
            seen, began, _ = session.run([reads, before, last], {x: fed})
            wanted, after = serial(program, values, np.float32(fed))
            assert seen == wanted
            assert began == values
            assert session.run(variables) == after
            values = after


def _turns(update, condition=lambda i: i < 3):
    def body(i):
        with tf.control_dependencies([update(i)]):
            return i + 1

    return tf.while_loop(condition, body, [0], parallel_iterations=1)


def _descent(v):
    return tf.train.GradientDescentOptimizer(0.1).minimize(tf.square(v - 3.0))


def _either(v, i):
    return tf.cond(tf.equal(i % 2, 0), lambda: v.assign(v * 2), lambda: v.assign(v + 10))


def _twice(v):
    return _turns(lambda _: v.assign(v * 2), lambda i: i < 2)


#: Loops over a variable that begins with 1, and what TensorFlow leaves in it.
_LOOPS = {
    "assigned": (lambda v: _turns(lambda _: v.assign(v * 2)), 8.0),
    "added to": (lambda v: _turns(lambda _: v.assign_add(v)), 8.0),
    "descent": (lambda v: _turns(lambda _: _descent(v)), 1.976),
    "a branch": (lambda v: _turns(lambda i: _either(v, i), lambda i: i < 4), 34.0),
    "the condition": (lambda v: _turns(lambda _: v.assign(v * 2), lambda i: v < 20.0), 32.0),
    "a loop in it": (lambda v: _turns(lambda _: _twice(v)), 64.0),
}


@pytest.mark.parametrize("name", _LOOPS)
def test_a_turn_of_a_loop_reads_what_the_turns_before_have_written(name):
    """Body and condition see the variable as the turn begins, and not as the run did."""
    make, wanted = _LOOPS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=1.0)
        outside = v * 1.0
        loop = make(v)
        session.run(tf.global_variables_initializer())
        assert session.run([loop, outside])[1] == 1.0
        np.testing.assert_allclose(session.run(v), wanted, rtol=1e-5)
