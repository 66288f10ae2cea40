"""Rent or buy: tables and scripts of launches, by numbers alone. Nothing runs, nothing compiles."""

from __future__ import annotations

from typing import Any

import pytest

from hybridnet.runtime.tiers.choice import (
    Decision,
    Load,
    Purchase,
    Whose,
    decide,
    decide_again,
    decide_constants,
    is_quick,
    is_worth_timing,
    is_worth_twice,
    repays_passes,
)
from hybridnet.runtime.tiers.ledger import Account, Habits, Rent
from hybridnet.runtime.tiers.prices import Prices

AUTO = Load("auto")
MS, US = 1e-3, 1e-6


def bought_at(
    seconds: float,
    weight: int = 30,
    *,
    launches: int = 100_000,
    load: Load = AUTO,
    read: bool = False,
    on_disk: bool = False,
) -> tuple[int, Purchase]:
    """Launches a structure by its steps until something is bought; returns when, and what."""
    account, prices = Account(weight), Prices()
    account.on_disk, account.kinds = on_disk, weight
    for _ in range(launches):
        account.launches += 1
        if account.launches >= account.due:
            made = decide(Whose.WHOLE, account, prices, load)
            if made.purchase is not Purchase.NONE:
                return account.launches, made.purchase
            account.due = made.due
        account.by_steps.note(seconds)
        if read:
            account.note_read()
    return 0, Purchase.NONE


@pytest.mark.parametrize(
    ("seconds", "weight", "least", "most"),
    [
        (15 * MS, 33, 30, 60),  # LeNet's training step
        (0.5, 300, 8, 16),  # ResNet-18's
        (0.4 * MS, 40, 1400, 2800),  # a small perceptron's
        (60.0, 300, 2, 3),  # what runs for a minute is compiled at once
    ],
)
def test_a_loop_is_compiled_when_what_is_to_come_repays_it(seconds, weight, least, most):
    launch, what = bought_at(seconds, weight)
    assert least <= launch <= most
    assert what is Purchase.COMPILE


def test_what_comes_again_is_compiled_when_as_much_was_overpaid():
    """Never more than twice what the best in hindsight pays."""
    weight, seconds = 30, 10 * MS
    prices = Prices()
    launch, _ = bought_at(seconds, weight)
    overpaid = (launch - 1) * (1 - prices.usual) * seconds
    price = AUTO.share * prices.compiling(weight)
    assert overpaid <= price <= overpaid + 2 * seconds


def test_whether_a_thread_waits_for_xla_is_timed_and_not_guessed():
    """Whether it hands a program to another thread nobody knows before."""
    unread = bought_at(40 * US, 3)
    assert unread[0] > 0 and bought_at(40 * US, 3, read=True) == unread
    account, prices = Account(3), Prices()
    account.launches = 10
    account.by_steps.note(40 * US)
    account.by_program.note(80 * US)
    assert decide(Whose.WHOLE, account, prices, AUTO).purchase is Purchase.NONE
    for _ in range(10):
        account.note_read()
    assert decide(Whose.WHOLE, account, prices, AUTO).purchase is Purchase.GO_BACK


def test_a_step_whose_result_the_next_one_waits_for_is_not_bought_for_less():
    prices = Prices()
    for seconds, what in (50 * US, Purchase.NONE), (150 * US, Purchase.COMPILE):
        part = Account(1)
        for _ in range(100_000):
            part.by_numpy.note(seconds)
        assert decide(Whose.PART, part, prices, AUTO).purchase is what
        part.by_steps = part.by_call = part.by_numpy
        part.launches = 100_000
        assert decide(Whose.ALONE, part, prices, AUTO).purchase is Purchase.COMPILE


@pytest.mark.parametrize(
    ("seconds", "weight", "waits"), [(100 * US, 3, 1), (10 * MS, 3, 0), (100 * US, 99, 0)]
)
def test_the_loop_pauses_only_while_small_work_is_compiled_that_takes_no_time(
    seconds, weight, waits
):
    account, prices = Account(weight), Prices()
    account.kinds, account.launches, account.on_disk = weight, 100_000, False
    for _ in range(100_000):
        account.by_steps.note(seconds)
    made = decide(Whose.WHOLE, account, prices, AUTO)
    assert made.purchase is Purchase.COMPILE and made.waits == waits


def test_what_was_paid_is_no_more_than_twice_the_best_of_each_run():
    rent = Rent()
    assert not rent.mean < 1e300 and rent.seconds == 0
    for took in (9.0, 2.0, 3.0, 100.0):
        rent.note(took)
    assert (rent.best, rent.runs) == (2.0, 4)
    assert rent.mean == (4 + 2 + 3 + 4) / 4
    rent.runs += 10  # that nobody timed
    assert rent.mean == (4 + 2 + 3 + 4) / 4


