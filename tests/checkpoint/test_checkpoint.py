"""Checkpoints: what is saved is restored, whole or not at all, whoever is killed meanwhile."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from places import ROOT

import hybridnet as hn
from hybridnet import checkpoint, engine, gluon, nd
from hybridnet.base.dtype import CODE_OF, as_dtype
from hybridnet.base.errors import (
    DTypeError,
    FormatError,
    MXNetError,
    OpError,
    ParameterError,
    ShapeError,
)
from hybridnet.checkpoint import files
from hybridnet.checkpoint.files import folder_var
from hybridnet.checkpoint.retention import Retention
from hybridnet.session import Session


def saver_of(**arrays):
    """Returns a saver of new arrays with these values, and the arrays."""
    made = {name: nd.array(one, dtype=one.dtype) for name, one in arrays.items()}
    return checkpoint.Saver(made), made


def values_of(path):
    return {
        name: checkpoint.load_variable(path, name) for name, _ in checkpoint.list_variables(path)
    }


def held_back(folder):
    """Returns a function before whose call nothing is written in a folder."""
    go = threading.Event()
    folder.mkdir(exist_ok=True)
    engine.push(lambda: go.wait(60), writes=[folder_var(folder)])
    return go.set


def run_python(code, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        **options,
    )


# -- values ----------------------------------------------------------------------------------


SHAPES = [(), (1,), (0,), (3, 0, 2), (2, 3)]


def every_type():
    numbers = np.random.default_rng(0)
    return {
        f"{dtype.name}/{shape}": (numbers.random(shape) * 8).astype(dtype)
        for dtype in CODE_OF
        for shape in SHAPES
    }


def test_every_dtype_and_shape_comes_back_and_is_read_by_safetensors_itself(tmp_path):
    arrays = every_type()
    saver, held = saver_of(**arrays)
    path = saver.save(tmp_path / "all", 0)
    for one in held.values():
        one[...] = 1
    saver.restore(path)
    library = safetensors.numpy.load_file(f"{path}.safetensors")
    assert set(library) == set(arrays)
    for name, wanted in arrays.items():
        for found in (held[name].asnumpy(), library[name]):
            assert found.dtype == wanted.dtype and found.shape == wanted.shape
            np.testing.assert_array_equal(found, wanted)


def test_torch_reads_our_files(tmp_path):
    pytest.importorskip("torch")
    library = pytest.importorskip("safetensors.torch")
    saver, _ = saver_of(w=np.float32([[1, 2], [3, 4]]), b=np.ones(3, as_dtype("bfloat16")))
    found = library.load_file(f"{saver.save(tmp_path / 'm')}.safetensors")
    assert found["w"].tolist() == [[1, 2], [3, 4]]
    assert str(found["b"].dtype) == "torch.bfloat16" and found["b"].tolist() == [1, 1, 1]


def test_files_of_the_library_are_restored(tmp_path):
    safetensors.numpy.save_file({"w": np.float32([5, 6])}, tmp_path / "other.safetensors")
    saver, held = saver_of(w=np.zeros(2, np.float32))
    saver.restore(tmp_path / "other.safetensors")
    assert held["w"].asnumpy().tolist() == [5, 6]


def test_blocks_are_saved_by_place_and_restored_without_initializing(tmp_path):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(4, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(2))
    net.initialize()
    x = nd.random.uniform(shape=(3, 5))
    wanted = net(x).asnumpy()
    path = checkpoint.Saver({"net": net, "step": nd.array([7])}).save(tmp_path / "m", 3)
    assert ("net/0.weight", [4, 5]) in checkpoint.list_variables(path)
    assert checkpoint.variable_types(path)["step"].shape == (1,)
    fresh = gluon.nn.HybridSequential()
    fresh.add(gluon.nn.Dense(4, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(2))
    checkpoint.Saver({"net": fresh}).restore(path)
    np.testing.assert_array_equal(fresh(x).asnumpy(), wanted)


def test_a_part_can_be_restored_and_under_another_name(tmp_path):
    saver, _ = saver_of(w=np.float32([1]), b=np.float32([2]), c=np.float32([3]))
    path = saver.save(tmp_path / "m")
    part, other = nd.zeros((1,)), nd.zeros((1,))
    checkpoint.Saver({"b": part, "c": other}).restore(path)
    assert (part.asscalar(), other.asscalar()) == (2, 3)


def test_a_view_is_saved_and_restored_in_its_place(tmp_path):
    whole = nd.arange(6).reshape((3, 2))
    saver = checkpoint.Saver({"row": whole[1]})
    path = saver.save(tmp_path / "m")
    whole[:] = 9
    saver.restore(path)
    assert whole.asnumpy().tolist() == [[9, 9], [2, 3], [9, 9]]


def test_what_does_not_fit_is_named_and_nothing_is_restored(tmp_path):
    saver, _ = saver_of(**{"fc1/weight": np.ones((2, 3), np.float32), "fc1/bias": np.float32([1])})
    path = saver.save(tmp_path / "m", 5)
    bias = nd.zeros((1,))
    for variables, error, words in (
        (
            {"fc1/wieght": nd.ones((2, 3))},
            ParameterError,
            r"no variable 'fc1/wieght'.*'fc1/weight'",
        ),
        ({"fc1/weight": nd.ones((3, 2))}, ShapeError, r"'fc1/weight'.*\[2,3\].*\[3,2\]"),
        (
            {"fc1/weight": nd.ones((2, 3), dtype="int32")},
            DTypeError,
            r"'fc1/weight'.*float32.*int32",
        ),
        ({"fc1/weight": gluon.Parameter("p", shape=(2, 0, 1))}, ShapeError, r"float32\[2,\?,1\]"),
    ):
        with pytest.raises(error, match=rf"m-5\.safetensors: .*{words}"):
            checkpoint.Saver({"fc1/bias": bias, **variables}).restore(path)
    assert bias.asscalar() == 0
    with pytest.raises(FileNotFoundError, match=r"m-6\.safetensors"):
        saver.restore(tmp_path / "m-6")
    with pytest.raises(ParameterError, match="no checkpoint in that folder yet"):
        saver.restore(checkpoint.latest_checkpoint(tmp_path / "empty"))
    with pytest.raises(ParameterError, match="no variable 'fc1'"):
        checkpoint.load_variable(path, "fc1")


def test_what_cannot_be_saved_is_refused_at_once():
    sparse = nd.ones((2, 2)).tostype("row_sparse")
    for variables, words in (
        ({"a": 3}, "'a' must be a dense NDArray, a Parameter or a Trainer, got int"),
        ({"a": sparse}, "'a' must be a dense NDArray"),
        ({"": nd.ones(1)}, "needs a name"),
        ({"a": {"b": nd.ones(1)}, "a/b": nd.ones(1)}, "two variables have the name 'a/b'"),
        (nd.ones(1), "must be a dict"),
    ):
        with pytest.raises(ParameterError, match=words):
            checkpoint.Saver(variables)
    saver, _ = saver_of(w=np.float32([1]))
    for prefix, step, words in (
        ("run/", 1, "needs a name"),
        ("run/m", -1, "from 0"),
        ("run/m", 1.5, "whole number"),
        ("run/m", "x", "whole number"),
    ):
        with pytest.raises(ParameterError, match=words):
            saver.save(prefix, step)
    with pytest.raises(MXNetError, match="not been initialized"):
        checkpoint.Saver({"p": gluon.Parameter("p", shape=(2,))}).save("run/m")


def test_missing_safetensors_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "safetensors", None)
    with pytest.raises(ImportError, match=r"pip install 'hybridnet\[checkpoint\]'"):
        checkpoint.Saver({})


# -- beside training -------------------------------------------------------------------------


def test_a_save_holds_the_values_of_its_moment_though_they_are_overwritten(tmp_path):
    """The file is written after three in-place updates, which may take over memory."""
    go = held_back(tmp_path)
    weight, momentum = nd.ones((64, 64)), nd.zeros((64, 64))
    view = weight[3]
    saver = checkpoint.Saver({"weight": weight, "momentum": momentum, "view": view})
    nd.sgd_mom_update(weight, nd.ones((64, 64)), momentum, lr=0.5, momentum=0.9, out=weight)
    pending = saver.save_async(tmp_path / "m", 1)
    for _ in range(3):
        nd.sgd_mom_update(weight, nd.ones((64, 64)), momentum, lr=0.5, momentum=0.9, out=weight)
        weight.wait_to_read()
    assert not pending.done
    after = weight.asnumpy()
    go()
    found = values_of(pending.wait())
    np.testing.assert_array_equal(found["weight"], np.full((64, 64), 0.5, np.float32))
    np.testing.assert_array_equal(found["momentum"], np.full((64, 64), -0.5, np.float32))
    np.testing.assert_array_equal(found["view"], np.full((64,), 0.5, np.float32))
    np.testing.assert_array_equal(weight.asnumpy(), after)


def test_training_goes_on_in_a_gluon_trainer_while_it_is_saved(tmp_path):
    net = gluon.nn.Dense(1, in_units=2, use_bias=False)
    net.initialize(hn.init.One())
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
    saver = checkpoint.Saver(net)
    pendings = []
    wanted = []
    for step in range(4):
        wanted.append(net.weight.data().asnumpy())
        go = held_back(tmp_path)
        pendings.append(saver.save_async(tmp_path / "m", step))
        for _ in range(2):
            with hn.autograd.record():
                loss = net(nd.ones((3, 2))).sum()
            loss.backward()
            trainer.step(3)
        assert net.weight.data().asnumpy()[0, 0] < wanted[-1][0, 0]
        go()
    for pending, one in zip(pendings, wanted, strict=True):
        np.testing.assert_array_equal(checkpoint.load_variable(pending.wait(), "weight"), one)


@pytest.mark.parametrize("fresh", [True, False])
def test_training_goes_on_from_a_checkpoint_as_if_it_had_not_stopped(tmp_path, fresh):
    """Adam's moments and counts, and the learning rate, are part of it."""

    def made():
        net = gluon.nn.Dense(2, in_units=3)
        net.initialize(hn.init.One())
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
        return net, trainer, checkpoint.Saver({"net": net, "trainer": trainer})

    def train(net, trainer, steps):
        for step in range(steps):
            with hn.autograd.record():
                loss = (net(nd.ones((4, 3)) * (step + 1)) ** 2).sum()
            loss.backward()
            trainer.step(4)
        return net.weight.data().asnumpy()

    net, trainer, saver = made()
    train(net, trainer, 3)
    trainer.set_learning_rate(0.01)
    pending = saver.save_async(tmp_path / "m", 3)
    wanted = train(net, trainer, 3)
    if fresh:
        net, trainer, saver = made()
    saver.restore(pending.path)
    np.testing.assert_array_equal(train(net, trainer, 3), wanted)
    assert trainer.learning_rate == 0.01


