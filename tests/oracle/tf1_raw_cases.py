"""`tf.nn.raw_rnn`: loops of cells that a function steers; see `tf1_case.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from oracle.tf1_case import case, error_of, numbers
from oracle.tf1_layer_cases import _found

_LENGTHS = np.array([4, 2, 3], "int32")


@case
def as_the_dynamic_one(tf: Any) -> Any:
    x = tf.placeholder(tf.float32, [None, None, 2])  # time, batch, inputs
    cell, steps, batch = tf.nn.rnn_cell.LSTMCell(3), tf.shape(x)[0], tf.shape(x)[1]
    rows = tf.TensorArray(tf.float32, steps, clear_after_read=False).unstack(x)
    ends = tf.placeholder(tf.int32, [None])

    def loop_fn(time: Any, output: Any, state: Any, _: Any) -> Any:
        new = cell.zero_state(batch, tf.float32) if output is None else state
        ended = time >= ends
        over = tf.reduce_all(ended)
        following = tf.cond(over, lambda: tf.zeros([batch, 2]), lambda: rows.read(time))
        following.set_shape([None, 2])
        return ended, following, new, output, None

    outputs, state, nothing = tf.nn.raw_rnn(cell, loop_fn)
    made = _found(tf, [outputs.stack(), state], {x: numbers(5, 3, 2), ends: _LENGTHS})
    return [made, nothing, str(outputs.element_shape), outputs.dtype.name]


@case
def what_it_gave_goes_in_again(tf: Any) -> Any:
    """A decoder: its own guess is the next input, and what is given out are scores."""
    table = tf.get_variable("table", [5, 4]) * 1.0  # so that its gradient is a tensor
    cell, ends = tf.nn.rnn_cell.GRUCell(4), tf.constant(_LENGTHS)
    w, b = tf.get_variable("w", [4, 5]), tf.get_variable("b", [5])

    def loop_fn(time: Any, output: Any, state: Any, kept: Any) -> Any:
        ended = time >= ends
        if output is None:
            start = tf.nn.embedding_lookup(table, tf.zeros([3], tf.int32))
            scores = (tf.zeros([5]), tf.constant(0, tf.int64))
            return ended, start, tf.zeros([3, 4]), scores, (tf.zeros([]), tf.ones([3]))
        scores = tf.matmul(output, w) + b
        guess = tf.argmax(scores, 1)
        total = kept[0] + tf.reduce_sum(scores), kept[1] * 2.0
        return ended, tf.nn.embedding_lookup(table, guess), state, (scores, guess), total

    (scores, guesses), state, kept = tf.nn.raw_rnn(cell, loop_fn, scope="decoder")
    found = _found(tf, [scores.stack(), state, kept])
    begun = tf.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)
    with tf.Session() as session:
        session.run([one.assign(tf.ones_like(one) * 0.1) for one in begun])
        return [found, session.run(guesses.stack()), str(scores.element_shape)]


@case
def arrays_of_the_loop_state(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.BasicRNNCell(2)

    def loop_fn(time: Any, output: Any, state: Any, kept: Any) -> Any:
        ended = tf.fill([2], time >= 3)
        if output is None:
            return ended, tf.ones([2, 2]), tf.zeros([2, 2]), None, tf.TensorArray(tf.float32, 3)
        return ended, output * 2.0, state, output, kept.write(time - 1, output[0])

    outputs, state, kept = tf.nn.raw_rnn(cell, loop_fn)
    return _found(tf, [outputs.stack(), state, kept.stack()])


@case
def refused_loops(tf: Any) -> Any:
    cell = tf.nn.rnn_cell.GRUCell(4)
    return [
        error_of(lambda: tf.nn.raw_rnn("cell", lambda *_: None)),
        error_of(lambda: tf.nn.raw_rnn(cell, None)),
    ]


@case
def a_step_by_keywords(tf: Any) -> Any:
    """As decoders make it that call the cells of `MultiRNNCell` themselves."""
    cells = [tf.nn.rnn_cell.BasicLSTMCell(3), tf.nn.rnn_cell.BasicLSTMCell(3)]
    cell, x = tf.nn.rnn_cell.MultiRNNCell(cells), tf.constant(numbers(2, 3))
    state = cell.zero_state(2, tf.float32)
    with tf.variable_scope("decoder/rnn/multi_rnn_cell"):
        output, new = cell.call(state=state, inputs=x)
    again, _ = cells[1].call(inputs=output, state=new[1])
    return _found(tf, [output, new, again])
