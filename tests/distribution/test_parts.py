"""Parts of keys, and the order in which pushes leave."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybridnet.kvstore.protocol.parts import PushQueue, parts_of
from hybridnet.kvstore.protocol.words import KeySpec, RunPlan


def plan(shards=3, **others):
    return RunPlan(run=1, workers=2, shards=shards, **others)


@given(
    size=st.integers(0, 3000),
    rows=st.integers(0, 40),
    shards=st.integers(1, 5),
    big=st.integers(1, 3000),
    part_bytes=st.integers(1, 4000),
    part_items=st.sampled_from([0, 7, 500]),
)
def test_parts_cover_a_key_in_order(size, rows, shards, big, part_bytes, part_items):
    rows = min(rows, size)
    made = plan(shards, big=big, part_bytes=part_bytes, part_items=part_items)
    parts = parts_of(3, "weight", KeySpec(size, rows), made)
    assert [part.index for part in parts] == list(range(len(parts)))
    assert parts[0].first == 0
    assert parts[-1].last == (rows or size)
    assert all(a.last == b.first for a, b in pairwise(parts))
    assert all(part.last > part.first for part in parts) or not size
    assert all(0 <= part.shard < shards for part in parts)
    if not rows:
        limit = part_items or max(1, part_bytes // 4)
        assert all(part.last - part.first <= limit for part in parts)


@pytest.mark.parametrize(("key", "shard"), [(0, 0), (1, 9973 % 3), (7, 7 * 9973 % 3)])
def test_a_small_key_lies_where_mxnet_puts_it(key, shard):
    parts = parts_of(0, key, KeySpec(999_999), plan(part_bytes=1 << 30))
    assert [part.shard for part in parts] == [shard]


def test_a_big_key_is_spread_as_mxnet_divides_it():
    """MXNet's server i has the elements from round(size / 3 * i) on."""
    parts = parts_of(0, 0, KeySpec(1_000_000), plan(part_bytes=1 << 30))
    assert [(part.first, part.last) for part in parts] == [
        (0, 333_333),
        (333_333, 666_667),
        (666_667, 1_000_000),
    ]


def test_slices_take_turns_on_the_shards():
    parts = parts_of(0, 1, KeySpec(100), plan(part_items=25))
    assert [part.shard for part in parts] == [(9973 + turn) % 3 for turn in range(4)]


def test_the_urgent_push_leaves_first_and_few_are_on_their_way():
    queue = PushQueue(window=1)
    for ticket, priority in [(1, -3), (2, -2), (3, 0), (4, 0)]:
        queue.add(ticket, priority)
    assert queue.take() == [3]
    assert queue.take() == []
    queue.arrived(3)
    assert queue.take() == [4]
    queue.add(4, 0)  # lost with its server
    assert queue.take() == [4]
    queue.arrived(4)
    assert queue.take() == [2]


def test_without_a_window_all_leave_at_once_urgent_first():
    queue = PushQueue(window=0)
    queue.add(1, 0)
    queue.add(2, 5)
    queue.arrived(1)  # it failed before it was sent
    queue.add(3, 0)
    assert queue.take() == [2, 3]
