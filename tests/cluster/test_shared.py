"""Queues and accumulators by themselves: what is asked is answered in turn, or later."""

import numpy as np
import pytest

from hybridnet.clusters import EndedError, GivenUpError, WrongError
from hybridnet.clusters.shared import Asked, SharedStore


def queue(capacity=10, kind="first", **more):
    about = {"kind": kind, "capacity": capacity, "shapes": [[]], "dtypes": ["int32"], **more}
    return SharedStore().find("q", about)


def ask(thing, method, *arrays, **words):
    made = Asked(method, words, [np.asarray(one) for one in arrays])
    thing.ask(made)
    return made


def got(asked):
    assert asked.answer.done()
    return [one.tolist() for one in asked.answer.result()]


def test_what_is_taken_before_it_was_put_is_answered_when_it_comes():
    q = queue()
    first, second = ask(q, "take", count=1), ask(q, "take", count=1)
    assert not first.answer.done()
    ask(q, "put", [1, 2], many=True)
    assert got(first) == [1] and got(second) == [2]


def test_many_go_through_a_small_queue_and_none_overtakes():
    q = queue(capacity=2)
    put = ask(q, "put", [1, 2, 3, 4, 5], many=True)
    assert not put.answer.done() and got(ask(q, "size")) == [2]
    many, one = ask(q, "take", count=4, many=True), ask(q, "take", count=1)
    assert got(many) == [[1, 2, 3, 4]] and got(one) == [5] and got(put) == []


def test_a_question_that_is_given_up_leaves_what_it_has_taken():
    q = queue()
    many, one = ask(q, "take", count=3, many=True), ask(q, "take", count=1)
    ask(q, "put", [1, 2], many=True)
    assert not one.answer.done()
    q.give_up(many)
    assert isinstance(many.answer.exception(), GivenUpError) and got(one) == [1]
    assert got(ask(q, "take", count=1)) == [2]
    q.give_up(one)  # it has its answer


def test_a_closed_queue_gives_what_is_in_it_and_then_ends():
    q = queue(capacity=1)
    waiting = ask(q, "put", [7, 8], many=True)
    ask(q, "close")
    assert isinstance(ask(q, "put", 9).answer.exception(), GivenUpError)
    assert got(ask(q, "take", count=5, many=True, fewer=True)) == [[7, 8]] and got(waiting) == []
    assert isinstance(ask(q, "take", count=1).answer.exception(), EndedError)
    assert got(ask(q, "is_closed")) == [True]


def test_what_cannot_be_joined_is_an_error_for_who_asked_alone():
    q = queue(shapes=[None])
    ask(q, "put", [1, 2])
    ask(q, "put", [3])
    assert isinstance(ask(q, "take", count=2, many=True).answer.exception(), WrongError)
    assert got(ask(q, "size")) == [2] and got(ask(q, "take", count=1)) == [[1, 2]]
    uneven = ask(queue(shapes=[[], []]), "put", [1, 2], [3], many=True)
    assert "as many rows" in str(uneven.answer.exception())


def test_an_answer_that_fails_in_numpy_stops_nobody_else():
    rows = SharedStore().find("r", {"kind": "rows", "shape": None, "mean": True})
    ask(rows, "apply", [0], [[1.0, 2.0]], step=0)
    failed = ask(rows, "apply", [0], [[1.0, 2.0, 3.0]], step=0)
    assert "broadcast" in str(failed.answer.exception())
    assert got(ask(rows, "take", count=1))[1] == [[1.0, 2.0]]


def test_gradients_without_rows_are_taken_in_their_dtype():
    rows = SharedStore().find("r", {"kind": "rows", "shape": [None, None], "mean": True})
    ask(rows, "apply", np.zeros(0, np.int64), np.zeros((0, 3), np.float64), step=0)
    numbers, made, shape = ask(rows, "take", count=1).answer.result()
    assert numbers.shape == (0,) and made.shape == (0, 3) and made.dtype == np.float64
    assert shape.tolist() == [-1, -1]


