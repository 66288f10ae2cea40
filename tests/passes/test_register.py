"""`passes.register`: a user's pass among the library's, over whatever is run, and gone again.

The pass of most tests changes results, which no pass may: so the results tell whether it was run.
"""

import logging
import os
import threading

import numpy as np
import pytest
from helpers import heat, run_script

import hybridnet as hn
from hybridnet import autograd, gluon, nd, passes, sym
from hybridnet import visualization as viz
from hybridnet.base.errors import GraphError, ParameterError
from hybridnet.graph import Edge, Graph
from hybridnet.runtime.calls import shared_call
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.programs.program_key import structure_key
from hybridnet.runtime.programs.recipe import Recipe
from hybridnet.runtime.programs.recipe_book import Entry
from hybridnet.runtime.segments.code import Code
from hybridnet.runtime.specialize.specialized_code import lower_specialized
from hybridnet.runtime.tuning import idle
from hybridnet.runtime.tuning.launches import captured

pytestmark = pytest.mark.compiled  # what NumPy runs is not worth the passes

NUMBERS = np.array([-0.5, 0.25, 2], "float32")
BUILT_IN = [
    *("attention", "prune", "fold", "arithmetic", "duplicates", "layout", "remap", "epilogue"),
    "dead",
]


def rewriting(name, pattern, replacement):
    rules = [passes.Rule(f"{name}_rule", pattern, replacement)]
    return passes.Pass(name, lambda graph, context: passes.rewritten(graph, context, rules))


def wrong(name="wrong"):
    """tanh(|x|) -> |x|."""
    return rewriting(name, "tanh(abs(x))", "abs(x)")


def right():
    return np.tanh(np.abs(NUMBERS))


def names_of_passes():
    return [one.name for one in passes.pipeline]


@pytest.fixture(autouse=True)
def _left_as_it_was():
    yield
    left = names_of_passes()
    for one in [one for one in passes.pipeline if one.name not in BUILT_IN]:
        passes.pipeline.remove(one)
    assert left == BUILT_IN


def bound():
    executor = sym.tanh(sym.abs(sym.var("x"))).simple_bind(hn.cpu(), x=(3,))
    return lambda: executor.forward(x=nd.array(NUMBERS))[0].asnumpy()


def block():
    net = gluon.nn.HybridLambda(lambda F, x: F.tanh(F.abs(x)))
    net.hybridize()
    return lambda: net(nd.array(NUMBERS)).asnumpy()


def traced():
    function = hn.function(lambda x: nd.tanh(nd.abs(x)))
    return lambda: function(nd.array(NUMBERS)).asnumpy()


def placed():
    """The graph is cut up for two devices."""
    with hn.AttrScope(ctx_group="first"):
        inner = sym.tanh(sym.abs(sym.var("x")))
    with hn.AttrScope(ctx_group="second"):
        outer = sym.identity(inner) * 1.5
    executor = outer.simple_bind(
        hn.cpu(0), x=(3,), group2ctx={"first": hn.cpu(0), "second": hn.cpu(1)}
    )
    return lambda: executor.forward(x=nd.array(NUMBERS))[0].asnumpy() / np.float32(1.5)


WAYS = [bound, block, traced, placed]


@pytest.mark.parametrize("make", WAYS)
def test_it_holds_for_what_has_run_before_and_no_longer_than_it_is_registered(make):
    run = make()
    for _ in range(2):
        np.testing.assert_allclose(heat(run), right(), rtol=1e-6)
        with passes.register(wrong()):
            np.testing.assert_array_equal(heat(run), np.abs(NUMBERS))
            np.testing.assert_array_equal(heat(make()), np.abs(NUMBERS))
    np.testing.assert_allclose(heat(run), right(), rtol=1e-6)
    np.testing.assert_allclose(heat(make()), right(), rtol=1e-6)


def test_it_holds_for_gradients_which_are_graphs_of_their_own():
    seen = []

    def look(graph, context):
        seen.append([node.call.name for node in graph.nodes if node.call is not None])
        return graph

    x = nd.array(NUMBERS)
    x.attach_grad()
    function = hn.function(lambda x: nd.tanh(nd.abs(x)))
    with passes.register(passes.Pass("look", look)):
        with autograd.record():
            y = function(x)
        y.backward()
        got = x.grad.asnumpy()
    np.testing.assert_allclose(got, np.sign(NUMBERS) * (1 - right() ** 2), rtol=1e-5)
    assert any("tanh" in names for names in seen) and len(seen) > 1


def test_results_of_a_right_pass_are_those_without_it():
    fewer = rewriting("fewer", "negative(sin(negative(x)))", "sin(x)")
    x = sym.var("x")
    executor = sym.negative(sym.sin(sym.negative(x))).simple_bind(hn.cpu(), x=(3,))
    with passes.register(fewer, before="fold") as handle:
        better = sym.negative(sym.sin(sym.negative(x))).optimize(x=(3,))
        got = heat(lambda: executor.forward(x=nd.array(NUMBERS))[0].asnumpy())
    assert handle.step is fewer
    assert [node.call.name for node in better.graph.nodes if node.call is not None] == ["sin"]
    np.testing.assert_allclose(got, np.sin(NUMBERS), rtol=1e-6)


