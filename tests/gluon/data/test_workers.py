"""`DataLoader` with worker processes: what they give, and every way in which they can fail."""

from __future__ import annotations

import gc
import multiprocessing
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from processes import descriptors, gone, watched

import hybridnet as hn
from hybridnet import nd
from hybridnet.base.errors import OutOfMemoryError, ParameterError
from hybridnet.gluon.data import ArrayDataset, DataLoader, Dataset
from hybridnet.gluon.data.batchify import AsList
from hybridnet.gluon.data.vision import transforms
from hybridnet.gluon.data.workers import WorkerError

pytestmark = pytest.mark.skipif(
    not hasattr(os, "pidfd_open"), reason="watches processes by Linux's descriptors of them"
)

IMAGES = np.arange(6000, dtype=np.float32).reshape(10, 20, 30)


def pids(loader: DataLoader) -> list[int]:
    """Returns the processes of a loader that has given a batch of each."""
    workers: Any = loader._workers
    found = [worker.process for worker in workers._workers]
    assert all(found)
    return found


def begun(loader: DataLoader) -> Any:
    """Returns an iterator over a loader, of which each worker has made a batch."""
    batches = iter(loader)
    for _ in range(loader._num_workers):
        next(batches)
    return batches


def each(fn: Any, **options: Any) -> DataLoader:
    """Returns a loader of what a function makes of 0 to 9, in batches of one and two workers."""
    options = {"num_workers": 2, "batch_size": 1} | options
    return DataLoader(ArrayDataset(list(range(10))).transform(fn), **options)


# -- what they give ----------------------------------------------------------------------------


def test_batches_are_those_of_the_main_process() -> None:
    dataset = ArrayDataset(nd.array(IMAGES), list(range(10))).transform_first(
        transforms.Compose([transforms.Cast("float64"), transforms.Cast("float16")])
    )
    for _ in range(2):
        loader = DataLoader(dataset, 4, num_workers=2)
        for here, there in zip(DataLoader(dataset, 4), loader, strict=True):
            for one, other in zip(here, there, strict=True):
                np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
                assert one.dtype == other.dtype and other.context == hn.cpu()


class Pair(NamedTuple):
    left: Any
    right: Any


def test_anything_can_be_a_batch() -> None:
    class Local:
        def __init__(self, number: int) -> None:
            self.number = number

    def make(i: int) -> Any:
        ones = nd.ones((100, 100))
        return [
            Pair(ones * i, np.full((70, 70), i)),
            {"bfloat16": ones.astype("bfloat16"), "none": None, "empty": np.zeros((0, 2))},
            Local(i),
            ones.as_np_ndarray(),
        ]

    for i, (batch,) in enumerate(each(make, batchify_fn=AsList())):
        pair, named, local, numpys = batch
        assert type(pair) is Pair and type(local) is Local and local.number == i
        assert (pair.left.asnumpy() == i).all() and (pair.right == i).all()
        assert type(pair.right) is np.ndarray and pair.right.flags.writeable
        assert named["bfloat16"].dtype == nd.ones(1).astype("bfloat16").dtype
        assert named["empty"].shape == (0, 2) and type(numpys) is hn.np.ndarray


def test_samples_may_be_written_to() -> None:
    """Arrays of the dataset are shared by the workers; a write is seen by nobody else."""
    loader = DataLoader(
        ArrayDataset(IMAGES.copy()).transform(lambda x: np.multiply(x, 2, out=x)), 5, num_workers=2
    )
    for batch, rows in zip(loader, (IMAGES[:5], IMAGES[5:]), strict=True):
        np.testing.assert_array_equal(batch.asnumpy(), 2 * rows)
        batch += 1
        np.testing.assert_array_equal(batch.asnumpy(), 2 * rows + 1)


def test_numpys_mode_goes_along() -> None:
    with hn.util.np_array(), hn.util.np_shape():
        loader = each(lambda x: hn.util.is_np_array() and x)
        assert [type(x) for x in loader] == [hn.np.ndarray] * 10


def draw(_: int) -> tuple[Any, ...]:
    return random.random(), np.random.rand(3), nd.random.uniform(shape=(2,))


def drawn(workers: int) -> np.ndarray[Any, Any]:
    random.seed(1)
    np.random.seed(2)
    hn.random.seed(3)
    loader = each(draw, num_workers=workers)
    rows = [np.concatenate([x.asnumpy().ravel() for x in batch]) for _ in "ab" for batch in loader]
    return np.array(rows)


def test_chance_depends_on_the_seeds_alone() -> None:
    found = drawn(1)
    np.testing.assert_array_equal(drawn(3), found)
    assert len(np.unique(found)) == found.size  # no two batches of both passes draw the same
    random.seed(5)
    other = each(draw)
    assert next(iter(other))[0].asscalar() not in found


