"""Random programs of variables: what control edges order happens as in a serial program."""

import numpy as np
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