def test_it_is_seldom_decided_about_what_is_far_from_its_price():
    account, prices, asked = Account(3), Prices(), 0
    account.kinds, account.on_disk = 3, False
    while True:
        account.launches += 1
        account.by_steps.note(10 * US)
        if account.launches >= account.due:
            asked += 1
            made = decide(Whose.WHOLE, account, prices, AUTO)
            if made.purchase is not Purchase.NONE:
                break
            account.due = made.due
    assert account.launches > 5000 and asked < 60


def test_work_that_xla_does_no_faster_is_never_compiled():
    assert bought_at(0.1, weight=Prices.large) != (0, Purchase.NONE)
    assert bought_at(0.1, weight=Prices.large + 1) == (0, Purchase.NONE)


def test_beside_another_compilation_the_price_is_that_of_both():
    first = bought_at(15 * MS, load=Load("auto"))[0]
    both = bought_at(15 * MS, load=Load("auto", is_underway=True))[0]
    assert 1.7 * first <= both <= 2.3 * first


def again_at(account: Account, memory: int = 0, runs: int = 100_000) -> tuple[int, Purchase]:
    """Runs a program until it is compiled once more; returns when, and for what."""
    look, prices = 2, Prices()
    for _ in range(runs):
        account.runs += 1
        if account.runs >= look:
            made = decide_again(account, prices, AUTO, memory)
            if made.purchase is not Purchase.NONE:
                return account.runs, made.purchase
            look = made.due
    return 0, Purchase.NONE


def test_a_program_is_compiled_once_more_when_what_it_did_without_has_cost_as_much():
    step = Account(146)  # of ResNet-18: 0.27 s, of which 40 ms to clear 140 MB
    step.kinds = 60
    runs, what = again_at(step, 140 << 20)
    assert what is Purchase.BLOCKS and 50 < runs < 100
    step.is_in_blocks = True
    assert again_at(step, 140 << 20) == (0, Purchase.NONE)
    assert again_at(Account(146)) == (0, Purchase.NONE)
    plain = Account(20)
    plain.is_plain = True
    assert again_at(plain) == (2, Purchase.LIBRARY)


def test_a_program_for_weights_that_stay_is_bought_as_others_are():
    account, prices = Account(30), Prices()
    account.kinds = 30
    assert decide_constants(account, prices, AUTO).due > 1 << 60  # what it takes is not known
    account.by_program.note(10 * MS)
    for runs, what in (13, Purchase.NONE), (400, Purchase.CONSTANTS):
        account.runs = runs
        assert decide_constants(account, prices, AUTO).purchase is what


def test_a_small_program_does_not_wait_for_onednn():
    assert is_worth_twice(Account(20), Prices())
    assert not is_worth_twice(Account(150), Prices())
    slow = Prices()
    for _ in range(3):
        slow.note_compiled(20, None, 5 * slow.compiling(20))
    assert is_worth_twice(Account(20), slow)  # so is the compiler of C++


@pytest.mark.parametrize(("before", "least", "most"), [(0.0, 30, 60), (0.5, 15, 30), (1.0, 2, 2)])
def test_what_earlier_processes_overpaid_counts(before, least, most):
    account, prices = Account(33), Prices()
    account.kinds, account.on_disk, account.before = 33, False, before
    made = Decision(Purchase.NONE)
    while made.purchase is Purchase.NONE:
        account.launches += 1
        account.by_steps.note(15 * MS)
        if account.launches > 1:
            made = decide(Whose.WHOLE, account, prices, AUTO)
    assert least <= account.launches <= most


def test_a_program_on_disk_is_had_sooner():
    launch, what = bought_at(10 * MS, on_disk=True)
    assert what is Purchase.READ
    assert launch < bought_at(10 * MS)[0]


def test_jax_is_loaded_only_where_that_is_repaid_too():
    before = Load("auto", has_begun=False)
    assert bought_at(MS, load=before)[0] > bought_at(MS)[0]


@pytest.mark.parametrize(("host", "launch"), [("off", 2), ("only", 0)])
def test_settings_decide_first(host, launch):
    found, _ = bought_at(1.0, load=Load(host))
    assert found == launch


def test_a_thread_whose_purchases_were_in_vain_pays_longer():
    account, habits = Account(64), Habits()
    for _ in range(32):
        habits.note_bought(account)
    assert habits.share_again == 0.2
    assert bought_at(MS, load=Load("auto", again=0.2))[0] > bought_at(MS)[0]
    assert bought_at(MS, load=Load("off", again=0.2))[0] == 10
    for _ in range(40):
        habits.note_ran_again(account)
    assert habits.share_again == 1 and habits.unused == 0