def test_a_restore_waits_for_the_save_before_it(tmp_path):
    saver, held = saver_of(w=np.float32([1]))
    go = held_back(tmp_path)
    saver.save_async(tmp_path / "m", 1)
    held["w"][:] = 2
    threading.Timer(0, go).start()
    saver.restore(tmp_path / "m-1")
    assert held["w"].asscalar() == 1


def test_nothing_is_saved_or_restored_inside_a_traced_function(tmp_path):
    saver, _ = saver_of(w=np.float32([1]))

    @hn.function
    def step(x):
        saver.save(tmp_path / "m")
        return x

    with pytest.raises(MXNetError, match="inside a traced function"):
        step(nd.ones(1))


# -- errors ----------------------------------------------------------------------------------


@pytest.fixture
def small_files():
    """While it is in force no file may be longer than 64 KiB, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_last_checkpoint_and_no_rubbish(tmp_path, small_files):
    small, _ = saver_of(w=np.float32([1]))
    path = small.save(tmp_path / "m", 1)
    large = checkpoint.Saver({"w": nd.zeros((1 << 16,))})
    with pytest.raises(OSError, match=r"m-2\.safetensors"):
        large.save(tmp_path / "m", 2)
    pending = large.save_async(tmp_path / "m", 3)
    with pytest.raises(OSError, match=r"m-3\.safetensors"):
        pending.wait()
    large.save_async(tmp_path / "m", 4)
    with pytest.raises(OSError, match=r"m-4\.safetensors"):  # the next save tells
        large.save_async(tmp_path / "m", 5)
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "m-1.safetensors"]
    assert checkpoint.latest_checkpoint(tmp_path) == path
    small.save(tmp_path / "m", 6)  # one failure is not the next one's


def test_a_failed_save_is_found_by_waitall_too(tmp_path, small_files):
    checkpoint.Saver({"w": nd.zeros((1 << 16,))}).save_async(tmp_path / "m", 3)
    with pytest.raises(OpError, match=r"saving a checkpoint.*too large.*m-3\.safetensors'; pushed"):
        nd.waitall()


def test_where_no_file_can_be_is_told(tmp_path):
    saver, _ = saver_of(w=np.float32([1]))
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        saver.save(tmp_path / "file" / "m")
    if os.geteuid():  # root may write anywhere
        (tmp_path / "closed").mkdir(mode=0o500)
        with pytest.raises(PermissionError, match="closed"):
            saver.save(tmp_path / "closed" / "m")


def test_a_variable_that_failed_is_told_by_the_save(tmp_path):
    broken = nd.array([1.0])
    value = broken.read()
    made = nd.NDArray.from_value(type(value)(value.type), hn.cpu())
    made.read().error = OpError("no value")
    with pytest.raises(OpError, match="no value"):
        checkpoint.Saver({"w": made}).save(tmp_path / "m")
    assert checkpoint.latest_checkpoint(tmp_path) is None


EXIT = """
import resource, sys
from hybridnet import checkpoint, nd
saver = checkpoint.Saver({"w": nd.zeros((1 << 16,))})
first = saver.save_async(sys.argv[1] + "/m", 1)
if len(sys.argv) > 2:
    first.wait()
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))
    saver.save_async(sys.argv[1] + "/m", 2)