def test_closing_may_give_up_what_waits_to_be_put():
    q = queue(capacity=1)
    waiting = ask(q, "put", [7, 8], many=True)
    ask(q, "close", cancel=True)
    assert isinstance(waiting.answer.exception(), GivenUpError)
    short = ask(q, "take", count=2, many=True)
    assert "requested 2, current size 1" in str(short.answer.exception())
    assert got(ask(q, "take", count=1)) == [7]


def test_priorities_and_chance():
    q = queue(kind="priority", shapes=[[], []])
    for number, value in [(3, 1), (1, 2), (1, 3)]:
        ask(q, "put", np.int64(number), value)
    assert [got(ask(q, "take", count=1)) for _ in range(3)] == [[1, 2], [1, 3], [3, 1]]
    q = queue(capacity=-1, kind="shuffling", least=3, seed=1)
    ask(q, "put", np.arange(9), many=True)
    (first,) = got(ask(q, "take", count=6, many=True))
    more = ask(q, "take", count=3, many=True)
    assert not more.answer.done()
    ask(q, "close")
    assert sorted(first + got(more)[0]) == list(range(9)) and first != sorted(first)


def test_an_accumulator_gives_the_mean_of_its_step_as_tensorflow_does():
    a = SharedStore().find("a", {"kind": "dense", "shape": [2], "mean": True})
    take = ask(a, "take", count=2)
    for grad in [1, 2], [3, 4]:
        assert not take.answer.done()
        ask(a, "apply", np.float32(grad), step=0)
    assert got(take) == [[2, 3]]
    ask(a, "apply", np.float32([1, 2]), step=0)  # of a step that is over
    assert got(ask(a, "count")) == [0]
    ask(a, "apply", np.float32([1, 2]), step=1)
    ask(a, "step", step=5)
    ask(a, "apply", np.float32([9, 9]), step=4)
    ask(a, "apply", np.float32([9, 9]), step=5)
    assert got(ask(a, "count")) == [2] and got(ask(a, "take", count=1)) == [[5, 5.5]]
    wrong = ask(a, "apply", np.float32([1, 2, 3]), step=9).answer.exception()
    assert isinstance(wrong, WrongError) and "must have shape (2,), got (3,)" in str(wrong)


def test_rows_are_divided_by_how_many_gradients_have_them():
    a = SharedStore().find("a", {"kind": "rows", "shape": [None, 2], "mean": True})
    ask(a, "apply", [2, 0], np.float32([[2, 2], [1, 1]]), [4, 2], step=0)
    ask(a, "apply", [2, 3], np.float32([[4, 4], [6, 6]]), [4, 2], step=0)
    want = [[0, 2, 3], [[1, 1], [3, 3], [6, 6]], [-1, 2]]
    assert got(ask(a, "take", count=2)) == want
    total = SharedStore().find("a", {"kind": "rows", "shape": [4, 2], "mean": False})
    for _ in range(2):
        ask(total, "apply", [1], np.float32([[1, 2]]), step=0)
    assert got(ask(total, "take", count=1)) == [[1], [[2, 4]], [4, 2]]
    wrong = ask(total, "apply", [4], np.float32([[1, 2]]), step=9).answer.exception()
    assert "row 4 is not one of 4" in str(wrong)


def test_one_name_is_one_thing():
    store = SharedStore()
    about = {"kind": "first", "capacity": 2, "shapes": [[]], "dtypes": ["int32"]}
    assert store.find("z", about) is store.find("z", dict(about))
    with pytest.raises(WrongError, match=r"'z' has \['capacity'\] \[2\] but \[3\]"):
        store.find("z", {**about, "capacity": 3})
    with pytest.raises(WrongError, match="nothing can be made"):
        store.find("y", {**about, "kind": "none"})
