"""Reference counts as they are used here: never too low, whoever holds an object and however."""

from __future__ import annotations

import sys

import pytest
from holding import WAYS

from hybridnet.base.references import ALONE, counts

#: Often enough for each instruction to be specialized for what it meets.
_TURNS = 100


class Thing:
    """An object that nothing else holds."""


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_who_holds_an_object_is_counted(way):
    for _ in range(_TURNS):
        box = [Thing()]
        seen = []
        found = way(lambda box=box: box[0], lambda box=box, seen=seen: seen.extend(counts(box)))
        assert found is box[0]
        assert len(seen) == 1
        assert seen[0] > ALONE
        del found
        assert next(counts(box)) == ALONE  # and nobody afterwards


def test_each_container_counts_for_one():
    box = [Thing(), Thing()]
    assert list(counts(box)) == [ALONE, ALONE]
    other = box[:1]
    box[1].attribute = box[0]
    assert list(counts(box)) == [ALONE + 2, ALONE]
    del other
    assert list(counts(box)) == [ALONE + 1, ALONE]


def test_a_count_does_not_depend_on_who_asks():
    """Neither on how often it was asked, nor on where the list is."""

    def asked(box, depth):
        return next(counts(box)) if depth == 0 else asked(box, depth - 1)

    class Holder:
        pass

    holder = Holder()
    holder.box = [Thing()]
    box = [Thing()]
    for depth in range(_TURNS):
        assert asked(box, depth % 7) == asked([Thing()], depth % 3) == ALONE
        assert next(counts(holder.box)) == ALONE
        assert list(counts(box)) == [ALONE]


def test_what_a_function_sees_of_its_argument_says_nothing():
    """Why counts are asked of containers only."""

    def seen(argument):
        return sys.getrefcount(argument)

    held = Thing()
    # (Not in the assertions, which hold what they compare.)
    of_a_variable, of_nothing = seen(held), seen(Thing())
    if sys.version_info >= (3, 14):
        assert of_a_variable == of_nothing
    else:
        assert of_a_variable == of_nothing + 1
