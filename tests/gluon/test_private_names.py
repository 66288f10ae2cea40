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
    "_active", "_alias", "_cached_graph", "_children", "_clear_cached_op",
    "_collect_params_with_prefix", "_empty_prefix", "_forward_hooks", "_forward_pre_hooks",
    "_get_graph", "_in_format", "_out_format", "_params", "_prefix", "_reg_params", "_scope",
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


def test_names_of_graphs_and_numbers_that_packages_use():
    net = gluon.nn.HybridSequential(prefix="net_")
    with net._scope:
        net.add(gluon.nn.Dense(2), gluon.nn.Dense(1))
    net.initialize()
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    with autograd.record():
        out = net(nd.ones((2, 3)))
    out.backward()
    names = [f"net_dense{i}_{kind}" for i in (0, 1) for kind in ("weight", "bias")]
    for inputs, whole in (net._cached_graph, net._get_graph(nd.ones((2, 3)))):
        assert [one.name for one in inputs] == ["data"]
        assert whole.list_arguments() == ["data", *names]
        assert whole.list_outputs() == ["net_dense1_fwd_output"]
    assert trainer._param2idx == {name: number for number, name in enumerate(sorted(names))}
    trainer._init_kvstore()
    trainer._allreduce_grads()
    late = gluon.Parameter("late", shape=(2, 0), allow_deferred_init=True)
    late.initialize()
    late.shape = (2, 3)
    late._finish_deferred_init()
    assert late.data().shape == (2, 3)


def test_a_cleared_cache_forgets_what_was_read():
    class Scaled(gluon.HybridBlock):
        rate = 2

        def hybrid_forward(self, F, x):
            return x * self.rate

    net = Scaled()
    net.hybridize()
    x = nd.ones((2,))
    assert net(x).asnumpy().tolist() == [2, 2]
    net.rate = 3
    net._clear_cached_op()
    assert net(x).asnumpy().tolist() == [3, 3]


def test_a_step_goes_through_the_methods_that_packages_override():
    """As Horovod's trainer: the gradients of all processes are added up in its own way."""
    called = []

    class Own(gluon.Trainer):
        def _allreduce_grads(self):
            called.append("reduce")
            for param in self._params:
                param.grad()[:] *= 10

        def _update(self, ignore_stale_grad=False):
            called.append("update")
            super()._update(ignore_stale_grad)

    param = gluon.Parameter("w", shape=(2,))
    param.initialize("ones")
    trainer = Own([param], "sgd", {"learning_rate": 0.1}, kvstore=None)
    for _ in range(2):
        with autograd.record():
            loss = param.data().sum()
        loss.backward()
        trainer.step(2)
    assert called == ["reduce", "update"] * 2
    np.testing.assert_allclose(param.data().asnumpy(), 1 - 2 * 0.1 * 10 / 2, atol=1e-6)
    with autograd.record():
        loss = param.data().sum()
    loss.backward()
    trainer.allreduce_grads()
    trainer.update(2)
    assert called == ["reduce", "update"] * 3
