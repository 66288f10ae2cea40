"""The functions of oracle/traced_cases.py, against what `tf.function` made of them.

Results are equal, and no function is traced more often than TensorFlow 2.21 traced it.
"""

import sys
import types

import numpy as np
import pytest
from places import ORACLE

import hybridnet as hn
from hybridnet import nd

sys.path.insert(0, str(ORACLE))
from traced_cases import CASES, arr, leaves  # beside the answers

ANSWERS = np.load(ORACLE / "traced_answers.npz")


class Namespace:
    """hybridnet's functions by the names that the cases use."""

    exp, tanh = staticmethod(nd.exp), staticmethod(nd.tanh)
    matmul, sum, where = staticmethod(nd.dot), staticmethod(nd.sum), staticmethod(nd.where)

    def __init__(self):
        self.state = nd.zeros((3,))
        self.traced_square = hn.function(lambda x: x * x)

    def stack(self, parts):
        return nd.stack(*parts)

    def constant(self, values):
        return nd.array(values)

    def zero(self):
        return nd.zeros((1,))

    def add_to(self, state, x):
        state += x

    def read(self, state):
        return state.copy()

    def gradient(self, function, x):
        with hn.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.gradient(y, x)

    def host(self, x):
        return hn.py_func(np.sin, x, x.shape, x.dtype)


def bound(program, namespace):
    """Returns a program as a function of its arguments alone, with their names and defaults."""
    made = types.FunctionType(
        program.__code__, {**program.__globals__}, program.__name__, program.__defaults__
    )
    return types.MethodType(made, namespace)


def arrays(one):
    if isinstance(one, np.ndarray):
        return nd.array(one, dtype=one.dtype)
    if isinstance(one, dict):
        return {key: arrays(part) for key, part in one.items()}
    if isinstance(one, (list, tuple)):
        return type(one)(arrays(part) for part in one)
    return one


@pytest.mark.parametrize(
    ("name", "program", "calls", "options"), CASES, ids=[one[0] for one in CASES]
)
def test_as_under_tensorflow(name, program, calls, options):
    function = hn.function(bound(program, Namespace()), **options)
    for number, call in enumerate(calls):
        named = isinstance(call, dict)
        result = function(**arrays(call)) if named else function(*arrays(call))
        found = leaves(result)
        for place, one in enumerate(found):
            wanted = ANSWERS[f"{name}/{number}/{place}"]
            np.testing.assert_allclose(one, wanted, rtol=2e-5, atol=1e-5)
        assert f"{name}/{number}/{len(found)}" not in ANSWERS
    assert function.cache_info().traces <= int(ANSWERS[f"{name}/traces"])


def test_there_are_answers_for_every_case():
    assert {key.split("/")[0] for key in ANSWERS.files} == {one[0] for one in CASES}
    assert len(CASES) >= 30
    assert arr(1).dtype == np.float32