"""


@pytest.mark.slow
def test_the_end_of_the_program_waits_for_saves_and_tells_of_those_that_failed(tmp_path):
    good, bad = (run_python(EXIT, tmp_path / name, *more) for name, more in (("a", ()), ("b", "x")))
    assert good.communicate(timeout=120)[1] == "" and good.returncode == 0
    assert checkpoint.list_variables(tmp_path / "a" / "m-1") == [("w", [1 << 16])]
    assert "m-2 was not saved" in bad.communicate(timeout=120)[1]
    assert checkpoint.latest_checkpoint(tmp_path / "b") == str(tmp_path / "b" / "m-1")


# -- damage ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Returns the bytes of a sound file, and what it holds."""
    arrays = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "n": np.int64(5), "e": np.zeros(0)}
    saver, _ = saver_of(**arrays)
    path = saver.save(tmp_path_factory.mktemp("sound") / "m")
    return Path(f"{path}.safetensors").read_bytes(), arrays


quick = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@quick
@given(st.data())
def test_damage_is_told_and_nothing_is_restored(tmp_path, sound, data):
    """Whatever happens to a file, it is restored as it was saved, or not at all."""
    content, arrays = sound
    damaged = bytearray(content)
    if data.draw(st.booleans()):
        del damaged[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        place = data.draw(st.integers(0, len(content) - 1))
        damaged[place] ^= data.draw(st.integers(1, 255))
    path = tmp_path / "damaged.safetensors"
    path.write_bytes(damaged)
    saver, held = saver_of(**{name: np.full_like(one, 7) for name, one in arrays.items()})
    try:
        saver.restore(path)
    except (FormatError, ParameterError) as error:
        assert "damaged.safetensors" in str(error)
        arrays = {name: np.full_like(one, 7) for name, one in arrays.items()}
    for name, one in held.items():
        np.testing.assert_array_equal(one.asnumpy(), arrays[name])


@pytest.mark.parametrize(
    "header",
    [
        '{"w":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}',
        '{"w":{"dtype":"F32","shape":[0,4611686018427387904],"data_offsets":[0,0]}}',
        '{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,9999999999]}}',
        '{"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}',
        '{"w":{"dtype":"F8_E5M2","shape":[0],"data_offsets":[0,0]}}',
        '{"__metadata__":{"crc32":"[]"},"w":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}',
        "[" * 100_000,
        "{}{}",
    ],
)
def test_hostile_headers_are_refused(tmp_path, header):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header.encode())
    saver, _ = saver_of(w=np.zeros(2, np.float32))
    with pytest.raises(FormatError, match=r"bad\.safetensors: "):
        saver.restore(path)


