"""`runtime.deterministic`: a loop gives the same bits in every process."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import hashlib, sys
import numpy as np
import hybridnet as hn
from hybridnet import autograd, gluon, nd

hn.runtime.deterministic()
hn.random.seed(1)
net = gluon.nn.Dense(8, activation="tanh")
net.initialize(hn.init.Xavier())
trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
data = np.random.RandomState(0).rand(40, 16, 12).astype("float32")
compiled = []
for step in range(40):
    with autograd.record():
        loss = (nd.softmax(net(nd.array(data[step]))) ** 2).sum()
    loss.backward()
    trainer.step(16)
    loss.asscalar()
    compiled.append(hn.runtime.programs.cache.cache.statistics().compilations)
assert compiled[3] == compiled[-1], compiled  # nothing takes over later
weights = b"".join(one.data().asnumpy().tobytes() for one in net.collect_params().values())
print(hashlib.md5(weights).hexdigest())
"""


def run(**environ):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_a_loop_gives_the_same_bits_in_every_process(tmp_path):
    """Compiled anew, and read from disk; default runs differ by when a program takes over."""
    cold, warm = (run(HYBRIDNET_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert cold == warm


@pytest.mark.slow
def test_what_numpy_alone_runs_stays_with_it():
    assert run(HYBRIDNET_HOST="only") == run(HYBRIDNET_HOST="only", HYBRIDNET_DETERMINISTIC="1")
