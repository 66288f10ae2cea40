"""`hn.tune`: what is measured, chosen, kept and refused.

Speeds are made up here, so that choices can be foretold. Results are compared with those of the
program that tuning replaces, and with NumPy's.
"""

import itertools
import json
import os
import random
import subprocess
import sys
import threading

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import settle
from hypothesis import given
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.ops.core import alternatives
from hybridnet.ops.core.alternatives import PLAIN, alternative, builtin_choice
from hybridnet.runtime.programs import compile_options
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.programs.compiling import compile_code, options_of, sites_of
from hybridnet.runtime.programs.disk import ProgramFolder
from hybridnet.runtime.programs.program_key import key_of
from hybridnet.runtime.programs.recipe import BY_RULES, Recipe
from hybridnet.runtime.programs.recipe_book import Entry, RecipeBook, Trial, book
from hybridnet.runtime.tuning import CapturedLaunch, captured, idle, search
from hybridnet.runtime.tuning.timing import compare

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)


def forget():
    settle()
    book.forget()
    cache.clear()
    search._site_program.cache_clear()


@pytest.fixture(autouse=True)
def nothing_tuned():
    """Each test begins with nothing tuned or compiled, and leaves nothing of the kind."""
    forget()
    yield
    forget()


@pytest.fixture
def lowerings(monkeypatch):
    """Two more lowerings of `tanh`: 'other' is right, for matrices, and 'wrong' is not."""
    monkeypatch.setattr(alternatives, "_table", {})
    monkeypatch.setattr(alternatives, "extended", set())

    def is_matrix(site):
        return len(site.operands[0].shape) == 2

    @alternative("tanh", "other", applies=is_matrix, tolerance=1e-5)
    def _other(data):
        return 1 - 2 / (jnp.exp(2 * data) + 1)

    @alternative("tanh", "wrong", applies=lambda site: True, tolerance=1e-5)
    def _wrong(data):
        return jnp.tanh(data) + 1


class Timed:
    """A program that knows how it was made."""

    def __init__(self, code, recipe=BY_RULES):
        self.code, self.recipe = code, recipe
        self.run = compile_code(code, recipe)

    def __call__(self, *arguments):
        return self.run(*arguments)


@pytest.fixture
def speeds(monkeypatch):
    """Seconds that a program takes by its recipe: a function, which tests replace."""
    of = {"seconds": lambda code, recipe: 1.0}
    monkeypatch.setattr(search, "compile_code", Timed)
    monkeypatch.setattr(
        CapturedLaunch,
        "timer",
        lambda self, made: lambda: of["seconds"](self.code, getattr(made, "recipe", BY_RULES)),
    )
    return of


def network():
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(8, activation="tanh"), gluon.nn.Dense(3))
    net.initialize()
    net.hybridize()
    return net


# Comparing by the clock ---------------------------------------------------------------------------


def clock(seconds):
    """A run that takes what the next of these numbers says."""
    return lambda: float(next(seconds))


def noisy(mean, noise, rng):
    while True:
        yield mean * (1 + noise * rng.random())


def always(seconds):
    while True:
        yield seconds


@pytest.mark.parametrize(("after", "wins"), [(0.5, True), (0.95, True), (0.985, False), (1, False)])
def test_a_win_exceeds_what_is_worth_having(after, wins):
    found = compare(clock(always(1)), clock(always(after)), 0)
    assert found.is_win is wins
    assert (found.before, found.after, found.ratio, found.spread) == (1, after, after, 0)


@given(st.integers(0, 10**6), st.floats(0.1, 3))
def test_noise_alone_hardly_ever_wins(seed, noise):
    rng = random.Random(seed)
    wins = sum(
        compare(clock(noisy(1, noise, rng)), clock(noisy(1, noise, rng)), 0).is_win
        for _ in range(20)
    )
    assert wins <= 2


