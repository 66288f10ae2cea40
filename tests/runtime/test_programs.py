"""The program cache's decisions: what is compiled when, what is run one by one, what is said."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
import pytest
from deciding import never_whole
from helpers import run_script, settle

import hybridnet as hn
from hybridnet import cpu, engine, nd
from hybridnet.base import config
from hybridnet.base.errors import OutOfMemoryError, ParameterError
from hybridnet.base.host_array import HostArray
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.registry import get
from hybridnet.runtime.graphs import graph_call
from hybridnet.runtime.programs import host_program, making
from hybridnet.runtime.programs.cache import ProgramCache, cache
from hybridnet.runtime.programs.compile_options import is_known, options_for_size
from hybridnet.runtime.programs.program import Program
from hybridnet.runtime.programs.shelf import Shelf
from hybridnet.runtime.programs.steps import Failed, plan
from hybridnet.runtime.segments.code import Code
from hybridnet.runtime.tiers.choice import Decision, Purchase, Whose
from hybridnet.runtime.tiers.ledger import Account
from hybridnet.runtime.tiers.prices import SAMPLES

pytestmark = [pytest.mark.compiled, pytest.mark.optimized]

UNARY = ("tanh", "sin", "cos", "square", "exp", "sigmoid", "arctan", "negative")
NUMPY = {
    "tanh": np.tanh,
    "sin": np.sin,
    "cos": np.cos,
    "square": np.square,
    "exp": np.exp,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "arctan": np.arctan,
    "negative": np.negative,
}


def chain(names: Sequence[str], size: int = 3) -> Code:
    """One operator after the other."""
    one = tensor_type((size,), np.dtype("float32"))
    calls = [get(name).bind({})[0] for name in names]
    instructions = tuple((call, (k - 1,) if k else (~0,)) for k, call in enumerate(calls))
    return Code(cpu(0), instructions, (one,), (len(names) - 1,), ())


def run(cache: ProgramCache, names: Sequence[str], size: int = 3) -> None:
    """Runs a chain, holds the result to NumPy's, and waits for what goes on in the background."""
    x = np.linspace(0.1, 0.9, size, dtype=np.float32)
    (got,) = cache.run(chain(names, size), [jax.numpy.asarray(x)], [])
    for name in names:
        x = NUMPY[name](x)
    np.testing.assert_allclose(got, x, rtol=1e-5)
    engine.wait_for_all()


def counts(cache: ProgramCache) -> tuple[int, int]:
    found = cache.statistics()
    return found.compilations, found.cold


# Programs whose results are waited for


def awaited(cache: ProgramCache, size: int, times: int) -> list[Any]:
    x = np.linspace(0.1, 0.9, size, dtype=np.float32)
    made = [
        cache.run_awaited(chain(("tanh", "sin"), size), [HostArray(x)], []) for _ in range(times)
    ]
    for (got,) in made:
        np.testing.assert_allclose(got, np.sin(np.tanh(x)), rtol=1e-5)
    engine.wait_for_all()
    return [got for (got,) in made]


def test_what_numpy_does_quickly_is_not_compiled_where_it_is_waited_for(monkeypatch):
    monkeypatch.delenv("HYBRIDNET_HOST")
    cache = ProgramCache()
    made = awaited(cache, 5, 100)
    assert counts(cache) == (0, 100)
    assert all(type(one) is HostArray for one in made[1:])
    assert cache.next(chain(("tanh", "sin"), 5)).account.is_by_numpy


def test_a_program_that_is_waited_for_may_change_sides_and_be_run_otherwise(monkeypatch):
    monkeypatch.delenv("HYBRIDNET_HOST")
    cache = ProgramCache()
    made = awaited(cache, 5, 3)
    with cache.compiling_soon():
        for _ in range(3):
            (got,) = cache.run(chain(("tanh", "sin"), 5), [made[-1]], [])
            engine.wait_for_all()
    x = np.asarray(made[-1])
    np.testing.assert_allclose(got, np.sin(np.tanh(x)), rtol=1e-5)
    awaited(cache, 5, 2)
    assert counts(cache)[0] == 1
    assert not cache.state(chain(("tanh", "sin"), 5)).is_quick