def test_a_folder_is_no_checkpoint(tmp_path):
    saver, _ = saver_of(w=np.zeros(2, np.float32))
    (tmp_path / "m.safetensors").mkdir()
    with pytest.raises(OSError, match=r"m\.safetensors"):
        saver.restore(tmp_path / "m")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"version": 2, "latest": "", "preserved": null, "checkpoints": []}',
        '{"version": 1, "latest": "../m", "preserved": null,'
        ' "checkpoints": [{"name": "../m", "time": 1}]}',
        '{"version": 1, "latest": "m", "preserved": null, "checkpoints": [{"name": "m"}]}',
        '{"version": 1, "latest": "n", "preserved": null,'
        ' "checkpoints": [{"name": "m", "time": 1}]}',
        '{"version": 1, "latest": "m", "preserved": null,'
        ' "checkpoints": [{"name": "m", "time": NaN}]}',
        "[" * 100_000,
        'model_checkpoint_path: "model.ckpt-7"\nall_model_checkpoint_paths: "model.ckpt-7"\n',
    ],
)
def test_a_damaged_index_is_told_and_replaced_by_the_next_save(tmp_path, text):
    saver, _ = saver_of(w=np.zeros(2, np.float32))
    (tmp_path / "checkpoint").write_text(text)
    with pytest.raises(FormatError, match="checkpoint: the index of checkpoints"):
        checkpoint.latest_checkpoint(tmp_path)
    path = saver.save(tmp_path / "m", 1)
    assert checkpoint.latest_checkpoint(tmp_path) == path