@given(st.integers(0, 10**6))
def test_what_is_twice_as_fast_wins_in_noise(seed):
    rng = random.Random(seed)
    slow, quick = noisy(2, 0.2, rng), noisy(1, 0.2, rng)
    assert compare(clock(slow), clock(quick), 0).is_win


def test_a_burst_that_meets_both_decides_nothing():
    """The machine is ten times as slow in some rounds: neighbours still agree."""
    bursts = [1, 1, 1, 10, 10, 10, 10, 1, 1, 1] * 20
    found = compare(clock(iter(bursts)), clock(iter(0.9 * one for one in bursts)), 0)
    assert found.is_win and found.ratio == pytest.approx(0.9)


def test_what_is_far_slower_is_not_tried_for_long():
    runs = []

    def slow():
        runs.append(1)
        return 9.0

    assert not compare(clock(always(1)), slow, 0).is_win
    assert len(runs) == 3  # one to warm up


# Lowerings ----------------------------------------------------------------------------------------


def launch_of(function, *arrays):
    """Returns the last launch of a computation."""
    given = [nd.array(one) for one in arrays]
    settle()
    for _ in range(20):  # until it is one program (`deciding.loops_soon`)
        with captured() as found:
            function(*given).wait_to_read()
        settle()
    return list(found.values())[-1]


def code_of(function, *arrays):
    return launch_of(function, *arrays).code


def run(code, recipe, *arrays):
    made = CapturedLaunch(code, [jnp.asarray(one) for one in arrays], []).outputs(
        compile_code(code, recipe)
    )
    return made[0]


def test_a_recipe_picks_the_lowering_at_a_site(lowerings):
    code = code_of(nd.tanh, X)
    ((site, chosen),) = sites_of(code).items()
    assert chosen == PLAIN and site.role == "forward" and site.attrs == {}
    np.testing.assert_allclose(run(code, BY_RULES, X), np.tanh(X), rtol=1e-6)
    np.testing.assert_allclose(
        run(code, Recipe(picks={site.key: "other"}), X), np.tanh(X), rtol=1e-4
    )
    np.testing.assert_allclose(
        run(code, Recipe(picks={site.key: "wrong"}), X), np.tanh(X) + 1, rtol=1e-5
    )


def test_the_rule_chooses_where_nothing_was_picked(lowerings, monkeypatch):
    builtin_choice("tanh")(lambda site: "other")
    code = code_of(nd.tanh, X)
    ((site, chosen),) = sites_of(code).items()
    assert chosen == "other"
    assert [*sites_of(code, Recipe(picks={site.key: PLAIN})).values()] == [PLAIN]
    monkeypatch.setenv("HYBRIDNET_TUNE", "off")
    assert [*sites_of(code).values()] == [PLAIN]


@pytest.mark.parametrize("name", ["other", "nobody"])
def test_what_does_not_apply_is_not_used(lowerings, name):
    builtin_choice("tanh")(lambda site: name)
    code = code_of(nd.tanh, X.ravel())
    ((site, chosen),) = sites_of(code).items()
    assert chosen == PLAIN
    assert [*sites_of(code, Recipe(picks={site.key: name})).values()] == [PLAIN]


def test_an_alternative_is_named_once(lowerings):
    for name in ("other", PLAIN):
        with pytest.raises(MXNetError, match="already has a lowering"):
            alternative("tanh", name, applies=lambda site: True, tolerance=0)(len)


def test_the_gradient_of_an_operator_is_a_site_of_its_own(monkeypatch):
    monkeypatch.setattr(alternatives, "_table", {})
    monkeypatch.setattr(alternatives, "extended", set())
    builtin_choice("Convolution")(lambda site: PLAIN)
    x, w = nd.array(np.ones((2, 3, 8, 8))), nd.array(np.ones((4, 3, 3, 3)))
    x.attach_grad()
    with captured() as found:
        with autograd.record():
            y = nd.Convolution(x, w, kernel=(3, 3), num_filter=4, no_bias=True)
        y.backward()
        x.grad.wait_to_read()
    roles = {(site.call.name, site.role, site.wanted) for code in found for site in sites_of(code)}
    assert roles == {("Convolution", "forward", None), ("Convolution", "gradient", (0,))}