def test_what_xla_runs_by_steps_does_not_count_as_quick(monkeypatch):
    cache = ProgramCache()
    for name in ("tanh", "sin"):  # each compiled by itself, so that the two run by these
        run(cache, (name,), 5)
    monkeypatch.delenv("HYBRIDNET_HOST")
    awaited(cache, 5, 2)
    assert not cache.state(chain(("tanh", "sin"), 5)).is_quick


def test_where_everything_is_compiled_so_is_what_is_waited_for():
    cache = ProgramCache()
    awaited(cache, 5, 2)
    assert counts(cache) == (1, 0)


# What is compiled when


def test_new_with_new_parts_is_compiled_at_once():
    cache = ProgramCache()
    run(cache, UNARY[:3])
    assert counts(cache) == (1, 0)


def test_new_with_known_parts_runs_by_these_and_is_compiled_when_seen_again():
    cache = ProgramCache()
    for name in UNARY[:3]:
        run(cache, [name])
    assert counts(cache) == (3, 0)
    names = [UNARY[k] for k in (2, 0, 1, 1)]
    run(cache, names)
    assert counts(cache) == (3, 1)
    run(cache, names)
    assert counts(cache) == (4, 2)  # it was compiled in the background of this run
    run(cache, names)
    assert counts(cache) == (4, 2)


def test_what_was_dropped_before_its_turn_is_not_compiled(monkeypatch):
    cache = ProgramCache()
    waiting: list[Callable[[], None]] = []
    monkeypatch.setattr(making, "later", lambda work, name: waiting.append(work))
    for name in UNARY[:3]:
        run(cache, [name])
    for _ in range(2):
        run(cache, [UNARY[k] for k in (2, 0, 1, 1)])
    cache.clear()
    before = counts(cache)
    (work,) = waiting
    work()
    assert counts(cache) == before
    assert not cache._maker._underway


def test_parts_that_recur_get_programs_of_their_own():
    """Structures that never repeat, of parts that do: in the end nothing is compiled any more."""
    cache = ProgramCache()
    generator = np.random.default_rng(0)
    for _ in range(12):
        run(cache, [UNARY[k] for k in generator.permutation(len(UNARY))])
    wholes = 2  # that are compiled; from then on their parts are
    assert counts(cache) == (wholes + len(UNARY), 12 - wholes)
    before = counts(cache)[0]
    for _ in range(20):
        run(cache, [UNARY[k] for k in generator.permutation(len(UNARY))])
    assert counts(cache)[0] == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_what_was_interrupted_as_it_was_to_be_compiled_is_compiled_later(monkeypatch, error):
    """While a program is on its way, others do not take over from NumPy."""
    monkeypatch.delenv("HYBRIDNET_HOST")
    later = making.later
    # The other error's program may be on disk already, if another process tests that.
    rows = 7 if error is KeyboardInterrupt else 8

    def fails(*_: object, **__: object) -> None:
        raise error

    def loop() -> None:
        with cache.compiling_soon():
            for _ in range(2):
                (nd.tanh(nd.ones((rows, 3))) * 3).wait_to_read()
                settle()

    monkeypatch.setattr(making, "later", fails)
    with pytest.raises(error):
        loop()
    assert not cache._maker._underway
    monkeypatch.setattr(making, "later", later)
    before = counts(cache)[0]
    loop()
    assert counts(cache)[0] == before + 1


@pytest.mark.parametrize("name", ["Convolution", "batch_dot"])
def test_parts_are_left_to_numpy_while_a_whole_is_compiled(monkeypatch, name):
    """It needs them no more, and would wait for their programs."""
    monkeypatch.delenv("HYBRIDNET_HOST")
    convolved = {"kernel": (3,), "num_filter": 2, "no_bias": True}
    call, _ = get(name).bind(convolved if name == "Convolution" else {})
    shapes = ((1, 2, 8), (2, 2, 3)) if name == "Convolution" else ((2, 2, 3), (2, 3, 2))
    types = tuple(tensor_type(shape, np.dtype("float32")) for shape in shapes)
    cache = ProgramCache()
    part = cache._shelf.find(Code(cpu(0), ((call, (~0, ~1)),), types, (0,), ()))
    account = part.account
    account.by_numpy.note(60.0)  # seconds
    cache._maker._underway.add(part)  # some whole
    assert type(part.on_host()) is host_program.HostProgram and not account.is_bought
    cache._maker._underway.clear()
    account.by_numpy.note(60.0)
    account.due = 0
    part.on_host()
    assert account.is_bought
    engine.wait_for_all()


