"""What a user's block calls its own parts is the user's affair."""

from __future__ import annotations

import ast
import inspect

import numpy as np
import pytest

from hybridnet import autograd, gluon, nd
from hybridnet.gluon import _block, _hybrid_block

#: Names that MXNet 1.9.1's blocks have as well, and so no program written for it uses otherwise.
MXNETS = {
    "_active", "_alias", "_children", "_collect_params_with_prefix", "_empty_prefix",
    "_forward_hooks", "_forward_pre_hooks", "_in_format", "_out_format", "_params", "_prefix",
    "_reg_params",
}  # fmt: skip
#: Names of ours that other parts of the library share, and that say whose they are.
OURS = {"_as_symbol", "_call_block", "_export_arguments", "_scope_counters"}


def names_of(module) -> set[str]:
    """The attributes of `self`, and the methods, with one underscore."""
    tree = ast.parse(inspect.getsource(module))
    found = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            found |= {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
    return {name for name in found if name.startswith("_") and not name.startswith("__")}


@pytest.mark.parametrize("module", [_block, _hybrid_block])
def test_blocks_have_few_names_that_are_not_mxnets(module):
    assert names_of(module) <= MXNETS | OURS


class Parts(gluon.HybridBlock):
    """A block whose own attributes have names that one may well choose."""

    def __init__(self):
        super().__init__()
        self._parts = gluon.nn.HybridSequential()
        self._parts.add(gluon.nn.Dense(3, in_units=4), gluon.nn.Dense(2, in_units=3))
        self._checked, self._arguments, self._variables = "yes", {"a": 1}, [1, 2]
        self._buckets, self._traced, self._own, self._structure = 4, None, (), "tree"

    def _compute(self, F, x):
        return F.tanh(self._parts(x))

    def _register(self):
        raise AssertionError("the user's, whom nobody has asked")

    def _locate(self):
        raise AssertionError("the user's, whom nobody has asked")

    def hybrid_forward(self, F, x):
        return self._compute(F, x) * self._buckets


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_block_may_use_any_other_name(hybrid, tmp_path):
    net = Parts()
    net.initialize()
    if hybrid:
        net.hybridize()
    x = np.random.default_rng(0).normal(size=(5, 4)).astype("float32")
    for _ in range(3):
        with autograd.record():
            found = net(nd.array(x))
        found.backward()
    first, second = net._parts
    hidden = x @ first.weight.data().asnumpy().T
    wanted = np.tanh(hidden @ second.weight.data().asnumpy().T) * 4
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, atol=1e-6)
    assert (net._checked, net._arguments, net._variables) == ("yes", {"a": 1}, [1, 2])
    if hybrid:
        net.export(str(tmp_path / "net"))
        again = gluon.SymbolBlock.imports(
            str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params")
        )
        np.testing.assert_allclose(again(nd.array(x)).asnumpy(), wanted, rtol=1e-5, atol=1e-6)