# Recipes ------------------------------------------------------------------------------------------

recipes = st.builds(
    Recipe,
    st.none() | st.dictionaries(st.text(), st.text() | st.integers() | st.booleans()),
    st.dictionaries(st.text(), st.text()),
)


@given(recipes)
def test_a_recipe_is_what_it_was_after_writing_and_reading(recipe):
    assert Recipe.from_json(recipe.to_json()) == recipe


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"picks": {"a": 1}}', '{"picks": {}, "options": 3}', "nonsense"]
)
def test_what_is_no_recipe_is_refused(text):
    with pytest.raises(ValueError, match=r"."):
        Recipe.from_json(text)


def test_each_recipe_has_programs_of_its_own_on_disk(monkeypatch):
    code = code_of(lambda x: nd.tanh(x) + 1, X)
    ways = [BY_RULES, Recipe({}), Recipe({"a": True}), Recipe(picks={"a": "b"})]
    keys = [key_of(code, one) for one in ways]
    monkeypatch.setenv("HYBRIDNET_TUNE", "off")
    assert len({*keys, key_of(code)}) == 5


def test_an_option_that_this_jax_does_not_know_is_left_out(monkeypatch, caplog):
    caplog.set_level("INFO", logger="hybridnet.programs")
    unknown = {"xla_cpu_of_another_time": True}
    monkeypatch.setattr(compile_options, "_CANDIDATES", {"cpu": ({}, unknown)})
    assert compile_options.candidates("cpu") == [{}]
    assert "xla_cpu_of_another_time" in caplog.text


# The search ---------------------------------------------------------------------------------------


def test_the_fastest_options_are_chosen_and_give_the_same_results(speeds):
    net, x = network(), nd.array(X)
    wanted = net(x).asnumpy()
    best = compile_options.candidates("cpu")[2]
    speeds["seconds"] = lambda code, recipe: 0.5 if recipe.options == best else 1.0
    report = hn.tune(net, x)
    (entry,) = report
    assert entry.recipe.options == best and not entry.recipe.picks
    np.testing.assert_allclose(net(x).asnumpy(), wanted, rtol=1e-5)
    assert "faster" in str(report) and str(hn.tune.report()) == str(report)


def test_nothing_is_chosen_where_nothing_is_faster(speeds):
    net, x = network(), nd.array(X)
    (entry,) = hn.tune(net, x)
    assert entry.recipe == BY_RULES
    assert {one.verdict for one in entry.trials} == {"no faster"}


def test_the_faster_lowering_is_chosen_and_the_wrong_one_never(speeds, lowerings):
    def seconds(code, recipe):
        names = {*recipe.picks.values()}
        return 0.1 if "wrong" in names else 0.5 if "other" in names else 1.0

    speeds["seconds"] = seconds
    f = hn.function(lambda x: nd.tanh(x) * 2 + 1)
    (entry,) = hn.tune(f, nd.array(X))
    assert [*entry.recipe.picks.values()] == ["other"]
    verdicts = {one.candidate: one.verdict for one in entry.trials}
    assert verdicts["wrong"] == "differs" and verdicts["other"] == "faster"
    np.testing.assert_allclose(f(nd.array(X)).asnumpy(), np.tanh(X) * 2 + 1, rtol=1e-4)


def test_lowerings_that_win_alone_and_not_together_are_dropped(speeds, lowerings):
    def seconds(code, recipe):
        alone = len(code.instructions) == 1 and code.instructions[0][0].name == "tanh"
        return 0.5 if alone and "other" in recipe.picks.values() else 1.0

    speeds["seconds"] = seconds
    f = hn.function(lambda x: nd.tanh(x) * 2 + 1)
    (entry,) = hn.tune(f, nd.array(X))
    assert entry.recipe == BY_RULES


