"""Temporary memory in blocks: not in programs for the disk, and in those that have run for long."""

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import engine, nd
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.programs.compiling import compile_code, compile_in_blocks, to_bytes
from hybridnet.runtime.programs.recipe import BY_RULES
from hybridnet.runtime.tiers.choice import Decision, Purchase
from hybridnet.runtime.tuning import again

pytestmark = [pytest.mark.compiled, pytest.mark.optimized]

_ROWS, _COLUMNS = 1024, 256
_PRODUCTS = 14  # of 4 MiB each


@hn.function
def many_products(x):
    """More than 24 MiB at once, since each product is needed until the last is there."""
    found = [nd.dot(x + k, x - k, transpose_b=True) for k in range(_PRODUCTS)]
    total = sum(found[1:], found[0])
    weighed = [nd.tanh(y) * total for y in found]
    return sum(weighed[1:], weighed[0]).sum(axis=1)


@hn.function
def one_product(x):
    """Next to nothing."""
    return nd.dot(x, x, transpose_b=True).sum(axis=1)


def expected(x):
    found = [(x + k) @ (x - k).T for k in range(_PRODUCTS)]
    return sum(np.tanh(y) * sum(found) for y in found).sum(axis=1)


def program_of(function, array):
    """Runs a function until it is compiled; returns its program."""
    for _ in range(3):
        function(array).wait_to_read()
        engine.wait_for_all()
    (found,) = [
        one
        for one in cache.programs()
        if one.compiled is not None and one.code.instructions[0][0].name == function.__name__
    ]
    return found


def values():
    return np.random.default_rng(0).uniform(-1, 1, (_ROWS, _COLUMNS)).astype("float32")


def test_xla_writes_programs_to_disk_whose_memory_is_one_block():
    code = program_of(many_products, nd.array(values())).code
    assert to_bytes(code, compile_code(code, for_disk=True)) is not None
    assert to_bytes(code, compile_code(code)) is None  # if this fails, `for_disk` can go


@pytest.mark.slow
def test_a_program_that_has_run_for_long_gets_blocks(monkeypatch):
    x = values()
    array = nd.array(x)
    found = program_of(many_products, array)
    due = found.account.runs + 3

    def decide(account, prices, load, memory):
        if account.is_in_blocks or account.runs < due:
            return Decision(Purchase.NONE, due=due)
        assert memory > 24 << 20
        return Decision(Purchase.BLOCKS)

    monkeypatch.setattr(again, "decide_again", decide)
    found.account.look = 0  # asked at the next run
    in_blocks = compile_in_blocks(found.code, BY_RULES)
    assert in_blocks is not None
    made = []
    monkeypatch.setattr(again, "compile_in_blocks", lambda *how: made.append(how) or in_blocks)
    for _ in range(6):
        np.testing.assert_allclose(many_products(array).asnumpy(), expected(x), rtol=1e-3)
        engine.wait_for_all()
    assert len(made) == 1
    assert found.compiled is in_blocks


def test_small_programs_have_no_blocks():
    code = program_of(one_product, nd.array(values())).code
    assert compile_in_blocks(code, BY_RULES) is None
