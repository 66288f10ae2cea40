"""The examples in docstrings say what they print."""

from __future__ import annotations

import doctest

import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd, passes

NAMES = {"autograd": autograd, "gluon": gluon, "hn": hn, "nd": nd}


@pytest.mark.parametrize(
    "shown",
    [nd.array, nd.full, nd.arange, nd.random.randint, autograd.record, autograd.pause, hn.cpu,
     gluon.nn.HybridSequential, passes.register],
    ids=lambda shown: shown.__qualname__,
)  # fmt: skip
def test_examples_print_what_they_say(shown):
    (test,) = doctest.DocTestFinder(recurse=False).find(shown, globs=dict(NAMES))
    said: list[str] = []
    failed, tried = doctest.DocTestRunner().run(test, out=said.append)
    assert tried and not failed, "".join(said)