def test_out_of_time_nothing_more_is_tried(speeds):
    speeds["seconds"] = lambda code, recipe: 0.5 if recipe.options is not None else 1.0
    (entry,) = hn.tune(network(), nd.array(X), budget_s=1e-9)
    assert entry.recipe == BY_RULES
    assert {one.verdict for one in entry.trials} == {"not tried: out of time"}


@pytest.mark.slow
def test_a_training_step_trains_while_it_is_tuned(speeds):
    """What is consumed is copied for the measurements: the weights are those of plain steps."""
    data, label = nd.array(X), nd.array([0, 1, 2])

    def trained(tunes):
        hn.random.seed(3)
        net = network()
        net.initialize(hn.init.Xavier(), force_reinit=True)
        trainer = gluon.Trainer(
            net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9}
        )
        loss = gluon.loss.SoftmaxCrossEntropyLoss()

        def step():
            with autograd.record():
                made = loss(net(data), label)
            made.backward()
            trainer.step(3)

        steps = itertools.count()
        if tunes:
            hn.tune(lambda: (next(steps), step()))
        for _ in range(12 - next(steps)):
            step()
        return [one.data().asnumpy() for one in net.collect_params().values()]

    best = compile_options.candidates("cpu")[1]
    speeds["seconds"] = lambda code, recipe: 0.5 if recipe.options == best else 1.0
    for one, other in zip(trained(True), trained(False), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_a_symbol_is_tuned_for_inference():
    x = hn.sym.Variable("data")
    y = hn.sym.FullyConnected(x, num_hidden=4, name="fc")
    (entry,) = hn.tune(hn.sym.tanh(y), data=X, budget_s=2)
    assert "tanh" in entry.program or "graph" in entry.program.lower()


def test_a_function_goes_on_with_the_program_that_was_chosen(speeds):
    f = hn.function(lambda x: nd.dot(x, x.T).sum())
    best = compile_options.candidates("cpu")[2]
    speeds["seconds"] = lambda code, recipe: 0.5 if recipe.options == best else 1.0
    for _ in range(4):  # until the short way is taken
        f(nd.array(X))
        settle()
    hn.tune(f, nd.array(X))
    before = cache.statistics().compilations
    assert float(f(nd.array(X)).asscalar()) == pytest.approx(float((X @ X.T).sum()), rel=1e-5)
    with captured() as found:
        f(nd.array(X)).wait_to_read()
    (code,) = found
    assert isinstance(cache.compiled(code).compiled, Timed)
    assert cache.compiled(code).compiled.recipe.options == best
    assert cache.statistics().compilations == before


# Errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [0, -1, "soon", True, float("nan")])
def test_a_budget_is_a_time(budget):
    with pytest.raises(ParameterError, match="budget_s must be a number of seconds > 0"):
        hn.tune(network(), nd.array(X), budget_s=budget)


def test_a_target_can_be_called():
    with pytest.raises(ParameterError, match="must be a callable, a block or a Symbol, got int"):
        hn.tune(3)


def test_a_symbol_takes_its_inputs_by_name():
    with pytest.raises(ParameterError, match="takes its inputs by name"):
        hn.tune(hn.sym.Variable("x") + 1, X)


def test_a_target_computes_something():
    with pytest.raises(MXNetError, match="launched no program"):
        hn.tune(lambda: None)


def test_tuning_that_is_off_says_so(monkeypatch):
    for value, said in (("off", "HYBRIDNET_TUNE is 'off'"), ("often", "HYBRIDNET_TUNE must be")):
        monkeypatch.setenv("HYBRIDNET_TUNE", value)
        with pytest.raises(MXNetError, match=said):
            hn.tune(len)


# What is kept -------------------------------------------------------------------------------------

ENTRY = Entry(
    "tanh", Recipe({"a": True}, {"k": "other"}), (Trial("w", "c", 1.0, 0.5, 0.1, "faster"),)
)


def test_what_one_process_finds_another_uses(tmp_path):
    code = code_of(lambda x: nd.tanh(x) + 2, X)
    first = RecipeBook(ProgramFolder(tmp_path / "tuned", 1 << 20))
    assert first.recipe(code) is BY_RULES
    first.keep(code, ENTRY)
    second = RecipeBook(ProgramFolder(tmp_path / "tuned", 1 << 20))
    assert second.entry(code) == first.entry(code)
    assert second.recipe(code) == ENTRY.recipe
    assert [one.program for one in second.entries()] == ["tanh"]
    other = code_of(lambda x: nd.tanh(x) + nd.exp(x), X)
    assert second.recipe(other) is BY_RULES


@pytest.mark.parametrize("damage", ["cut", "other name", "no entry", "empty"])
def test_a_damaged_entry_counts_as_none(tmp_path, damage):
    folder = ProgramFolder(tmp_path / "tuned", 1 << 20)
    code = code_of(lambda x: nd.tanh(x) + 2, X)
    RecipeBook(folder).keep(code, ENTRY)
    (file,) = (tmp_path / "tuned").iterdir()
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-5])
    elif damage == "empty":
        file.write_bytes(b"")
    elif damage == "other name":
        folder.write("0" * 40, ENTRY.to_json().encode())
        os.replace(file.with_name("0" * 40 + file.suffix), file)
    else:
        folder.write(file.stem, json.dumps({"program": "x"}).encode())
    again = RecipeBook(ProgramFolder(tmp_path / "tuned", 1 << 20))
    assert again.recipe(code) is BY_RULES
    again.keep(code, ENTRY)
    assert RecipeBook(ProgramFolder(tmp_path / "tuned", 1 << 20)).recipe(code) == ENTRY.recipe