def test_batches_that_are_kept_stay_as_they_are() -> None:
    before = descriptors()
    loader = DataLoader(np.repeat(IMAGES, 10, axis=0), 2, num_workers=2)
    kept = [batch for _ in range(2) for batch in loader]
    assert descriptors() < before + 80  # not one for each of the 100 batches
    for i, batch in enumerate(kept):
        np.testing.assert_array_equal(batch.asnumpy(), IMAGES[[i % 50 // 5] * 2])
    del loader, batch, kept
    gc.collect()
    assert descriptors() <= before + 1  # the nursery's, if this was the first loader


# -- errors ------------------------------------------------------------------------------------


def fail(i: int) -> int:
    if i == 3:
        raise KeyError("no such picture")
    return i


def test_an_error_comes_with_its_traceback_and_sample() -> None:
    loader = each(fail)
    batches = iter(loader)
    assert [next(batches).asscalar() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(KeyError, match="no such picture") as caught:
        next(batches)
    line = fail.__code__.co_firstlineno
    (note,) = caught.value.__notes__
    found = re.fullmatch(r"DataLoader: raised by sample 3 of the dataset at (.*):(\d+)", note)
    assert found and Path(found[1]).name == Path(__file__).name
    assert line < int(found[2]) < line + 5
    assert "in fail" in str(caught.value.__cause__)
    assert "in a worker process of DataLoader" in str(caught.value.__cause__)
    with pytest.raises(StopIteration):
        next(batches)
    assert next(iter(loader)).asscalar() == 0


def test_code_that_is_sent_knows_its_file() -> None:
    def here(i: int) -> str:
        return here.__code__.co_filename

    loader = DataLoader([0], 1, batchify_fn=lambda rows: here(rows[0]), num_workers=1)
    assert list(loader) == [__file__]


def test_errors_that_cannot_be_sent() -> None:
    def refuse(i: int) -> int:
        class Odd(Exception):
            def __reduce__(self) -> Any:
                raise TypeError("stays here")

        raise Odd("reasons")

    with pytest.raises(WorkerError, match="raised what cannot be sent") as caught:
        next(iter(each(refuse)))
    assert "Odd: reasons" in str(caught.value.__cause__)


def test_what_cannot_be_sent() -> None:
    lock = threading.Lock()
    with pytest.raises(ParameterError, match="can be sent to other processes, got: .*lock"):
        each(lambda x: lock.locked() or x)


class Fragile:
    def __reduce__(self) -> Any:
        return int, ("not a number",)


def test_what_cannot_be_taken_over() -> None:
    fragile = Fragile()
    loader = each(lambda x: (x, fragile)[0])
    with pytest.raises(ValueError, match="invalid literal for int") as caught:
        next(iter(loader))
    assert "in a worker process of DataLoader" in str(caught.value.__cause__)


def stop_at_five(i: int) -> int:
    if i == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return i


def test_a_killed_worker_is_an_error_and_not_a_hang() -> None:
    loader = each(stop_at_five)
    with pytest.raises(WorkerError, match=r"process \d+ was killed by SIGKILL while it made"):
        for _ in loader:
            pass
    assert next(iter(loader)).asscalar() == 0  # by new workers
    with pytest.raises(WorkerError, match=r"ended with exit code 3 while it made the batch of"):
        next(iter(each(lambda x: os._exit(3))))


def test_a_worker_killed_between_passes_is_replaced() -> None:
    loader = each(int)
    assert len(list(loader)) == 10
    watches = watched(pids(loader))
    os.kill(pids(loader)[0], signal.SIGKILL)
    assert gone(watches[:1])
    assert len(list(loader)) == 10
    assert gone(watches[1:])


def test_a_worker_that_takes_too_long(tmp_path: Path) -> None:
    loader = each(lambda x: threading.Event().wait(), timeout=0.2)
    with pytest.raises(multiprocessing.TimeoutError, match=r"timeout=0.2 seconds, and its proc"):
        next(iter(loader))


def test_too_little_memory_is_an_error() -> None:
    def limit(i: int) -> Any:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        return np.ones(10 if i < 2 else 1 << 20)

    batches = iter(each(limit, batchify_fn=AsList()))
    assert next(batches)[0].shape == (10,)
    next(batches)
    with pytest.raises(OutOfMemoryError, match="needs 8388608 bytes of shared memory.*smaller"):
        next(batches)


# -- ends --------------------------------------------------------------------------------------


def test_nothing_is_left_of_a_loader() -> None:
    begun(each(lambda x: x))  # the nursery is there
    gc.collect()
    before = descriptors()
    loader = each(lambda x: threading.Event().wait() if x > 5 else np.ones(10000))
    batches = begun(loader)
    watches = watched(pids(loader))
    del loader, batches
    gc.collect()
    assert gone(watches) and descriptors() == before


def test_a_loop_that_is_left_gives_up_its_batches() -> None:
    loader = each(int, prefetch=8)
    for batch in loader:
        assert batch.asscalar() == 0
        break
    processes = pids(loader) if all(w.process for w in loader._workers._workers) else None  # type: ignore[union-attr]
    assert [x.asscalar() for x in loader] == list(range(10))
    assert processes is None or pids(loader) == processes


def test_a_forked_child_leaves_the_workers_alone() -> None:
    loader = each(int)
    batches = begun(loader)
    child = os.fork()
    if not child:
        code = 1
        try:
            del batches, loader
            gc.collect()
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert [x.asscalar() for x in batches] == list(range(2, 10))


SCRIPT = """
import sys, threading
import {module}
from hybridnet.gluon.data import DataLoader, Dataset
print("script", flush=True)

class Mine(Dataset):
    def __len__(self):
        return 100

    def __getitem__(self, i):
        if i > 7:
            threading.Event().wait()
        assert {module}.__name__
        return i

loader = DataLoader(Mine(), 1, num_workers=2)
batches = iter(loader)
found = [next(batches).asscalar() for _ in range(8)]
assert found == list(range(8))
nursery = sys.modules["hybridnet.gluon.data.workers.starting"]._process.pid
processes = [nursery, *[worker.process for worker in loader._workers._workers]]
"""
WAITING = """
try:
    print(*processes, flush=True)
    next(batches)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(5)
"""


def run(tmp_path: Path, rest: str, module: str = "sys") -> tuple[subprocess.Popen[str], list[int]]:
    """Starts a script that prints processes; returns it, and descriptors of them."""
    script = tmp_path / "train.py"
    script.write_text(SCRIPT.format(module=module) + rest)
    (tmp_path / "mine.py").write_text("")
    main = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert main.stdout is not None
    assert main.stdout.readline() == "script\n"
    return main, watched(map(int, main.stdout.readline().split()))


@pytest.mark.slow
@pytest.mark.parametrize("module", ["sys", "mine"])  # that is imported in another nursery
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 5), (signal.SIGKILL, -9)])
def test_whatever_ends_the_main_process_ends_all(
    tmp_path: Path, number: int, code: int, module: str
) -> None:
    main, watches = run(tmp_path, WAITING, module)
    if number == signal.SIGINT:
        os.killpg(main.pid, number)  # as a terminal does
    else:
        main.send_signal(number)
    rest, _ = main.communicate()
    assert main.returncode == code and gone(watches)
    assert rest == ("interrupted\n" if number == signal.SIGINT else "")


def test_a_script_without_a_guard_is_run_once(tmp_path: Path) -> None:
    rest = "print(*processes, flush=True); input(); print('end')"
    main, watches = run(tmp_path, rest, "mine")
    assert main.communicate("\n")[0] == "end\n" and main.returncode == 0 and gone(watches)


def test_ctrl_c_in_a_pass_leaves_a_loader_that_works() -> None:
    loader = each(lambda x: threading.Event().wait() if x == 4 and not os.environ.get("GO") else x)
    batches = begun(loader)
    watches = watched(pids(loader))
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        for _ in batches:
            pass
    timer.join()
    assert gone(watches)
    os.environ["GO"] = "1"
    try:
        assert len(list(loader)) == 10
    finally:
        del os.environ["GO"]


def test_datasets_of_modules_that_others_cannot_import() -> None:
    """This file is loaded by pytest under a name that is on no search path."""

    class Derived(Whole):
        pass

    assert [x.asscalar() for x in DataLoader(Derived(), 1, num_workers=1)] == [0, 1]


class Whole(Dataset):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, i: int) -> int:
        return i


