"""Scopes belong to threads: names, attributes, contexts, NumPy mode; set by class or block."""

import threading

import pytest

import hybridnet as hn
from hybridnet.attribute import AttrScope
from hybridnet.context import Context
from hybridnet.gluon.block import _BlockScope
from hybridnet.name import NameManager, Prefix
from hybridnet.util import _NumpyArrayScope, set_np_shape


def in_thread(function):
    """Returns what a function returns in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize(("kind", "make"), [(AttrScope, AttrScope), (NameManager, NameManager)])
def test_what_is_current_can_be_set_for_a_thread(kind, make):
    before, mine = kind.current, make()
    kind.current = mine
    try:
        assert kind.current is mine
        assert in_thread(lambda: kind.current) not in (mine, before)
        with make() as inner:
            assert kind.current is not mine or inner is mine
        assert kind.current is mine
    finally:
        kind.current = before


def test_setting_counts_until_the_block_ends():
    with Prefix("a_"):
        NameManager.current = Prefix("b_")
        assert NameManager.current.get(None, "x") == "b_x0"
    assert not isinstance(NameManager.current, Prefix)


def test_attributes_set_by_class_reach_symbols():
    AttrScope.current = AttrScope(__mine__="1")
    try:
        assert hn.sym.var("x").attr("__mine__") == "1"
    finally:
        AttrScope.current = AttrScope()


def test_the_default_context_of_a_thread():
    def default():
        Context._default_ctx.value = hn.gpu(11)
        return Context.default_ctx, hn.current_context()

    assert in_thread(default) == (hn.gpu(11), hn.gpu(11))
    assert hn.current_context() == hn.cpu(0)


def test_block_scopes_prefix_the_names_of_their_thread():
    class Named:
        prefix = "mine_"
        _empty_prefix = False

    def name():
        with _BlockScope(Named()):
            return NameManager.current.get(None, "x")

    assert in_thread(name) == "mine_x0"
    assert _BlockScope.create("given_", None, "dense")[0] == "given_"


def test_numpy_mode_by_its_scope():
    def inside():
        _NumpyArrayScope._current = _NumpyArrayScope(True)
        with hn.np_array(False):
            off = hn.is_np_array()
        return off, _NumpyArrayScope._current._is_np_array

    assert in_thread(inside) == (False, True)
    assert not _NumpyArrayScope._current._is_np_array


def test_shapes_for_all_threads():
    try:
        assert set_np_shape(2) is False
        assert in_thread(hn.is_np_shape)
    finally:
        assert set_np_shape(0) is True
    assert not in_thread(hn.is_np_shape)