# -- kills -----------------------------------------------------------------------------------

KILLED_AT_EVERY_LINE = """
import os, signal, sys
import numpy as np
from pathlib import Path
from hybridnet.base.tensor_type import tensor_type
from hybridnet.checkpoint import Saver
from hybridnet.checkpoint.tensor_file import Tensor, write_tensors

os.fsync = lambda handle: None  # only the process dies here, not the machine
folder = Path(sys.argv[1])
TYPE = tensor_type((1000,), np.dtype(np.float32))

def save(saver, step):
    path = folder_now / f"m-{step}.safetensors"
    arrays = [Tensor(name, TYPE, np.full(1000, step, np.float32)) for name in "abc"]
    write_tensors(path, arrays)
    saver._note_saved(path)

def killed_at(line):
    seen = 0
    def trace(frame, event, argument):
        nonlocal seen
        if "hybridnet/checkpoint" not in frame.f_code.co_filename:
            return None
        if event == "line":
            seen += 1
            if seen == line:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace
    return trace

line = 0
died = True
while died:
    line += 1
    folder_now = folder / str(line)
    folder_now.mkdir()
    child = os.fork()
    if not child:
        saver = Saver({}, max_to_keep=1)
        save(saver, 1)
        sys.settrace(killed_at(line))
        save(saver, 2)
        os._exit(0)
    died = os.WIFSIGNALED(os.waitpid(child, 0)[1])
print(line)
"""


