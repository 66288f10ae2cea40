"""The programs in examples/ run, and what they say is so."""

import re
import subprocess
import sys

import numpy as np
import pytest
from places import ROOT


@pytest.mark.slow
def test_vgg_has_the_same_losses_in_four_spellings(monkeypatch):
    done = subprocess.run(
        [sys.executable, ROOT / "examples/vgg19.py", "--width", "0.04", "--steps", "3"],
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    assert not done.stderr
    rows = done.stdout.splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["eager", "gluon", "symbol", "tf1"]
    losses = np.array([[float(x) for x in re.findall(r"\d+\.\d{5}", row)] for row in rows])
    digits = [row.split()[-8:] for row in rows]
    assert losses.shape == (4, 3)
    np.testing.assert_allclose(losses, losses[[0] * 4], rtol=1e-3)
    assert digits == digits[:1] * 4

    # The first of them is a forward pass, which NumPy does, too.
    monkeypatch.syspath_prepend(ROOT / "examples")
    import vgg19

    run = vgg19.prepare(0.04, 3, 32, 0.03, None)
    x, labels = run.batches[0]
    for name, _, pools in run.convolutions:
        padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
        x = np.einsum("nchwij,ocij->nohw", windows, run.weights[f"{name}_weight"])
        x = np.maximum(x + run.weights[f"{name}_bias"][:, None, None], 0)
        if pools:
            x = x.reshape(*x.shape[:2], x.shape[2] // 2, 2, -1, 2).max(axis=(3, 5))
    x = x.reshape(len(x), -1)
    for name, _, has_relu in run.denses:
        x = x @ run.weights[f"{name}_weight"].T + run.weights[f"{name}_bias"]
        x = np.maximum(x, 0) if has_relu else x
    logs = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
    assert losses[0, 0] == pytest.approx(-logs[range(len(x)), labels].mean(), rel=1e-4)