@pytest.mark.parametrize("names", [UNARY[:1], UNARY[:3]])
def test_a_program_slower_than_numpy_is_given_up_and_numpy_goes_on(monkeypatch, names):
    """At the beginning of a pair; it is not made again, and what holds it goes on without."""
    monkeypatch.delenv("HYBRIDNET_HOST")

    def decide(whose, account, prices, load):
        if account.by_program.runs:
            return Decision(Purchase.GO_BACK)
        if whose is Whose.PART or account.is_bought or account.launches < 3:
            return Decision(Purchase.NONE)
        return Decision(Purchase.COMPILE)

    cache = ProgramCache()
    cache.decide = decide
    code, compiled = chain(names, 17), []
    for _ in range(50):
        run(cache, names, 17)
        state = cache.state(code)
        assert state is not None
        compiled.append(state.compiled)
    # It is timed at its runs 2, 4, 8, 16 and 32.
    assert compiled == [False] * 4 + [True] * 31 + [False] * 15
    assert counts(cache)[0] == 1
    assert cache.statistics().nbytes == 0


def test_a_program_that_does_without_onednn_is_not_held_against_numpy_yet(monkeypatch):
    """What builds its calls computes beside it."""
    monkeypatch.delenv("HYBRIDNET_HOST")
    monkeypatch.setattr(making, "improvers", [])  # one would replace it
    cache = ProgramCache()
    cache.decide = lambda whose, account, *_: Decision(
        Purchase.GO_BACK if account.by_program.runs else Purchase.COMPILE
    )
    program = cache.next(chain(UNARY[:3], 17))
    program.account.is_plain = True
    for is_plain, runs in (True, 12), (False, 24 * 2**SAMPLES):
        program.account.is_plain = is_plain
        for _ in range(runs):
            run(cache, UNARY[:3], 17)
        assert (program.compiled is None) is not is_plain


@pytest.mark.parametrize(("host", "times"), [("auto", 2), ("off", 1)])
def test_a_file_without_onednn_is_read_only_where_it_may_be_replaced(monkeypatch, host, times):
    """What gives the same bits each time (`deterministic`) does not depend on what is on disk."""
    monkeypatch.setenv("HYBRIDNET_HOST", host)
    monkeypatch.setattr(making, "may_call_onednn", lambda code: True)
    asked = []
    monkeypatch.setattr(making.ProgramStore, "load", lambda self, code: asked.append(code))
    cache = ProgramCache()
    assert not cache._maker._load(cache.next(chain(UNARY[:2])))
    assert len(asked) == times


@pytest.mark.slow
@pytest.mark.parametrize(("size", "times"), [(17, 0), (10_000_000, 1)])
def test_what_numpy_needed_is_given_back_when_a_large_program_takes_over(monkeypatch, size, times):
    """XLA's threads have heaps of their own, so that it would lie idle."""
    monkeypatch.delenv("HYBRIDNET_HOST")
    released = []
    monkeypatch.setattr(making, "release_memory", lambda: released.append(True))

    def decide(whose, account, prices, load):
        bought = whose is Whose.WHOLE and account.launches == 2
        return Decision(Purchase.COMPILE if bought else Purchase.NONE)

    cache = ProgramCache()
    cache.decide = decide
    for _ in range(8):
        run(cache, UNARY[3:4] * 2, size)
    state = cache.state(chain(UNARY[3:4] * 2, size))
    assert state is not None and state.compiled
    assert len(released) == times


def test_a_part_that_was_compiled_takes_over_when_a_pair_begins(monkeypatch):
    """The structures around it change all the time, and are never compiled."""
    monkeypatch.delenv("HYBRIDNET_HOST")

    def decide(whose, account, prices, load):
        bought = whose is Whose.PART and not account.is_bought and account.by_numpy.runs >= 3
        return Decision(Purchase.COMPILE if bought else Purchase.NONE)

    cache = ProgramCache()
    cache.decide = decide
    names = UNARY[:3]
    for _ in range(12):
        run(cache, names, 19)
    parts = [cache.state(chain([name], 19)) for name in names]
    assert all(part is not None and part.compiled and part.runs >= 4 for part in parts)
    assert counts(cache)[0] == 3