@pytest.mark.slow
def test_a_checkpoint_is_there_whichever_line_the_process_is_killed_at(tmp_path):
    """A child is killed with SIGKILL at the first line of saving, another at the second, ..."""
    done = run_python(KILLED_AT_EVERY_LINE, tmp_path)
    output, errors = done.communicate(timeout=200)
    assert not done.returncode, errors
    assert int(output) > 100
    found = []
    for number in range(1, int(output) + 1):
        folder = tmp_path / str(number)
        path = checkpoint.latest_checkpoint(folder)
        step = int(path.rpartition("-")[2])
        found.append(step)
        values = values_of(path)
        assert sorted(values) == ["a", "b", "c"]
        for one in values.values():
            np.testing.assert_array_equal(one, np.full(1000, step, np.float32))
        # A later saver is not hindered by what is left, and cleans up.
        with files.folder_lock(folder):
            files._remove_dead(folder)
        assert not [one for one in os.listdir(folder) if one.endswith(".part")]
    assert found == sorted(found) and set(found) == {1, 2}


KILLED_IN_TRAINING = """
import sys
from hybridnet import checkpoint, nd
w = nd.zeros((20000,))
saver = checkpoint.Saver({"w": w, "b": nd.ones((3,))}, max_to_keep=2)
step = 0
while True:
    step += 1
    w += 1
    pending = saver.save_async(sys.argv[1] + "/m", step)
    w += 0
    if step > 1:
        print(step - 1, flush=True)  # it was waited for by the save after it
"""


@pytest.mark.slow
def test_a_checkpoint_is_there_whenever_training_is_killed(tmp_path):
    """Two programs save as fast as they can, and each is killed after some saves."""
    chance = random.Random(0)
    children = [run_python(KILLED_IN_TRAINING, tmp_path / str(number)) for number in range(2)]
    for number, child in enumerate(children):
        for _ in range(chance.randrange(3, 40)):
            saved = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        child.communicate()
        path = checkpoint.latest_checkpoint(tmp_path / str(number))
        step = int(path.rpartition("-")[2])
        assert step >= saved
        np.testing.assert_array_equal(values_of(path)["w"], np.full(20000, step, np.float32))


def test_the_file_of_a_writer_that_lives_is_not_removed(tmp_path):
    with files.whole_file(tmp_path / "one") as first:
        first.write(b"1")
        with files.whole_file(tmp_path / "two") as second:
            second.write(b"2")
        (tmp_path / ".three.0123456789abcdef.part").write_text("left by a dead one")
        with files.whole_file(tmp_path / "four"):
            pass
    assert sorted(os.listdir(tmp_path)) == ["four", "one", "two"]
    assert (tmp_path / "one").read_bytes() == b"1"


# -- which are kept --------------------------------------------------------------------------


def test_the_last_ones_are_kept(tmp_path):
    variables = {"w": nd.zeros((1,))}
    saver = checkpoint.Saver(variables, max_to_keep=2)
    for step in (1, 2, 2, 3, 1):
        saver.save(tmp_path / "m", step)
    kept = [str(tmp_path / f"m-{step}") for step in (3, 1)]
    assert saver.last_checkpoints == kept
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "m-1.safetensors", "m-3.safetensors"]
    state = checkpoint.get_checkpoint_state(tmp_path)
    assert state.all_model_checkpoint_paths == tuple(kept)
    assert state.model_checkpoint_path == kept[-1]
    again = checkpoint.Saver(variables, max_to_keep=2)
    again.recover_last_checkpoints([*kept, tmp_path / "m-99"])
    again.save(tmp_path / "m", 4)
    assert again.last_checkpoints == [kept[1], str(tmp_path / "m-4")]
    everything = checkpoint.Saver(variables, max_to_keep=None)
    for step in range(10, 18):
        everything.save(tmp_path / "m", step)
    assert len(os.listdir(tmp_path)) == 1 + 2 + 8
    os.remove(tmp_path / "m-17.safetensors")
    assert checkpoint.latest_checkpoint(tmp_path) == str(tmp_path / "m-16")