def test_it_holds_where_weights_stay_the_same():
    weight = np.eye(3, dtype="float32")
    symbol = sym.FullyConnected(sym.var("x"), sym.var("w"), num_hidden=3, no_bias=True)
    x, w = nd.array(NUMBERS[None]), nd.array(weight)
    call, _ = shared_call(sym.tanh(sym.abs(symbol)).graph, (x.type, w.type), "fixed", 1)
    code = Code(hn.cpu(), ((call, (~0, ~1)),), (x.type, w.type), (0,), ())

    def run():
        (made,) = lower_specialized(code, (1,))(x.asnumpy(), weight, ())
        return np.asarray(made)[0]

    np.testing.assert_allclose(run(), right(), rtol=1e-6)
    with passes.register(wrong()):
        np.testing.assert_array_equal(run(), np.abs(NUMBERS))
    with passes.register(passes.Pass("asked", wrong().run, by_default=False)):
        np.testing.assert_allclose(run(), right(), rtol=1e-6)


# -- its place -------------------------------------------------------------------------------


def test_it_stands_where_it_was_told_to():
    last = passes.register(wrong("last"))
    first = passes.register(wrong("first"), before="attention")
    after = passes.register(wrong("after"), after="first")
    before = passes.register(wrong("before"), before="dead")
    wanted = ["first", "after", *BUILT_IN[:-1], "before", "dead", "last"]
    assert names_of_passes() == wanted
    assert passes.pipeline["after"] is after.step and len(passes.pipeline) == len(wanted)
    assert [one.name for one in passes.passes_by_name(["last", "fold"])] == ["last", "fold"]
    first.remove()  # what stands by it stays
    assert names_of_passes() == wanted[1:]
    first.remove()
    for handle in (last, after, before):
        handle.remove()
    assert not passes.pipeline.is_extended and "removed" in repr(first)


def test_it_runs_in_its_place_over_what_the_passes_before_it_leave():
    seen = {}

    def looking(name):
        def look(graph, context):
            seen[name] = [node.call.name for node in graph.nodes if node.call is not None]
            return graph

        return passes.Pass(name, look)

    symbol = sym.exp(sym.identity(sym.var("x")))
    with (
        passes.register(looking("early"), before="prune"),
        passes.register(looking("late"), after="prune"),
    ):
        symbol.optimize(x=(3,))
    assert seen == {"early": ["_copy", "exp"], "late": ["exp"]}


def test_one_that_does_not_run_by_default_is_asked_for_by_name():
    step = wrong()
    asked = passes.Pass("asked", step.run, by_default=False)
    symbol = sym.tanh(sym.abs(sym.var("x")))
    run = bound()
    with passes.register(asked):
        np.testing.assert_allclose(heat(run), right(), rtol=1e-6)
        assert len(symbol.optimize(x=(3,)).graph.nodes) == 3
        assert len(symbol.optimize(passes=["asked"], x=(3,)).graph.nodes) == 2


def test_the_report_and_the_pictures_show_it(capsys):
    symbol = sym.tanh(sym.abs(sym.var("x")))
    with passes.register(wrong(), before="fold"):
        symbol.optimize(x=(3,), report=True)
        shown = capsys.readouterr().out.splitlines()
        pictures = viz.plot_passes(symbol, x=(3,))
    assert [line.split()[0] for line in shown[2:5]] == ["prune", "wrong", "fold"]
    assert shown[3].split()[1:4] == ["2", "->", "1"] and "wrong_rule" in shown[3]
    assert list(pictures) == ["written", "wrong"] and "wrong_rule x1" in pictures["wrong"].source


# -- wrong use -------------------------------------------------------------------------------


def test_a_name_must_be_free():
    with pytest.raises(ParameterError, match="there is a pass 'fold' of the library already"):
        passes.register(wrong("fold"))
    taken = pytest.raises(ParameterError, match="there is a pass 'wrong' of a program already")
    with passes.register(wrong()), taken:
        passes.register(wrong())
    passes.register(wrong()).remove()  # free again


def test_a_place_must_be_there():
    with pytest.raises(ParameterError, match="before must name one of attention, .*, got 'folds'"):
        passes.register(wrong(), before="folds")
    with pytest.raises(ParameterError, match="after must name one of attention, .*, got ''"):
        passes.register(wrong(), after="")
    with pytest.raises(ParameterError, match="give before or after, not both"):
        passes.register(wrong(), before="fold", after="prune")


@pytest.mark.parametrize("step", [None, wrong, passes.Pass("none", None)])
def test_it_must_be_a_pass(step):
    with pytest.raises(ParameterError, match=r"needs a Pass of .* as hn.passes.Pass\('mine'"):
        passes.register(step)


def fails(graph, context):
    raise KeyError("lost")