MODULE = """
import threading
with open({log!r}, "a") as file:
    file.write("imported\\n")
if {threads}:
    threading.Thread(target=threading.Event().wait, daemon=True).start()

class Squares:
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return i * i
"""


@pytest.mark.parametrize("threads", [False, True])
def test_modules_are_imported_once_for_all_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: bool
) -> None:
    """Unless that starts threads: then each worker does it, since none may be forked any more."""
    log, name = tmp_path / "log", f"squares_{threads}"
    (tmp_path / f"{name}.py").write_text(MODULE.format(log=str(log), threads=threads))
    monkeypatch.syspath_prepend(str(tmp_path))
    squares = __import__(name).Squares()
    for _ in range(2):
        loader = DataLoader(squares, 1, num_workers=2)
        assert [x.asscalar() for x in loader] == [0, 1, 4, 9]
    assert len(log.read_text().split()) == (1 + 1 + 4 if threads else 1 + 1)


def test_a_nursery_that_was_killed_is_replaced() -> None:
    loader = each(int)
    begun(loader)
    starting: Any = sys.modules["hybridnet.gluon.data.workers.starting"]
    watches = watched([starting._process.pid])
    os.kill(starting._process.pid, signal.SIGKILL)
    assert gone(watches)
    assert len(list(loader)) == 10  # its workers go on
    assert len(list(each(int))) == 10