TUNES = """
import sys
import hybridnet as hn
from hybridnet import nd
net = hn.gluon.nn.Dense(3)
net.initialize()
net.hybridize()
print("begins", flush=True)
for size in range(1, int(sys.argv[1])):
    hn.tune(net, nd.ones((size, 4)), budget_s=0.2)
print("ends", len(hn.tune.report()), flush=True)
"""


def start(tmp_path, count):
    return subprocess.Popen(
        [sys.executable, "-c", TUNES, str(count)],
        env={**os.environ, "HYBRIDNET_CACHE_DIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_tuners_at_once_and_a_killed_one_leave_a_folder_that_can_be_used(tmp_path):
    killed, *others = [start(tmp_path, count) for count in (1000, 3, 3)]
    for one in others:
        assert one.communicate(timeout=300)[0].split()[-2:] == ["ends", "2"]
    assert killed.stdout is not None and killed.stdout.readline() == "begins\n"
    killed.kill()
    killed.communicate(timeout=300)
    book_after = RecipeBook(ProgramFolder(tmp_path / "tuned", 1 << 24))
    files = [one for one in (tmp_path / "tuned").iterdir() if one.suffix == ".program"]
    assert len(files) >= 2
    assert all(book_after._read(one.stem) is not None for one in files)
    last = start(tmp_path, 3)
    assert last.communicate(timeout=300)[0].split()[-2:] == ["ends", "2"]


# In the background --------------------------------------------------------------------------------


@pytest.mark.compiled
def test_a_hot_program_is_tuned_when_the_process_is_idle(speeds, monkeypatch):
    monkeypatch.setenv("HYBRIDNET_TUNE", "background")
    monkeypatch.setattr(idle.Idleness, "wait", lambda self: True)
    monkeypatch.setattr(idle.Idleness, "held", lambda self: True)
    best = compile_options.candidates("cpu")[2]
    speeds["seconds"] = lambda code, recipe: 0.5 if recipe.options == best else 1.0
    f = hn.function(lambda x: nd.dot(x, x.T).sum())
    for _ in range(70):
        got = f(nd.array(X))
        settle()
    for one in threading.enumerate():
        if one.name == "tune":
            one.join(60)
    entries = [one for one in hn.tune.report() if one.recipe.options == best]
    assert entries
    assert float(got.asscalar()) == pytest.approx(float((X @ X.T).sum()), rel=1e-5)
    assert float(f(nd.array(X)).asscalar()) == pytest.approx(float((X @ X.T).sum()), rel=1e-5)


def test_what_was_measured_while_something_ran_is_thrown_away(speeds):
    class Busy:
        def wait(self):
            return True

        def held(self):
            return False

    launch = launch_of(lambda x: nd.tanh(x) * 2, X)
    speeds["seconds"] = lambda code, recipe: 0.5 if recipe.options is not None else 1.0
    entry, compiled = search.Search(launch, 60, Busy()).run()
    assert compiled is None and entry.recipe == BY_RULES
    assert {one.verdict for one in entry.trials} == {"not measured: something else ran"}


def test_a_process_that_does_not_become_idle_tunes_nothing(speeds):
    class Never:
        def wait(self):
            return False

        def held(self):
            return True

    one = search.Search(launch_of(lambda x: nd.tanh(x) * 2, X), 60, Never())
    _, compiled = one.run()
    assert compiled is None and one.gave_up


@pytest.mark.compiled
def test_idleness_sees_a_launch():
    quiet = idle.Idleness()
    assert quiet.held()
    (nd.array(X) + 1).wait_to_read()
    assert not quiet.held()


def test_options_of_a_recipe_are_what_it_says():
    code = code_of(lambda x: nd.tanh(x) * 2, X)
    assert options_of(code, Recipe({"a": 1})) == {"a": 1}


def overwriting_step(loop):
    """A dense layer trained in place, whose input's gradient wants the weight as it was."""

    def step(x, slope, weight):
        if loop:
            _, (x,) = hn.nd.contrib.foreach(lambda row, states: (row, states), x, [x])
        before = nd.dot(slope, weight, transpose_b=True)
        weight -= nd.dot(x, slope, transpose_a=True)
        return before

    return hn.function(step)


@pytest.mark.compiled
@pytest.mark.parametrize("loop", [False, True])
def test_what_is_overwritten_is_not_copied_first_where_an_order_does(loop):
    rng = np.random.default_rng(0)
    x, slope, weight = (
        rng.standard_normal(one).astype("float32") for one in ((4, 640),) * 2 + ((640, 640),)
    )
    step, given, kept = overwriting_step(loop), nd.array(x), nd.array(weight)
    for _ in range(3):
        before = step(given, nd.array(slope), kept).asnumpy()
        np.testing.assert_allclose(before, slope @ weight.T, rtol=1e-3, atol=1e-3)
        weight -= x.T @ slope
        np.testing.assert_allclose(kept.asnumpy(), weight, rtol=1e-3, atol=1e-3)
    with captured() as found:
        step(given, nd.array(slope), kept).wait_to_read()
    (code,) = found
    assert code.donated
    text = compile_code(code).as_text()
    copies = [one for one in text.splitlines() if " copy(" in one and "f32[640,640]" in one]
    assert bool(copies) is loop


@pytest.mark.compiled
@pytest.mark.parametrize("groups", [1, 16])
def test_training_with_depthwise_convolutions_takes_plain_lowerings(groups):
    x, w = nd.array(np.ones((2, 16, 8, 8))), nd.array(np.ones((16, 16 // groups, 3, 3)))
    v = nd.array(np.ones((16, 16, 1, 1)))
    with captured() as found:
        for one in (w, v):
            one.attach_grad()
        with autograd.record():
            y = nd.Convolution(x, w, kernel=(3, 3), num_filter=16, num_group=groups, no_bias=True)
            y = nd.Convolution(y, v, kernel=(1, 1), num_filter=16, no_bias=True)
        y.backward()
        (w.grad + v.grad.sum()).wait_to_read()
    whole = max(found, key=lambda code: len(code.instructions))
    chosen = {name for site, name in sites_of(whole).items() if site.call.name == "Convolution"}
    assert chosen == ({PLAIN} if groups > 1 else {"turned"})
