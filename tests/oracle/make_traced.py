"""Writes traced_answers.npz: what `tf.function` makes of traced_cases.py.

Run it with TensorFlow 2.21: python make_traced.py
"""

import types
from pathlib import Path

import numpy as np
import tensorflow as tf
from traced_cases import CASES, arr, leaves


class Namespace:
    """TensorFlow's functions by the names that the cases use."""

    exp, tanh = staticmethod(tf.exp), staticmethod(tf.tanh)
    matmul, stack = staticmethod(tf.matmul), staticmethod(tf.stack)
    sum, where = staticmethod(tf.reduce_sum), staticmethod(tf.where)
    constant = staticmethod(tf.constant)

    def __init__(self):
        self.state = tf.Variable(arr(0, 0, 0))
        self.traced_square = tf.function(lambda x: x * x)

    def zero(self):
        return tf.constant(0.0)

    def add_to(self, state, x):
        state.assign_add(x)

    def read(self, state):
        return state.read_value()

    def gradient(self, function, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    def host(self, x):
        return tf.numpy_function(np.sin, [x], tf.float32)


def tensors(one):
    if isinstance(one, np.ndarray):
        return tf.constant(one)
    if isinstance(one, dict):
        return {key: tensors(part) for key, part in one.items()}
    if isinstance(one, (list, tuple)):
        return type(one)(tensors(part) for part in one)
    return one


def bound(program, namespace):
    """Returns a program as a function of its arguments alone, with their names and defaults."""
    made = types.FunctionType(
        program.__code__, {**program.__globals__}, program.__name__, program.__defaults__
    )
    return types.MethodType(made, namespace)


def main():
    answers = {}
    for name, program, calls, options in CASES:
        # Text and numbers are Python's: TensorFlow would make tensors of text in a partial call.
        function = tf.function(bound(program, Namespace()), **options)
        for number, call in enumerate(calls):
            named = isinstance(call, dict)
            result = function(**tensors(call)) if named else function(*tensors(call))
            for place, one in enumerate(leaves(result)):
                answers[f"{name}/{number}/{place}"] = one.astype(np.float32)
        answers[f"{name}/traces"] = np.array(function.experimental_get_tracing_count())
    path = Path(__file__).with_name("traced_answers.npz")
    np.savez_compressed(path, **answers)
    print(f"{len(CASES)} functions, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
