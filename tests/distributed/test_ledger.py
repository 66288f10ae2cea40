"""What two processes' ledgers say of each other, without processes: statements in, answers out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hybridnet.distributed.ledger import Ledger, read_statement, read_window


def ledger_of(texts: str) -> Ledger:
    """Returns a ledger of these letters, each something that was done."""
    made = Ledger("launch", 2)
    for one in texts:
        made.add(one)
    return made


def sent(message: dict[str, Any]) -> dict[str, Any]:
    """Returns a message as it arrives."""
    found: dict[str, Any] = json.loads(json.dumps(message))
    return found


@pytest.mark.parametrize(
    ("mine", "theirs", "number", "differs", "begins"),
    [
        ("abc", "abc", 3, False, True),
        ("abcd", "abc", 3, False, True),
        ("abc", "abd", 3, True, True),
        ("acb", "abc", 3, True, False),
        ("aabc", "abca", 4, True, False),
    ],
)
def test_a_statement_tells_whether_all_before_was_the_same(mine, theirs, number, differs, begins):
    ours = ledger_of(mine)
    statement = read_statement(sent(ledger_of(theirs).statement(number)))
    assert statement is not None
    at, entry = statement
    assert at == number and ours.hear(1, at, entry)
    assert (ours.own(number).fold != entry.fold) is differs
    assert (ours.own(number).before == entry.before) is begins


def test_what_is_ahead_is_kept_until_this_process_comes_there():
    ours, other = ledger_of("ab"), ledger_of("abcd")
    for number in (3, 4):
        statement = read_statement(sent(other.statement(number)))
        assert statement is not None and not ours.hear(1, *statement)
    assert not ours.is_said_by_all(2) and ours.is_said_by_all(3)
    assert ours.add("c") == 3 and ours.theirs[3][1].fold == ours.own(3).fold
    assert ours.add("x") == 4 and list(ours.theirs) == [4]
    assert ours.is_new(4) and ours.theirs[4][1].fold != ours.own(4).fold
    ours.agree(4)
    assert not ours.is_new(4)


def test_windows_find_where_two_parted():
    ours = ledger_of("abc" * 100 + "xyz")
    for theirs, found in (("abc" * 100 + "xzy", (302, "z")), ("abc" * 90 + "bac" * 11, (271, "b"))):
        window = read_window(sent(ledger_of(theirs).window()))
        assert window is not None and ours.first_difference(*window) == found
    window = read_window(sent(ours.window()))
    assert window is not None
    assert ours.first_difference(*window) == (240, "something else before it")


def test_long_texts_are_cut_and_stay_different():
    first, second = ledger_of(""), ledger_of("")
    first.add("a" * 5000 + "b")
    second.add("a" * 5000 + "c")
    assert first.own(1).what != second.own(1).what
    assert len(first.own(1).what) < 1000


@pytest.mark.parametrize("message", [{}, {"at": 1}, {"at": 1, "entry": [1, 2, 3]}, {"at": "1"}])
def test_what_is_no_statement_is_none(message):
    assert read_statement(message) is None and read_window(message) is None
