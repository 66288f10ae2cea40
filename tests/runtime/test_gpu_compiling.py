"""How programs for GPUs are compiled: without autotuners where somebody waits, and tuned later."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from helpers import settle

import hybridnet as hn
from hybridnet import engine, nd
from hybridnet.runtime.platform import background
from hybridnet.runtime.programs import compile_options, compiling, making
from hybridnet.runtime.programs.cache import ProgramCache, cache
from hybridnet.runtime.programs.disk import ProgramFolder
from hybridnet.runtime.programs.program_store import ProgramStore
from hybridnet.runtime.record import launch
from hybridnet.runtime.tiers.choice import Load, Purchase, decide_again
from hybridnet.runtime.tiers.ledger import Account
from hybridnet.runtime.tiers.prices import prices

LARGE = prices.stays // 4 + 1
UNTUNED = {
    "xla_gpu_experimental_enable_fusion_autotuner": False,
    "xla_gpu_enable_triton_gemm": False,
    "xla_gpu_autotune_level": 0,
}


@pytest.fixture
def options(monkeypatch):
    """The compile options of each program that is compiled, in order, those of XLA's GPUs only."""
    seen = []
    was = compiling.compile_lowered

    def compile_lowered(lowered, given, *, in_background):
        seen.append({name: x for name, x in given.items() if name.startswith("xla_gpu")})
        return was(lowered, given, in_background=in_background)

    monkeypatch.setattr(compiling, "compile_lowered", compile_lowered)
    return seen


def test_this_jax_knows_the_options():
    assert compile_options._options_untuned("gpu") == UNTUNED


def test_what_somebody_waits_for_is_not_tuned(card, options):
    x = nd.array(np.ones(LARGE), ctx=hn.gpu(0))
    (x + 1).wait_to_read()
    assert options == [UNTUNED]


def test_wholes_in_the_background_are(card, options):
    x = nd.array(np.ones((3, 4)), ctx=hn.gpu(0))
    for _ in range(8):
        y = x
        for _ in range(5):
            y = nd.relu(y * 2 - 1)
        y.wait_to_read()
        settle()
    assert options and all(one == {} for one in options)


def test_untuned_programs_have_names_of_their_own(card, tmp_path, monkeypatch, options):
    def run():
        x = nd.array(np.ones(LARGE), ctx=hn.gpu(0))
        np.testing.assert_array_equal((x + 3).asnumpy()[:2], [4, 4])

    def again():
        made = ProgramCache(store=ProgramStore(ProgramFolder(tmp_path / "programs", 1 << 30)))
        monkeypatch.setattr(launch, "cache", made)
        run()
        engine.wait_for_all()
        return made

    again()
    assert options == [UNTUNED]
    second = again()
    assert options == [UNTUNED] and second.statistics().loaded == 1
    (program,) = [one for one in second.programs() if one.compiled is not None]
    assert program.account.is_untuned


def test_the_missing_programs_of_new_steps_are_compiled_side_by_side(card, monkeypatch):
    seen = []
    was = making.side_by_side

    def side_by_side(works, name):
        seen.append(len(works))
        was(works, name)

    monkeypatch.setattr(making, "side_by_side", side_by_side)
    monkeypatch.setattr(making.Maker, "_has", lambda *_: False)
    decide = making.decide

    def by_steps(whose, account, prices, load):
        found = decide(whose, account, prices, load)
        is_new = account.launches == 1 and found.purchase is Purchase.COMPILE
        return found._replace(purchase=Purchase.NONE, due=1 << 60) if is_new else found

    monkeypatch.setattr(cache, "decide", by_steps)
    x = nd.array(np.arange(LARGE) % 3, ctx=hn.gpu(0))
    y = nd.sqrt(nd.square(x) + 1) - x
    found = y[:3].asnumpy()
    values = np.arange(3)
    np.testing.assert_allclose(found, np.sqrt(values**2 + 1) - values, rtol=1e-6)
    assert seen and seen[0] >= 3


def test_tuning_is_bought_when_it_repays():
    account = Account(10)
    account.is_untuned = True
    account.by_program.note(1e-3)
    account.runs = 10
    load = Load("auto", share=0.5)
    first = decide_again(account, prices, load, 0)
    assert first.purchase is Purchase.NONE and first.due > account.runs
    account.runs = round(1.1 * prices.compiling(10) / (prices.tuned * 1e-3))
    assert decide_again(account, prices, load, 0).purchase is Purchase.TUNED
    account.is_untuned = False
    assert decide_again(account, prices, load, 0).purchase is Purchase.NONE


def test_what_runs_often_is_tuned(card, options, monkeypatch):
    monkeypatch.setattr(type(prices), "tuned", 1e6)
    x = nd.array(np.ones(LARGE), ctx=hn.gpu(0))
    for _ in range(20):
        (x + 5).wait_to_read()
        settle()
    assert options == [UNTUNED, {}]
    np.testing.assert_array_equal((x + 5).asnumpy()[:2], [6, 6])


def test_in_turn_is_one_at_a_time():
    inside, most, lock = [0], [0], threading.Lock()
    begun = threading.Barrier(2, timeout=0.2)

    def work():
        with lock:
            inside[0] += 1
            most[0] = max(most[0], inside[0])
        try:
            begun.wait()  # two at a time would meet here
            most[0] = 2
        except threading.BrokenBarrierError:
            begun.reset()
        with lock:
            inside[0] -= 1

    for _ in range(3):
        background.in_turn(work, "test")
    engine.wait_for_all()
    assert most == [1]


def test_side_by_side_does_all_whatever_fails(monkeypatch):
    monkeypatch.setattr(background, "num_threads", lambda: 3)
    done, meeting = [], threading.Barrier(3, timeout=60)

    def work(number):
        def run():
            if number < 3:
                meeting.wait()  # three at a time
            if number == 4:
                raise ValueError("one of them fails")
            done.append(number)

        return run

    background.side_by_side([work(n) for n in range(6)], "test")
    assert sorted(done) == [0, 1, 2, 3, 5]
