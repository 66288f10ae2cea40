"""Where graphs are run, the passes' exact rules are applied: to symbols, traces and gradients."""

import numpy as np
import pytest
from helpers import run_script

import hybridnet as hn
from hybridnet import autograd, nd, passes, sym
from hybridnet.base import config
from hybridnet.base.errors import ParameterError
from hybridnet.runtime.graphs.graph_programs import GraphPrograms
from hybridnet.runtime.programs.cache import ProgramCache
from hybridnet.runtime.segments.code import Code


def twice():
    """exp(x) sin(x) + exp(x) cos(x), which asks for exp(x) twice."""
    x = sym.var("x")
    return sym.exp(x) * sym.sin(x) + sym.exp(sym.identity(x)) * sym.cos(x)


def size(graph):
    return sum(not node.is_variable for node in graph.nodes)


def run_of(symbol, array, wanted=None):
    programs = GraphPrograms(symbol.graph, "twice")
    if wanted is None:
        return programs.inference((array.type,))
    return programs.training((array.type,), wanted)


def test_a_bound_graph_is_run_as_the_passes_leave_it():
    array = nd.ones((2, 3))
    call = run_of(twice(), array).call
    assert (size(call.graph), size(call.lowered("cpu"))) == (8, 6)
    with passes.off():
        plain = run_of(twice(), array).call
    assert plain is not call
    assert plain.lowered("cpu") is plain.graph


@pytest.mark.parametrize("host", ["auto", "only"])
def test_the_passes_are_run_over_a_graph_once_it_has_run_for_long(host, monkeypatch):
    """tanh(x) + tanh(x): what is there twice is computed twice until the passes repay.

    With `only` the number of runs decides and no clock, so that a program gives the same bits each
    time.
    """
    monkeypatch.setenv("HYBRIDNET_HOST", host)
    x = sym.var("x")
    array = nd.ones((2, 3))
    call = run_of(sym.tanh(x) + sym.tanh(x), array).call
    code = Code(hn.cpu(), ((call, (~0,)),), (array.type,), (0,), ())
    programs = ProgramCache()
    program = programs.next(code)

    def launched():
        (out,) = programs.launch(program, [np.ones((2, 3), "float32")], [])
        np.testing.assert_allclose(out, np.full((2, 3), 2 * np.tanh(1)), rtol=1e-6)
        program.account.by_steps.best = 1.0  # seconds
        return program.steps

    launched()
    plans = [launched() for _ in range(3 if host == "auto" else 7)]
    first = 1 if host == "auto" else 5  # the third launch or the seventh: a pair begins
    assert {(len(each.programs), each.optimized) for each in plans[:first]} == {(3, False)}
    assert {(len(each.programs), each.optimized) for each in plans[first:]} == {(2, True)}
    assert plans[-1] is plans[first]


def test_gradients_are_graphs_of_their_own():
    run = run_of(twice(), nd.ones((2, 3)), (0,))
    call, _ = run.backward()
    assert size(call.lowered("cpu")) <= size(call.graph)
    assert len(call.lowered("cpu").outputs) == len(call.graph.outputs)


def results():
    symbol = twice()
    array = nd.array(np.linspace(-2, 2, 12, dtype="float32").reshape(3, 4))
    executor = symbol.bind(hn.cpu(), {"x": array}, {"x": nd.zeros((3, 4))})
    for _ in range(3):
        out = executor.forward(is_train=True)[0].asnumpy()
        executor.backward(nd.ones((3, 4)))
        grad = executor.grad_dict["x"].asnumpy()
    return out, grad


def test_values_and_gradients_are_what_they_were():
    x = np.linspace(-2, 2, 12).reshape(3, 4)
    out, grad = results()
    np.testing.assert_allclose(out, np.exp(x) * (np.sin(x) + np.cos(x)), rtol=1e-5)
    np.testing.assert_allclose(grad, 2 * np.exp(x) * np.cos(x), rtol=1e-4, atol=1e-5)
    with passes.off():
        plain = results()
    np.testing.assert_allclose(out, plain[0], rtol=1e-6)
    np.testing.assert_allclose(grad, plain[1], rtol=1e-5, atol=1e-6)


def test_traced_functions_too():
    @hn.function
    def function(x):
        return nd.transpose(nd.transpose(x)) + nd.zeros_like(x) + nd.relu(nd.relu(x))

    x = nd.array(np.array([[-1.0, 2.0], [0.5, -0.0]], "float32"))
    x.attach_grad()
    with autograd.record():
        y = function(x)
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [[-1, 4], [1, 0]])
    np.testing.assert_array_equal(x.grad.asnumpy(), [[1, 2], [2, 1]])


def test_numbers_that_change_from_call_to_call_stay_numbers():
    x, scaled = nd.ones((2,)), sym.var("x") * 2 * 2
    executor = scaled.bind(hn.cpu(), {"x": x})
    assert executor.forward()[0].asnumpy().tolist() == [4, 4]
    other = (sym.var("x") * 3 * 5).bind(hn.cpu(), {"x": x})
    assert other.forward()[0].asnumpy().tolist() == [15, 15]


def test_the_variable_says_on_or_off(monkeypatch):
    for text, expected in (("", True), ("on", True), ("OFF", False)):
        monkeypatch.setenv("HYBRIDNET_PASSES", text)
        assert config.passes() is expected
    monkeypatch.setenv("HYBRIDNET_PASSES", "maybe")
    with pytest.raises(ParameterError, match="HYBRIDNET_PASSES must be 'on' or 'off', got 'maybe'"):
        config.passes()


def test_a_process_without_passes():
    printed = run_script(
        """
        from hybridnet import nd, sym
        from hybridnet.runtime.graphs.graph_programs import GraphPrograms
        x = sym.var("x")
        call = GraphPrograms(sym.identity(x).graph, "g").inference((nd.ones((2,)).type,)).call
        print(call.lowered("cpu") is call.graph)
        """,
        HYBRIDNET_PASSES="off",
    )
    assert printed == "True\n"