@pytest.mark.parametrize(
    ("missing", "on_disk", "wanted"),
    [
        (0.0, True, Decision(Purchase.NONE, due=2)),  # all of its steps can run
        (0.1, False, Purchase.NONE),  # one or two are missing: they are made
        (2.0, False, Purchase.COMPILE),
        (2.0, None, Purchase.READ),
    ],
)
def test_a_new_structure_is_made_in_the_cheapest_way(missing, on_disk, wanted):
    account = Account(30)
    account.launches, account.missing, account.on_disk = 1, missing, on_disk
    made = decide(Whose.WHOLE, account, Prices(), AUTO)
    if isinstance(wanted, Decision):
        assert made == wanted
    else:
        assert made.purchase is wanted
        assert made.waits is (wanted is not Purchase.NONE)


def test_an_operator_by_itself():
    def single(seconds: float, runs: int, whose: Whose = Whose.ALONE, **load: Any) -> Purchase:
        account = Account(1)
        for _ in range(runs):
            account.by_numpy.note(seconds)
            account.by_steps.note(seconds)
        return decide(whose, account, Prices(), Load("auto", **load)).purchase

    assert single(10 * MS, 2) is Purchase.NONE
    assert single(10 * MS, 6) is Purchase.COMPILE
    # As a step of others it gets none where theirs is likely to be made.
    assert single(10 * MS, 4, Whose.PART) is Purchase.NONE
    assert single(10 * MS, 200, Whose.PART) is Purchase.COMPILE
    assert single(10 * MS, 200, Whose.PART, is_underway=True) is Purchase.NONE


@pytest.mark.parametrize(
    ("by_numpy", "by_program", "in_row", "read", "back"),
    [
        (24 * US, 90 * US, 10 * US, 1.0, True),  # a + b, read
        (24 * US, 90 * US, 30 * US, 0.0, True),
        (24 * US, 200 * US, 10 * US, 0.0, False),  # nobody waits for it, on a busy machine
        (24 * US, 90 * US, 10 * US, 0.5, True),
        (40 * US, 20 * US, 20 * US, 1.0, False),  # XLA computes it in the thread that launches it
        (500 * US, 90 * US, 80 * US, 1.0, False),
    ],
)
def test_a_program_that_turns_out_to_be_slower_is_given_up(
    by_numpy, by_program, in_row, read, back
):
    account, prices = Account(1), Prices()
    account.launches, account.reads = 10, round(10 * read)
    account.is_bought = True
    account.by_steps.note(by_numpy)
    account.by_program.note(by_program)
    account.in_row = in_row
    made = decide(Whose.ALONE, account, prices, AUTO)
    assert (made.purchase is Purchase.GO_BACK) is back
    account.note_call(by_numpy + 20 * US)  # as a call of its own it is recorded each time, too
    made = decide(Whose.ALONE, account, prices, AUTO)
    cost = read * by_program + (1 - read) * in_row
    assert (made.purchase is Purchase.GO_BACK) is (cost > by_numpy + 20 * US)
    assert is_worth_timing(account, prices)


def test_a_decision_says_when_the_next_is_due():
    account = Account(1)
    account.by_numpy.note(5 * US)
    account.by_steps.note(5 * US)
    assert decide(Whose.ALONE, account, Prices(), AUTO).due == 2
    account.by_numpy.runs = 1000
    assert decide(Whose.ALONE, account, Prices(), AUTO).due == 2000


def test_prices_are_learned():
    prices = Prices()
    before = prices.compiling(30)
    for _ in range(9):
        prices.note_compiled(10, 10, 3 * Prices().compiling(10))
    assert prices.compiling(30) == pytest.approx(3 * before)
    prices.note_compiled(10, 10, 100.0)  # once, on a machine that was busy
    assert prices.compiling(30) == pytest.approx(3 * before)


def test_what_is_repeated_costs_less():
    prices = Prices()
    assert prices.compiling(200, 1) < prices.compiling(200) / 5
    assert prices.compiling(200, 200) == prices.compiling(200)


def test_the_quickest_run_counts():
    rent = Rent()
    assert rent.seconds == 0
    for took in (4.0, 80.0, 5.0):
        rent.note(took)
    assert rent.seconds == 12


def test_reads_do_not_outnumber_launches():
    account = Account(1)
    account.note_read()
    assert account.read_share == 0
    account.launches = 4
    for _ in range(3):
        account.note_read()
    assert account.read_share == 0.75


def test_passes_are_run_when_they_would_have_saved_what_they_take():
    account, prices = Account(10), Prices()
    account.by_steps.note(MS)
    assert not repays_passes(account, prices, "auto")
    for _ in range(4):
        account.by_steps.note(MS)
    assert repays_passes(account, prices, "auto")
    account.launches = 6
    assert not repays_passes(account, prices, "only")
    account.launches = 7
    assert repays_passes(account, prices, "only")


def test_quick_is_what_ends_before_xla_would_have_answered():
    account, prices = Account(3), Prices()
    assert not is_quick(account, prices)
    account.by_steps.note(100 * US)
    assert is_quick(account, prices)