def test_one_of_some_hours_is_kept_for_good(tmp_path):
    """Half an hour from save to save, two kept, and one of each two hours."""
    now = [0.0]
    saver = checkpoint.Saver(
        {"w": nd.zeros((1,))}, max_to_keep=2, keep_every_n_hours=2, clock=lambda: now[0]
    )
    for step in range(1, 13):
        now[0] = step * 1800.0
        saver.save(tmp_path / "m", step)
    # 5 is the first that is older than 2 h when its turn comes, 9 than 4 h.
    kept = sorted(int(one.stem[2:]) for one in tmp_path.glob("*.safetensors"))
    assert kept == [5, 9, 11, 12]
    state = checkpoint.get_checkpoint_state(tmp_path)
    assert state.last_preserved_timestamp == 9 * 1800.0
    assert state.all_model_checkpoint_timestamps[-1] == 12 * 1800.0


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0, 3)), max_size=30), st.integers(0, 4))
def test_retention_holds_what_it_did_not_remove(saves, most):
    state = Retention.begin(most, None, 0.0)
    there: dict[str, None] = {}
    now = 0.0
    for number, hours in saves:
        now += hours * 3600
        there.pop(str(number), None)
        there[str(number)] = None
        state, removed = state.saved(str(number), now)
        for one in removed:
            del there[one]
        assert [path for path, _ in state.held] == list(there)
        assert not most or len(there) <= most


def test_savers_of_one_folder_do_not_lose_each_others_entries(tmp_path):
    def train(name):
        saver = checkpoint.Saver({"w": nd.zeros((1,))}, max_to_keep=2)
        for step in range(5):
            saver.save(tmp_path / name, step)

    threads = [threading.Thread(target=train, args=(name,)) for name in "abc"]
    code = """
    import sys
    from pathlib import Path
    from hybridnet.checkpoint.index import update_index
    folder = Path(sys.argv[1])
    for step in range(30):
        (folder / f"{sys.argv[2]}-{step}.safetensors").touch()
        update_index(folder, {f"{sys.argv[2]}-{step}": step})
    """
    others = [run_python(code, tmp_path, name) for name in ("x", "y")]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    for one in others:
        assert not one.communicate(timeout=120)[1]
    listed = {
        Path(one).name
        for one in checkpoint.get_checkpoint_state(tmp_path).all_model_checkpoint_paths
    }
    assert listed == {f"{name}-{step}" for name in "abc" for step in (3, 4)} | {
        f"{name}-{step}" for name in "xy" for step in range(30)
    }
    assert {path.stem for path in tmp_path.glob("*.safetensors")} == listed


def test_an_index_may_have_another_name(tmp_path):
    saver = checkpoint.Saver({"w": nd.zeros((1,))}, index="best")
    path = saver.save(tmp_path / "m", 1)
    assert checkpoint.latest_checkpoint(tmp_path) is None
    assert checkpoint.latest_checkpoint(tmp_path, "best") == path
    assert json.loads((tmp_path / "best").read_text())["latest"] == "m-1"


def test_the_code_of_the_page_runs(tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "checkpoints.md").read_text()
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for block in page.split("```python\n")[1:]:
        exec(compile(block.split("```")[0], "docs/checkpoints.md", "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    size = (tmp_path / "run" / "values.safetensors").stat().st_size
    assert printed == [
        "10",
        "[('net/bias', [1]), ('net/weight', [1, 2])]",
        "(1,)",
        str(size),
        "9.0",
    ]


def test_variables_of_a_session_are_saved_and_restored(tmp_path):
    w, n = hn.sym.var("w"), hn.sym.var("n")
    with Session() as session:
        session.set({w: np.float32([1, 2])})
        slots = checkpoint.session_slots(session, [w, n])
        with pytest.raises(MXNetError, match="'n' has no value in the session"):
            checkpoint.Saver(slots).save(tmp_path / "m")
        session.set({n: np.int32(3)})
        path = checkpoint.Saver(slots).save(tmp_path / "m")
    with Session() as session:
        checkpoint.Saver(checkpoint.session_slots(session, [w, n])).restore(path)
        assert session.run(w * 2).tolist() == [2, 4]
        assert session.variables["n"].dtype == np.int32
    with pytest.raises(ParameterError, match="needs variables"):
        checkpoint.session_slots(session, [w * 2])
