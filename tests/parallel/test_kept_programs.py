"""Programs on a mesh outlive their process: the next one neither traces nor compiles them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers import run_script

# Prints what a process computed, how many programs it compiled and read, and the collectives.
_TRAIN = """
    import json, sys
    import numpy as np
    import hybridnet as hn
    from hybridnet import autograd, gluon, nd
    from hybridnet.parallel import COLUMNS, ROWS, split
    from hybridnet.runtime.programs.cache import cache

    mesh = hn.Mesh({AXES}, [hn.cpu(i) for i in {DEVICES}])
    hn.random.seed(0)
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(16, activation="tanh", in_units=12), gluon.nn.Dense(4, in_units=16))
    net.initialize(hn.init.Xavier())
    net.cast("float64")
    names = list(mesh.axes)
    if len(names) > 1:
        hn.parallel.tensor(net, mesh, {r"0\\..*": COLUMNS, r"1\\.weight": ROWS}, axis=names[1])
    else:
        hn.parallel.data(net, mesh)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    draw = np.random.default_rng(0)
    losses = []
    for _ in range(3):
        x = nd.array(draw.random((8, 12)), ctx=mesh, dtype="float64", placement=split(0))
        with hn.runtime.explaining() as seen, autograd.record():
            loss = (net(x) ** 2).mean()
            loss.backward()
            losses.append(float(loss.asscalar()).hex())
        trainer.step(1)
    nd.waitall()
    told = [line for line in str(seen).splitlines() if "all-" in line]
    known = cache.statistics()
    print(json.dumps([losses, known.compilations, known.loaded, told]))
"""


def _trained(folder: Path, axes: str = '"data": 2, "model": 2', devices: str = "range(4)") -> Any:
    script = _TRAIN.replace("{AXES}", "{" + axes + "}").replace("{DEVICES}", devices)
    return json.loads(run_script(script, HYBRIDNET_CACHE_DIR=str(folder)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module")
def first(folder: Path) -> Any:
    return _trained(folder)


@pytest.mark.slow
def test_the_next_process_reads_what_one_has_compiled(folder: Path, first: Any):
    losses, compiled, loaded, told = first
    assert compiled > 0 and loaded == 0 and told
    again, compiled, loaded, told_again = _trained(folder)
    assert (compiled, again) == (0, losses) and loaded > 0
    assert told_again == told  # collectives, with the operators and lines that they are for


@pytest.mark.slow
def test_other_axes_and_devices_have_programs_of_their_own(folder: Path, first: Any):
    by_data = _trained(folder, '"data": 4')
    assert by_data[1] > 0 and not any("all-gather" in line for line in by_data[3])
    files = {*(folder / "programs").iterdir()}
    moved = _trained(folder, devices="range(4, 8)")
    assert (moved[0], moved[3]) == (first[0], first[3])
    assert len({*(folder / "programs").iterdir()} - files) >= first[1]


@pytest.mark.slow
def test_what_is_damaged_is_compiled_anew(folder: Path, first: Any):
    files = sorted((folder / "programs").iterdir())
    assert len(files) >= first[1]
    for number, file in enumerate(files):
        data = file.read_bytes()
        file.write_bytes(data[: len(data) // 2] if number % 2 else b"")
    assert _trained(folder)[0] == first[0]
    assert _trained(folder)[1] == 0