def loses(graph, context):
    return Graph((), graph.outputs)


def changes(graph, context):
    return Graph(graph.inputs, (Edge(sym.sum(sym.var("x")).edges[0].node, 0),))


def doubles(graph, context):
    return Graph(graph.inputs, graph.outputs * 2)


def forgets(graph, context):
    return None


BROKEN = [
    (fails, "pass 'broken' failed: KeyError: 'lost'"),
    (loses, "after pass 'broken': variable 'x' is not an input of the graph"),
    (changes, "after pass 'broken': "),
    (doubles, "after pass 'broken': the graph must have the 1 outputs it had, got 2"),
    (forgets, "after pass 'broken': it must return a graph, got NoneType"),
]


@pytest.mark.parametrize(("run", "said"), BROKEN)
def test_one_that_fails_is_named_and_leaves_the_graph_as_it_was(run, said, caplog):
    symbol = sym.tanh(sym.abs(sym.var("x")))
    before = str(symbol.graph)
    executor = symbol.simple_bind(hn.cpu(), x=(3,))
    with passes.register(passes.Pass("broken", run), before="prune"), passes.register(wrong()):
        with pytest.raises(GraphError, match=said):
            symbol.optimize(x=(3,))
        assert str(symbol.graph) == before
        with caplog.at_level(logging.WARNING, logger="hybridnet.passes"):
            got = heat(lambda: executor.forward(x=nd.array(NUMBERS))[0].asnumpy())
    # The others were run all the same.
    np.testing.assert_array_equal(got, np.abs(NUMBERS))
    (record,) = [one for one in caplog.records if one.name == "hybridnet.passes"]
    assert said in record.getMessage() and "the graph is run without it" in record.getMessage()


# -- the process -----------------------------------------------------------------------------


def test_programs_of_graphs_are_not_kept_on_disk_meanwhile():
    symbol = sym.tanh(sym.abs(sym.var("x")))
    kind = nd.array(NUMBERS).type
    call, _ = shared_call(symbol.graph, (kind,), "kept", 1)
    code = Code(hn.cpu(), ((call, (~0,)),), (kind,), (0,), ())
    known = structure_key(code)
    with passes.register(wrong()):
        assert structure_key(code) is None
    assert structure_key(code) == known is not None


def test_what_is_tuned_meanwhile_is_not_put_to_use(monkeypatch):
    """A search compiles a program with a pass that is gone when it is to take over."""
    monkeypatch.setenv("HYBRIDNET_TUNE", "background")
    run, replaced = traced(), []
    with captured() as found:
        run()
    launch = next(iter(found.values()))
    monkeypatch.setattr(cache, "replace", lambda *given: replaced.append(given))
    monkeypatch.setattr(idle.Idleness, "wait", lambda self: True)
    monkeypatch.setattr(idle.book, "keep", lambda *given: None)

    class Search:
        gave_up = False

        def __init__(self, *given):
            pass

        def run(self):
            with passes.register(wrong()):
                return Entry("name", Recipe(None, {}), ()), object()

    monkeypatch.setattr(idle, "Search", Search)
    idle._tune(launch)
    assert not launch.is_current and not replaced
    monkeypatch.setattr(Search, "run", lambda self: (Entry("name", Recipe(None, {}), ()), object()))
    with captured() as found:
        run()
    idle._tune(next(iter(found.values())))
    assert len(replaced) == 1


def test_threads_register_beside_threads_that_run():
    run, errors, stop = traced(), [], threading.Event()

    def compute():
        try:
            while not stop.is_set():
                got = run()
                assert np.allclose(got, right()) or np.array_equal(got, np.abs(NUMBERS))
        except BaseException as error:
            errors.append(error)

    def register(number):
        try:
            for _ in range(10):
                with passes.register(passes.Pass(f"same{number}", lambda graph, _: graph)):
                    pass
                if number == 0:
                    with passes.register(wrong()):
                        pass
        except BaseException as error:
            errors.append(error)

    computing = [threading.Thread(target=compute) for _ in range(2)]
    registering = [threading.Thread(target=register, args=(number,)) for number in range(3)]
    for thread in (*computing, *registering):
        thread.start()
    for thread in registering:
        thread.join()
    stop.set()
    for thread in computing:
        thread.join()
    assert not errors, errors
    np.testing.assert_allclose(heat(run), right(), rtol=1e-6)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_it_and_removes_it_for_itself():
    printed = run_script(
        """
        import os
        from hybridnet import passes, sym

        rules = [passes.Rule("wrong_rule", "tanh(abs(x))", "abs(x)")]
        wrong = passes.Pass("wrong", lambda graph, context: passes.rewritten(graph, context, rules))

        def is_run():
            return len(sym.tanh(sym.abs(sym.var("x"))).optimize(x=(3,)).graph.nodes) == 2

        handle = passes.register(wrong)
        child = os.fork()
        if not child:
            assert is_run()
            handle.remove()
            os._exit(is_run())
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert is_run()
        print("both")
        """
    )
    assert printed.split() == ["both"]
