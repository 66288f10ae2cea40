"""Batches on their way to a GPU: nobody waits for them, and each goes there once."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import gluon, nd
from hybridnet.runtime.platform import transfers
from hybridnet.runtime.record import recorder, waiting
from hybridnet.runtime.tiers.prices import prices

ROWS = prices.stays // 4096 + 1  # of 1024 numbers of float32


@pytest.fixture
def nobody_waits(monkeypatch):
    """Waiting, and fetching, is an error."""

    def refuse(*_):
        raise AssertionError("somebody waits")

    monkeypatch.setattr(waiting, "_finished", refuse)
    monkeypatch.setattr(transfers, "_read", refuse)
    monkeypatch.setattr(recorder, "wait", refuse)


@pytest.mark.parametrize("rows", [3, ROWS])
def test_a_copy_to_the_card_and_back_waits_for_nothing(card, nobody_waits, rows):
    x = nd.ones((rows, 1024), ctx=hn.cpu(0)) * 2
    there = x.as_in_context(hn.gpu(0))
    back = (there + 1).as_in_context(hn.cpu(0))
    assert there.context is hn.gpu(0) and back.context is hn.cpu(0)


def test_each_batch_is_put_once_and_none_is_fetched(card):
    data = np.arange(4 * ROWS * 1024, dtype=np.float32).reshape(4 * ROWS, 1024)
    loader = gluon.data.DataLoader(nd.array(data), batch_size=ROWS, pin_memory=True)
    card.count()
    sums, sent = [], None
    for batch in loader:
        now = batch.as_in_context(hn.gpu(0))
        if sent is not None:
            sums.append(sent.sum())
        sent = now
    sums.append(sent.sum())
    nd.waitall()
    assert card.moved.put_bytes // (4096 * ROWS) == 4 and card.moved.fetches == 0
    found = [float(one.asscalar()) for one in sums]
    np.testing.assert_allclose(found, data.reshape(4, -1).sum(axis=1, dtype=np.float64), rtol=1e-5)
