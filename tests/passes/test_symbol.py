"""`Symbol.optimize`: outputs and their names, modes, what must be kept, files."""

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import nd, passes, sym
from hybridnet.base.errors import MXNetError, ParameterError

x = sym.var("x")


def names(symbol):
    return [node.call.name for node in symbol.graph.nodes if node.call is not None]


def network():
    hidden = sym.Activation(sym.FullyConnected(x, num_hidden=8, name="fc1"), act_type="relu")
    hidden = sym.Dropout(sym.identity(hidden) * 1.0, p=0.5)
    scores = sym.FullyConnected(sym.reshape(hidden, shape=(-1, 8)), num_hidden=3, name="fc2")
    return sym.softmax(scores + sym.zeros_like(scores) * 1, name="softmax")


def run(symbol, train=False):
    made = symbol.simple_bind(hn.cpu(), x=(4, 5))
    for seed, (_, array) in enumerate(sorted(made.arg_dict.items())):
        array[:] = np.random.default_rng(seed).normal(size=array.shape)
    return made.forward(is_train=train)[0].asnumpy(), made


def test_the_outputs_are_what_they_were():
    symbol = network()
    better = symbol.optimize(x=(4, 5))
    assert names(better) == [
        *("FullyConnected", "Activation", "FullyConnected", "_plus_scalar", "softmax")
    ]
    assert better.list_outputs() == symbol.list_outputs() == ["softmax_output"]
    assert better.list_arguments() == symbol.list_arguments()
    np.testing.assert_array_equal(run(better)[0], run(symbol)[0])


def test_unsafe_rules_take_out_more():
    symbol = network()
    better = sym.optimize(symbol, unsafe=True, x=(4, 5))
    assert names(better) == ["FullyConnected", "Activation", "FullyConnected", "softmax"]
    np.testing.assert_allclose(run(better)[0], run(symbol)[0], rtol=1e-6)


def test_what_matters_in_training_stays_for_training():
    better = network().optimize(train=True, x=(4, 5))
    assert "Dropout" in names(better)
    result, executor = run(better, train=True)
    executor.backward([nd.ones((4, 3))])
    assert np.abs(executor.grad_dict["fc1_weight"].asnumpy()).max() < 1e-5
    assert np.isfinite(result).all()


def test_kept_nodes_are_there():
    inner = sym.negative(x, name="inner")
    symbol = sym.negative(inner, name="outer") * 2
    assert names(symbol.optimize(x=(2,))) == ["_mul_scalar"]
    kept = symbol.optimize(keep=["inner"], x=(2,))
    assert "inner_output" in kept.get_internals().list_outputs()


def test_the_report_is_printed_where_it_is_wanted(capsys):
    network().optimize(report=True, x=(4, 5))
    shown = capsys.readouterr().out
    assert shown.startswith("pass") and "dropout" in shown
    assert all(one.name in shown for one in passes.pipeline if one.by_default)


def test_an_optimized_symbol_can_be_saved_and_drawn_as_text(tmp_path):
    symbol = sym.broadcast_add(x, sym.reshape(sym.arange(0, 6), shape=(2, 3)) * -0.5)
    better = symbol.optimize(x=(2, 3))
    assert names(better) == ["_literal", "broadcast_add"]
    better.save(tmp_path / "better-symbol.json")
    again = sym.load(tmp_path / "better-symbol.json")
    expected = np.arange(6, dtype="float32").reshape(2, 3) * -0.5 + 1
    for one in (symbol, better, again):
        np.testing.assert_array_equal(one.eval(x=nd.ones((2, 3)))[0].asnumpy(), expected)


def test_loops_are_left_as_they_are():
    outputs, _ = sym.contrib.foreach(
        lambda row, states: (row + sym.Dropout(states[0]), [row]), x, [sym.var("start")]
    )
    symbol = sym.identity(outputs) * 1
    better = symbol.optimize(x=(3, 2), start=(2,))
    assert names(better)[0] == "_foreach" and len(names(better)) == 2
    arrays = {"x": nd.ones((3, 2)), "start": nd.ones((2,))}
    np.testing.assert_array_equal(
        better.eval(**arrays)[0].asnumpy(), symbol.eval(**arrays)[0].asnumpy()
    )


def test_shapes_and_passes_must_be_known():
    with pytest.raises(MXNetError, match="optimize: the shapes of x"):
        network().optimize()
    with pytest.raises(ParameterError, match="passes must be names among attention"):
        network().optimize(passes=["magic"], x=(4, 5))
