"""The scripts of examples/ do what they say. Run in full where HYBRIDNET_TEST_NIGHTLY is set."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
from places import ROOT

EXAMPLES = ROOT / "examples"
#: Script -> options that make it small, what is looked for in each line, and what its last value
#: must be below (or, where negative, above the negative of).
RUNS = {
    "gpt": ("--seconds 20 --layers 2 --units 64 --length 64 --out OUT", r"([\d.]+) bits", 4.5),
    "gpt_parallel": ("--way both --steps 60", r"loss ([\d.]+)", 3.5),
    "bert_classification": ("--epochs 4", r"accuracy ([\d.]+)", -0.45),
    "image_classification": ("--images 400 --epochs 2", r"accuracy ([\d.]+)", None),
    "word_language_model": ("--sentences 400 --hidden 32 --epochs 3", r"perplexity ([\d.]+)", 6),
    "dcgan": ("--images 200 --epochs 1 --width 4", r"generator ([\d.]+)", None),
    "recommender": ("--count 6000 --users 60 --films 40", r"RMSE ([\d.]+)", 0.8),
    "sparse_linear": ("--rows 600", r"accuracy ([\d.]+)", -0.75),
    "bucketing": ("--sentences 600 --epochs 8", r"perplexity ([\d.]+)", 2),
    "tf1_towers": ("--steps=100", r"accuracy ([\d.]+)", -0.7),
    "tf1_word2vec": ("--steps=1000", r"of one topic: ([\d.]+)", -0.9),
    "tf1_style_transfer": (
        "--size=48 --width=0.1 --steps=30 --out=OUT",
        r"style ([\d.]+) of what it was",
        0.3,
    ),
    "tf1_power_difference": (
        "--rows=32 --columns=32 --runs=3",
        r"largest error ([\d.]+)",
        1e-5,
    ),
    "distributed_training": ("--kvstore local --steps 40", r"accuracy ([\d.]+)", -0.6),
}
nightly = pytest.mark.skipif(
    not os.environ.get("HYBRIDNET_TEST_NIGHTLY"), reason="nightly: set HYBRIDNET_TEST_NIGHTLY"
)


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_run():
    elsewhere = {"vgg19", "tf1_mnist_replicas"}  # its own test; tests/cluster/test_replicas.py
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*RUNS, *elsewhere}


@nightly
@pytest.mark.parametrize("name", RUNS)
def test_an_example_trains(name, tmp_path):
    options, pattern, bound = RUNS[name]
    options = options.replace("OUT", str(tmp_path))
    out = run([sys.executable, str(EXAMPLES / f"{name}.py"), *options.split()])
    *_, last = map(float, re.findall(pattern, out))
    if bound is not None:
        assert last < bound if bound > 0 else last > -bound, out


@nightly
def test_two_workers_train_together():
    script = str(EXAMPLES / "distributed_training.py")
    command = [sys.executable, "-m", "hybridnet", "launch", "-n", "2", "-s", "1"]
    out = run([*command, sys.executable, script, "--steps", "40"])
    assert {line.split(",")[0] for line in out.splitlines()} >= {"worker 0", "worker 1"}
    (right,) = map(float, re.findall(r"accuracy ([\d.]+)", out))
    assert right > 0.6


@pytest.mark.parametrize("name", RUNS)
def test_an_example_says_what_it_does(name):
    text = (EXAMPLES / f"{name}.py").read_text()
    assert f"examples/{name}.py" in text.split('"""')[1]
