"""Users' functions whose annotations name what only type checkers import.

Since Python 3.14 that is a program as any other: annotations are evaluated when somebody asks.
"""

import importlib.util
import io
import pickle
import sys

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd
from hybridnet.gluon.data import DataLoader, SimpleDataset
from hybridnet.gluon.data.workers.pickler import Pickler

SOURCE = """
from typing import TYPE_CHECKING

from hybridnet import gluon

if TYPE_CHECKING:
    from nowhere import Array


def total(x: Array, turns: Missing.of[int] = 2) -> Array:
    y: Missing = x
    for _ in range(turns):
        if y.sum() < 100:
            y = y * 2
    return y


class Forward(gluon.HybridBlock):
    scale: Missing

    def forward(self, x: Array) -> Array:
        return x * 2


class Hybrid(gluon.HybridBlock):
    def hybrid_forward(self, F, x: Array, scale: Missing = 2) -> Array:
        return x * scale


def doubled(x: Array) -> Array:
    return 2 * x


def lowering(x: Array, y: Missing, *, scale: int = 2):
    return scale * x + y
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program above, as a module that other processes do not find."""
    if sys.version_info < (3, 14):
        pytest.skip("annotations are evaluated as functions are defined")
    file = tmp_path_factory.mktemp("annotated") / "annotated_program.py"
    file.write_text(SOURCE)
    spec = importlib.util.spec_from_file_location("annotated_program", file)
    made = sys.modules["annotated_program"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    yield made
    del sys.modules["annotated_program"]


def test_functions_are_traced(program):
    x = np.array([1.0, 2.0], np.float32)
    for options in ({}, {"buckets": hn.Buckets(sizes=[4])}):
        traced = hn.function(program.total, **options)
        np.testing.assert_array_equal(traced(nd.array(x)).asnumpy(), 4 * x)


@pytest.mark.parametrize("name", ["Forward", "Hybrid"])
@pytest.mark.parametrize("bucketed", [False, True])
def test_blocks_are_hybridized(program, name, bucketed):
    block = getattr(program, name)()
    block.hybridize(**({"buckets": hn.Buckets(sizes=[4])} if bucketed else {}))
    assert block(nd.ones((3,))).asnumpy().tolist() == [2, 2, 2]
    with pytest.raises(TypeError):
        block()


def test_what_is_sent_to_workers_has_them_as_texts(program):
    file = io.BytesIO()
    Pickler(file, lambda buffer: True).dump(program.doubled)
    found = pickle.loads(file.getvalue())
    assert found(3) == 6
    assert found.__annotations__ == {"x": "Array", "return": "Array"}
    with pytest.raises(NameError):  # as it was
        print(program.doubled.__annotations__)
    program.Array = int
    try:
        assert program.doubled.__annotations__ == {"x": int, "return": int}
    finally:
        del program.Array


def test_workers_transform_by_them(program):
    loader = DataLoader(SimpleDataset([1, 2, 3]).transform(program.doubled), 3, num_workers=1)
    assert [batch.asnumpy().tolist() for batch in loader] == [[2, 4, 6]]


def test_an_operator_is_declared(program):
    from hybridnet.base.attrs import declaration_of

    found = declaration_of(program.lowering)
    assert found.inputs == ("x", "y")
    assert [one.name for one in found.params] == ["scale"]