@pytest.mark.parametrize("at", [2, 3, 4, 5, 8, 9])
def test_pairs_of_launches_are_run_by_one_tier(at):
    """Differences of two runs, as numeric gradients are, do not hold that of two roundings."""

    def buy(whose, account, prices, load):
        if whose is Whose.WHOLE and account.launches == at:
            return Decision(Purchase.COMPILE)
        return never_whole(whose, account, prices, load)._replace(due=0)

    cache = ProgramCache()
    cache.decide = buy
    names = UNARY[:4]
    for name in names:  # so that it is as cheap to run them one by one
        run(cache, [name], size=at)
    code = chain(names, at)
    compiled = []
    for _ in range(at + 4):
        run(cache, names, size=at)
        state = cache.state(code)
        assert state is not None
        compiled.append(state.compiled)
    firsts, seconds = compiled[::2], compiled[1::2]
    assert firsts[: len(seconds)] == seconds and not compiled[0] and compiled[-1]


def test_threads_that_begin_a_pair_together_both_have_the_program():
    cache = ProgramCache()
    program = cache.next(chain(UNARY[:2]))
    program.ready = made = object()
    barrier, found = threading.Barrier(4), []

    def begin():
        barrier.wait()
        found.append(program.take_over())

    threads = [threading.Thread(target=begin) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [made] * 4 and program.compiled is made and program.ready is None


def test_wholly_new_parts_are_compiled_together_every_time():
    """Shapes that never come again: the whole takes less than its parts, so it is compiled."""
    cache = ProgramCache()
    for size in range(2, 9):
        run(cache, UNARY[:3], size)
    assert counts(cache) == (7, 0)


def test_a_run_that_was_held_up_says_nothing_of_what_the_next_will_take(monkeypatch):
    """Of what takes as long as its compilation would, by the clock; the clock runs on beside it."""
    clock = iter([0, 1, 10, 90, 100, 102])
    monkeypatch.setattr(host_program, "perf_counter", lambda: next(clock))
    code = chain(UNARY[:1])
    account = Account(1)
    rent = account.by_numpy
    host = host_program.HostProgram(code, code.input_types, account)
    for _ in range(3):
        host.run([np.ones(3, np.float32)], [])
    assert rent.runs == 3
    assert rent.seconds == 3


def test_a_thread_that_compiles_in_vain_waits_longer(caplog):
    cache = ProgramCache()
    for name in UNARY:
        run(cache, [name])
    names, other = UNARY[:5], UNARY[2:7]
    habits = cache._maker.habits
    habits.bought = 4096  # operators that never ran again
    before = counts(cache)[0]
    with caplog.at_level(logging.WARNING, "hybridnet.programs"):
        for _ in range(17):  # 2 / (512 / (512 + 4096)) = 18 launches
            run(cache, names)
        assert counts(cache)[0] == before
        assert not caplog.messages
        run(cache, names)
        assert counts(cache)[0] == before + 1
        (said,) = caplog.messages
        assert "hn.Buckets" in said
        for _ in range(4):
            run(cache, names)
        assert habits.again == len(names)
        habits.again = habits.bought  # as if all did
        for _ in range(2):
            run(cache, other)
        assert counts(cache)[0] == before + 2
        assert len(caplog.messages) == 1


# Steps


def test_a_plan_says_when_values_die():
    """%0 = a*a;  %1 = %0*b;  %2 = %0*%0;  %3 = tanh(%2) is not read;  outputs %1."""
    one = tensor_type((2,), np.dtype("float32"))
    mul, tanh = get("broadcast_mul").bind({})[0], get("tanh").bind({})[0]
    code = Code(
        cpu(0),
        ((mul, (~0, ~0)), (mul, (0, ~1)), (mul, (0, 0)), (tanh, (2,))),
        (one, one),
        (1,),
        (),
    )
    shelf = Shelf(ProgramCache(), 8, 64)
    steps = plan(code, shelf.part, optimized=True)
    assert steps.operands == [(~0, ~0), (0, ~1), (0, 0), (2,)]
    assert steps.needed == [(True,), (True,), (True,), (False,)]
    assert steps.dead == [(), (), (0,), (2,)]
    # A product has one program, whether of two arrays or of one with itself.
    assert len(set(steps.programs)) == len(shelf) == 2


def test_a_part_that_was_dropped_is_made_anew():
    one = tensor_type((2,), np.dtype("float32"))
    tanh, exp = (get(name).bind({})[0] for name in ("tanh", "exp"))
    shelf = Shelf(ProgramCache(), 1, 64)
    first, types = shelf.part(cpu(0), tanh, (one,))
    assert types == (one,)
    assert shelf.part(cpu(0), tanh, (one,))[0] is first
    shelf.part(cpu(0), exp, (one,))  # for which there is no room beside it
    shelf.part(cpu(0), exp, (one,))
    assert not first.kept
    again, _ = shelf.part(cpu(0), tanh, (one,))
    assert again is not first
    assert again.kept
    assert again.code == first.code


@pytest.mark.parametrize("runs", [1, 2])
def test_a_program_that_is_started_without_asking_for_it_is_spared(runs: int):
    """Prepared calls start programs so. The first run counts not: it was compiled for that one."""
    one = tensor_type((2,), np.dtype("float32"))
    shelf = Shelf(ProgramCache(), 2, 64)
    tanh, exp, sin = (get(name).bind({})[0] for name in ("tanh", "exp", "sin"))
    first, second = (shelf.part(cpu(0), call, (one,))[0] for call in (tanh, exp))
    first.account.runs = runs
    shelf.part(cpu(0), sin, (one,))  # for which there is no room beside both
    assert (first.kept, second.kept) == ((False, True) if runs == 1 else (True, False))


def test_what_failed_takes_along_only_what_reads_it():
    one = tensor_type((2,), np.dtype("float32"))
    add, tanh = get("broadcast_add").bind({})[0], get("tanh").bind({})[0]
    code = Code(cpu(0), ((tanh, (~0,)), (tanh, (~1,)), (add, (0, 1))), (one, one), (0, 1, 2), ())
    why = Failed(ValueError("lost"))
    for _ in range(3):
        got = ProgramCache().run(code, [why, jax.numpy.zeros(2)], [])
        assert got[0] is why
        np.testing.assert_array_equal(got[1], np.zeros(2))
        assert got[2] is why


@pytest.mark.parametrize("numbers", [[1.0, 2.0], [2, 3], [True, np.float32(0.5)], [1e300, 1e-300]])
def test_numbers_reach_the_program_whole(numbers: list[Any]):
    one = tensor_type((2,), np.dtype("float64"))
    mul = get("_mul_scalar").bind({})[0]
    code = Code(cpu(0), ((mul, (~0,)), (mul, (0,))), (one,), (1,), ())
    with jax.enable_x64(True):
        x = jax.numpy.asarray([1.0, 3.0], "float64")
    cache = ProgramCache()
    for _ in range(2):
        (got,) = cache.run(code, [x], numbers)
        wanted = np.array([1.0, 3.0]) * float(numbers[0]) * float(numbers[1])
        np.testing.assert_array_equal(got, wanted)


# What is said


def test_every_decision_is_explained():
    printed = run_script(
        """
        import contextlib, io, sys
        sys.stderr = sys.stdout  # the log goes to stderr, where the test allows nothing
        from hybridnet import engine, nd

        x = nd.ones((3,))
        for _ in range(4):
            y = (x.tanh() + 1).sin()
            y.wait_to_read()
            engine.wait_for_all()
        for name in ("tanh", "sin"):
            getattr(x, name)().wait_to_read()
        for _ in range(3):
            x.sin().tanh().wait_to_read()
            engine.wait_for_all()
        """,
        HYBRIDNET_LOG="programs",
    )
    lines = printed.splitlines()
    assert all(line.startswith("hybridnet: ") for line in lines)

    def said(*words: str) -> bool:
        return any(all(word in line for word in words) for line in lines)

    assert said("instructions (", "tanh, _plus_scalar, sin", "compiled in", "new")
    assert said("1 instruction (tanh)", "compiled in")
    assert said("2 instructions (sin, tanh) on cpu(0): new, runs one by one: nothing is missing")
    assert said("2 instructions (sin, tanh) on cpu(0): compiled in", "seen 2 times")
    assert said("tanh, _plus_scalar, sin", "times")
    assert said("2 instructions (sin, tanh) on cpu(0): ran once")


def test_nothing_is_said_unasked():
    run_script(
        "from hybridnet import nd; print((nd.ones((3,)) * 2 + 1).asnumpy()); nd.waitall()",
        HYBRIDNET_LOG="",
    )


# Settings


def test_the_bound_of_the_folder_is_read_with_units(monkeypatch):
    for text, size in [("", 1 << 30), ("0", 0), ("123", 123), ("5k", 5120), ("2 GiB", 2 << 30)]:
        monkeypatch.setenv("HYBRIDNET_CACHE_SIZE", text)
        assert config.cache_size() == size
    for text in ("-1", "1.5G", "many", "1 X"):
        monkeypatch.setenv("HYBRIDNET_CACHE_SIZE", text)
        with pytest.raises(ParameterError, match="HYBRIDNET_CACHE_SIZE must be"):
            config.cache_size()


def test_the_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("HYBRIDNET_CACHE_DIR", str(tmp_path))
    assert config.cache_dir() == tmp_path
    monkeypatch.setenv("HYBRIDNET_CACHE_DIR", "OFF")
    assert config.cache_dir() is None
    monkeypatch.delenv("HYBRIDNET_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert config.cache_dir() == tmp_path / "hybridnet"


@pytest.mark.slow
@pytest.mark.parametrize("asked", [False, True])
def test_scripts_that_log_their_losses_are_told_of_programs_only_when_they_ask(asked):
    printed = run_script(
        f"""
        import logging, sys
        logging.basicConfig(level=logging.INFO, stream=sys.stdout)
        if {asked}:
            logging.getLogger("hybridnet.programs").setLevel(logging.INFO)
        from hybridnet import nd
        nd.sum(nd.tanh(nd.ones((2, 3))) + 1).wait_to_read()
        """,
        HYBRIDNET_HOST="off",
    )
    assert ("tanh" in printed) is asked
    assert bool(printed) is asked


def test_an_unknown_topic_is_refused(monkeypatch):
    monkeypatch.setenv("HYBRIDNET_LOG", "programs, weather")
    with pytest.raises(ParameterError, match="HYBRIDNET_LOG can name programs"):
        config.log_topics()
    monkeypatch.setenv("HYBRIDNET_LOG", " programs ,")
    assert config.log_topics() == {"programs"}


def test_programs_of_thousands_of_small_operators_are_compiled_in_a_hurry():
    """XLA would take minutes for them; see `compile_options`."""

    def jaxpr(count: int, size: int = 1):
        def f(x):
            for _ in range(count):
                x = jax.numpy.sin(x)
            return x

        return jax.make_jaxpr(f)(np.ones(size, "f")).jaxpr

    assert options_for_size("cpu", jaxpr(100)) == {}
    options = options_for_size("cpu", jaxpr(4000))
    assert options["xla_backend_optimization_level"] == 0
    assert all(is_known("cpu", name, value) for name, value in options.items())
    assert options_for_size("cpu", jaxpr(4000, 1 << 16)) == {}  # large ones need XLA's fusions
    assert options_for_size("gpu", jaxpr(4000)) == {}


# What programs take in memory, and the bound on it


def compiled_in(programs: ProgramCache) -> list[Program]:
    return [program for program in programs.programs() if program.compiled is not None]


def test_programs_stay_within_their_bytes():
    bounded = ProgramCache(size=1)
    run(bounded, UNARY[:3])
    alone = bounded.statistics().nbytes
    assert alone > 1 and len(compiled_in(bounded)) == 1  # what is being used stays

    bounded = ProgramCache(size=4 * alone)
    for size in range(2, 14):
        run(bounded, UNARY[:3], size)
        assert bounded.statistics().nbytes <= 4 * alone
    assert 2 <= len(compiled_in(bounded)) <= 4


def test_the_program_used_least_recently_is_dropped_first():
    alone = ProgramCache()
    run(alone, UNARY[:3])
    bounded = ProgramCache(size=3 * alone.statistics().nbytes + 1000)
    for size in range(11, 31):
        run(bounded, UNARY[:3])
        run(bounded, UNARY[:3], size)
    sizes = [program.code.input_types[0].shape[0] for program in compiled_in(bounded)]
    assert 3 in sizes and 11 not in sizes  # the one that was used in between, and the first
    # By age alone, what is used all the time would be dropped and compiled again every third time.
    assert bounded.statistics().compilations <= 1 + 20 + 1


def test_a_dropped_program_counts_no_more():
    bounded = ProgramCache()
    run(bounded, UNARY[:3])
    bounded.clear()
    assert bounded.statistics().nbytes == 0


def test_the_bound_must_be_a_size(monkeypatch):
    monkeypatch.setenv("HYBRIDNET_PROGRAMS_SIZE", "much")
    with pytest.raises(ParameterError, match="HYBRIDNET_PROGRAMS_SIZE"):
        run(ProgramCache(), UNARY[:2])


# ----------------------------------------------------------------------------------------------
# Large graphs


def test_a_large_graph_runs_node_by_node_until_it_is_compiled(monkeypatch):
    """One with a graph in it, that overwrites an array, and returns a result twice and an input."""
    monkeypatch.setattr(graph_call, "_MANY_NODES", 4)
    x, y = (np.random.default_rng(n).standard_normal((3, 7)).astype("float32") for n in (0, 1))
    nd.broadcast_add(nd.negative(nd.tanh(nd.sin(nd.array(x) * 2))), nd.array(y)).asnumpy()
    inner = hn.function(lambda value: nd.negative(nd.tanh(nd.sin(value * 0.5))))
    total = nd.zeros((3, 7))

    @hn.function
    def f(x, y):
        made = inner(x + y)
        for k in range(6):
            made = inner(made) * (0.25 + k)
        total[:] = total + made
        return made, made, x

    expected = -np.tanh(np.sin((x + y) * 0.5))
    for k in range(6):
        expected = -np.tanh(np.sin(expected * 0.5)) * (0.25 + k)
    given = nd.array(x), nd.array(y)
    ran, before = [], cache.statistics()
    for times in range(1, 7):
        made = f(*given)
        for got, wanted in zip(made, (expected, expected, x), strict=True):
            np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(given[0].asnumpy(), x)
        np.testing.assert_allclose(total.asnumpy(), times * expected, rtol=1e-4, atol=1e-5)
        ran.append(cache.statistics().cold - before.cold)
        engine.wait_for_all()
    assert ran[:3] == [1, 2, 2]  # the third call and all later ones were one program


def test_a_large_graph_without_memory_says_so_and_loses_nothing(monkeypatch):
    monkeypatch.setattr(graph_call, "_MANY_NODES", 3)
    weight = nd.ones((3, 13))

    @hn.function
    def f(x):
        weight[:] = weight - nd.sin(nd.arctan(nd.cos(x) + 1))

    def refuse(code, recipe, **kinds):
        raise MemoryError("no room")

    x = nd.ones((3, 13))
    settle()
    with monkeypatch.context() as broken:
        broken.setattr(making, "compile_code", refuse)
        with pytest.raises(OutOfMemoryError, match="no room"):
            f(x)
            weight.asnumpy()
    np.testing.assert_array_equal(weight.asnumpy(), np.ones((3, 13)))
    f(x)
    expected = 1 - np.sin(np.arctan(np.cos(x.asnumpy()) + 1))
    np.testing.assert_allclose(weight.asnumpy(), expected, rtol=1e-5)


def test_an_operator_that_fails_in_a_large_graph_fails_the_call(monkeypatch):
    monkeypatch.setattr(graph_call, "_MANY_NODES", 3)

    @hn.function
    def f(x):
        return nd.sin(nd.tanh(nd.cos(x) + 1))

    def refuse(code, recipe, **kinds):
        raise RuntimeError(f"no program for {code.instructions[0][0].name}")

    x = nd.ones((3, 11))
    x.wait_to_read()
    with monkeypatch.context() as broken:
        broken.setattr(making, "compile_code", refuse)
        with pytest.raises(hn.MXNetError, match=r"no program for cos"):
            f(x).asnumpy()
    np.testing.assert_allclose(f(x).asnumpy(), np.sin(np.tanh(np.cos(x.asnumpy()) + 1)), rtol=1e-5)
