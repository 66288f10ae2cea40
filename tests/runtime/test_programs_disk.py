"""Programs on disk: found again, shared by processes, and used only where they can be trusted."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from deciding import never_whole
from eager_maker import make_program
from eager_programs import whole
from eager_runs import run_ours
from helpers import run_script, settle, thorough

from hybridnet import autograd, cpu, gpu
from hybridnet.autograd._function_call import FunctionCall, SavedCall
from hybridnet.base.context import Context
from hybridnet.base.tensor_type import tensor_type
from hybridnet.cli.cache import run_cache
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.native import onednn
from hybridnet.ndarray._advanced import Gather, Scatter, Window, WindowAssign
from hybridnet.ops.core import alternatives
from hybridnet.ops.core.alternatives import alternative
from hybridnet.ops.core.backward import vjp_call
from hybridnet.ops.core.call import Call
from hybridnet.ops.core.registry import REGISTRY, get, operator
from hybridnet.runtime.contexts import device_of
from hybridnet.runtime.graphs.graph_call import GraphCall
from hybridnet.runtime.programs import cache as programs
from hybridnet.runtime.programs import compiling, disk, program_key
from hybridnet.runtime.programs.cache import ProgramCache
from hybridnet.runtime.programs.disk import ProgramFolder
from hybridnet.runtime.programs.making import Decide
from hybridnet.runtime.programs.program_key import key_of
from hybridnet.runtime.programs.program_store import ProgramStore
from hybridnet.runtime.segments.code import Code
from hybridnet.runtime.tiers.choice import Decision, Load, Purchase, Whose, decide
from hybridnet.runtime.tiers.ledger import Account
from hybridnet.runtime.tiers.prices import Prices

pytestmark = [pytest.mark.compiled, pytest.mark.optimized]

LIMIT = 1 << 30


def call(name: str, **attrs: Any) -> Call:
    return get(name).bind(attrs)[0]


def make_code(
    ctx: Context = cpu(0),  # noqa: B008
    dtype: str = "float32",
    size: int = 3,
    donated: tuple[int, ...] = (),
    outputs: tuple[int, ...] = (0, 2),
    first: Call | None = None,
) -> Code:
    """%0 = a + b;  %1 = %0 * number;  %2 = %1 - a."""
    one = tensor_type((size,), np.dtype(dtype))
    instructions = (
        (first or call("broadcast_add"), (~0, ~1)),
        (call("_mul_scalar"), (0,)),
        (call("broadcast_sub"), (1, ~0)),
    )
    return Code(ctx, instructions, (one, one), outputs, donated)


def make_inputs(code: Code) -> list[Any]:
    device = jax.local_devices(backend="cpu")[code.ctx.device_id]
    with jax.enable_x64(True):
        return [
            jax.device_put((np.arange(one.size) * (k + 1.5)).astype(one.dtype), device)
            for k, one in enumerate(code.input_types)
        ]


def wanted(code: Code) -> list[Any]:
    a, b = (np.asarray(one) for one in make_inputs(code))
    results = [a + b, (a + b) * a.dtype.type(3), (a + b) * a.dtype.type(3) - a]
    return [results[i] for i in code.outputs]


@pytest.fixture
def folder(tmp_path: Path) -> ProgramFolder:
    return ProgramFolder(tmp_path / "programs", LIMIT)


@pytest.fixture
def fresh_keys(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Keys are made anew from what a test has changed, and again after it."""
    caches = (program_key._environment, program_key.source_digest, program_key._host)

    def forget() -> None:
        for one in caches:
            one.cache_clear()

    forget()
    yield forget
    monkeypatch.undo()
    forget()


def fill(folder: ProgramFolder, code: Code, how: Decide = decide) -> list[Any]:
    """Has a cache compile a whole, or its parts, and write that; returns its outputs."""
    cache = ProgramCache(store=ProgramStore(folder))
    cache.decide = how
    outputs = list(cache.run(code, make_inputs(code), [3.0]))
    settle()
    assert cache.statistics().compilations > 0
    return outputs


def run_next(folder: ProgramFolder, code: Code) -> tuple[list[Any], programs.CacheStatistics]:
    """Runs a structure as the next process would."""
    cache = ProgramCache(store=ProgramStore(ProgramFolder(folder.path, folder.limit)))
    outputs = list(cache.run(code, make_inputs(code), [3.0]))
    settle()
    return outputs, cache.statistics()


def file_of(folder: ProgramFolder, code: Code) -> Path:
    key = key_of(code)
    assert key is not None
    return folder.path / f"{key}.program"


def assert_same_bits(got: list[Any], expected: list[Any]) -> None:
    for a, b in zip(got, expected, strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


# Found again


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8", "uint32"])
@pytest.mark.parametrize("number", [0, 1])
def test_a_program_is_found_by_the_next_process(folder, dtype, number):
    code = make_code(cpu(number), dtype)
    first = fill(folder, code)
    again, counts = run_next(folder, code)
    assert (counts.compilations, counts.loaded, counts.hot, counts.cold) == (0, 1, 1, 0)
    assert_same_bits(again, first)
    assert_same_bits(again, wanted(code))
    assert {one.device for one in again} == {jax.local_devices(backend="cpu")[number]}


@pytest.mark.parametrize("quick", [True, False])
def test_a_program_from_disk_donates_and_runs_often(folder, monkeypatch, quick):
    """With the names JAX has for it, and with those that it has had for long."""
    if not quick:

        def missing(*_: Any) -> Any:
            raise AttributeError("no such name in this JAX")

        monkeypatch.setattr(compiling, "_quick", missing)
    code = make_code(donated=(0,))
    fill(folder, code)
    cache = ProgramCache(store=ProgramStore(folder))
    for number in (3.0, 3.0, 3.0):
        inputs = make_inputs(code)
        outputs = list(cache.run(code, inputs, [number]))
        assert_same_bits(outputs, wanted(code))
        assert [one.is_deleted() for one in inputs] == [True, False]
    assert cache.statistics().compilations == 0


def test_single_instructions_are_kept_too(folder):
    one = tensor_type((5,), np.dtype("float32"))
    code = Code(cpu(0), ((call("tanh"), (~0,)),), (one,), (0,), ())
    cache = ProgramCache(store=ProgramStore(folder))
    x = jax.numpy.linspace(0, 1, 5)
    first = list(cache.run(code, [x], []))
    settle()
    again = ProgramCache(store=ProgramStore(folder))
    assert_same_bits(list(again.run(code, [x], [])), first)
    assert again.statistics().compilations == 0


def test_parts_on_disk_are_not_missing(folder):
    """A new whole whose parts are on disk runs by these, and nothing is compiled for it."""
    code = make_code()
    fill(folder, code, never_whole)
    outputs, counts = run_next(folder, code)
    assert (counts.compilations, counts.loaded, counts.cold) == (0, 3, 1)
    assert_same_bits(outputs, wanted(code))


@pytest.mark.slow
def test_a_process_finds_what_another_wrote(tmp_path):
    script = """
        import numpy as np
        from hybridnet import autograd, nd
        from hybridnet.runtime.programs.cache import cache

        x, w = nd.array(np.linspace(-1, 1, 12).reshape(4, 3)), nd.ones((2, 3))
        w.attach_grad()
        for _ in range(2):
            with autograd.record():
                loss = nd.FullyConnected(x, w, num_hidden=2, no_bias=True).tanh().sum()
            loss.backward()
            w -= 0.1 * w.grad
            print(w.asnumpy().tobytes().hex())
        print(cache.statistics().compilations, cache.statistics().loaded > 0)
        """
    environ = {"HYBRIDNET_CACHE_DIR": str(tmp_path)}
    first = run_script(script, **environ, PYTHONHASHSEED="1").split()
    again = run_script(script, **environ, PYTHONHASHSEED="2").split()
    assert int(first[2]) > 0
    assert first[:2] == again[:2]
    assert again[2:] == ["0", "True"]


def check_random_program(folder: Path, seed: int) -> int:
    """Runs a random program compiled, then from disk; returns how many programs were read."""
    program = make_program(seed, 20)
    results = []
    for _ in range(2):
        with whole(folder) as cache:
            results.append(run_ours(program))
            settle()
    assert_same_bits(results[1].arrays, results[0].arrays)
    assert results[1].errors == results[0].errors
    return cache.statistics().loaded


@pytest.mark.slow
def test_random_programs_give_the_same_bits_from_disk(tmp_path):
    assert sum(check_random_program(tmp_path, 310 + k) for k in range(7)) > 7


@pytest.mark.slow
def test_many_random_programs_from_disk(tmp_path):
    for seed in range(400, 400 + thorough(500, 3)):
        check_random_program(tmp_path, seed)


# Names


def test_different_programs_have_different_names():
    codes = [
        make_code(),
        make_code(dtype="float64"),
        make_code(size=4),
        make_code(donated=(0,)),
        make_code(outputs=(2,)),
        make_code(outputs=(2, 0)),
        make_code(first=call("broadcast_mul")),
        make_code(first=get("dot").bind({"transpose_a": True})[0]),
        make_code(first=get("dot").bind({"transpose_b": True})[0]),
        make_code(first=vjp_call(call("tanh"), (0,), (0,))),
        make_code(first=vjp_call(call("sin"), (0,), (0,))),
    ]
    names = [key_of(one) for one in codes]
    assert None not in names
    assert len(set(names)) == len(codes)
    swapped = make_code()._replace(
        instructions=((call("broadcast_add"), (~1, ~0)), *make_code().instructions[1:])
    )
    assert key_of(swapped) not in names
    assert key_of(make_code()) == names[0]


def test_devices_of_a_kind_share_programs(folder):
    """Also before it is written: what several need is often asked for at the same time."""
    codes = [make_code(cpu(i)) for i in (5, 0, 7)]
    assert len(set(map(key_of, codes))) == 1
    cache = ProgramCache(store=ProgramStore(folder))
    found = [list(cache.run(code, make_inputs(code), [3.0])) for code in codes]
    assert cache.statistics().compilations == 1
    settle()
    for code, outputs in zip(codes, found, strict=True):
        again, statistics = run_next(folder, code)
        assert (statistics.loaded, statistics.compilations) == (1, 0)
        for one, other, number in zip(outputs, again, wanted(code), strict=True):
            assert one.devices() == other.devices() == {device_of(code.ctx)}
            np.testing.assert_array_equal(one, number)
            np.testing.assert_array_equal(other, number)


def test_whether_a_structure_has_programs_is_known_without_their_environment(folder):
    store, code = ProgramStore(folder), make_code()
    assert not store.may_have(code)
    folder.write(key_of(code), b"made by some JAX")
    assert store.may_have(code)
    assert not store.may_have(make_code(size=4))


def test_indices_are_named_by_their_structure():
    steps, lengths = (1, 2), (3, 1)
    calls = [
        Window.of(steps, lengths, (3,)),
        Window.of(steps, lengths, (3, 1)),
        Window.of((1, 1), lengths, (3,)),
        WindowAssign.of(steps, lengths, (3,)),
        Gather.of(("array",)),
        Gather.of(("array", None)),
        Gather.of((None, "array")),
        Gather.of(((None, None, None), "array")),
        Gather.of(((None, 3, None), "array")),
        Gather.of((0, "array")),
        Scatter.of(("array",)),
    ]
    names = [one.fingerprint for one in calls]
    assert None not in names
    assert len(set(names)) == len(calls)
    assert Window((1, 2), (3, 1), (3,)).fingerprint == names[0]


@pytest.mark.slow
def test_indexing_is_found_by_the_next_process(tmp_path):
    script = """
        import numpy as np
        from hybridnet import engine, nd
        from hybridnet.runtime.programs.cache import cache

        x = nd.array(np.arange(20.0).reshape(4, 5))
        for _ in range(3):
            x[:, 1:3] = x[:, 2:4] + 1
            x[[0, 2], 1] *= 2
            x[1] = x[nd.array([3, 0])].sum(axis=0)
            print(x[::2, -1].asnumpy().tobytes().hex(), x.asnumpy().tobytes().hex())
            engine.wait_for_all()
        print(cache.statistics().compilations, cache.statistics().loaded > 0)
        """
    environ = {"HYBRIDNET_CACHE_DIR": str(tmp_path)}
    first = run_script(script, **environ, PYTHONHASHSEED="1").split()
    again = run_script(script, **environ, PYTHONHASHSEED="2").split()
    assert int(first[-2]) > 0
    assert first[:-2] == again[:-2]
    assert again[-2:] == ["0", "True"]


@pytest.mark.slow
def test_calls_of_lapack_are_run_by_the_next_process(tmp_path):
    """It has lowered none, and so JAX has not looked LAPACK's functions up there."""
    script = """
        import numpy as np
        from hybridnet import nd
        from hybridnet.runtime.programs.cache import cache

        print(nd.linalg.potrf(nd.array(4 * np.eye(2))).asnumpy().tolist())
        print(cache.statistics().compilations)
        """
    environ = {"HYBRIDNET_CACHE_DIR": str(tmp_path), "HYBRIDNET_HOST": "off"}
    factor = "[[2.0, 0.0], [0.0, 2.0]]"
    assert run_script(script, **environ).splitlines() == [factor, "1"]
    assert run_script(script, **environ).splitlines() == [factor, "0"]


def test_users_functions_are_named_by_what_a_program_does_with_them():
    class Double(autograd.Function):
        def forward(self, x):
            return 2 * x

        def backward(self, dy):
            return 2 * dy

    class Triple(Double):
        def forward(self, x):
            return 3 * x

    made = [
        FunctionCall(one, *counts, cpu(0)).fingerprint
        for one in (Double(), Triple())
        for counts in ((1, 1), (1, 2), (2, 1))
    ]
    assert None not in made
    assert made[:3] == made[3:]
    assert len(set(made)) == 3
    assert SavedCall("f").fingerprint == SavedCall("g").fingerprint not in (None, *made)


def test_dropout_in_training_is_another_program():
    calls = [get("Dropout").bind({"p": 0.5}, train)[0] for train in (True, False)]
    assert calls[0].fingerprint != calls[1].fingerprint


def graph_of(inner: Call, constant: float) -> Graph:
    x = variable("x")
    node = Node(inner, (Edge(x, 0),), "n")
    scaled = Node(call("_mul_scalar"), (Edge(node, 0),), "s", (constant,))
    return Graph((x,), (Edge(scaled, 0),))


def test_graphs_are_named_by_their_calls_and_constants():
    types = (tensor_type((3,), np.dtype("float32")),)

    def name(inner: str, constant: float, title: str = "f") -> bytes | None:
        return GraphCall(graph_of(call(inner), constant), types, title).fingerprint

    assert name("tanh", 2.0) == name("tanh", 2.0, "g")
    assert len({name("tanh", 2.0), name("tanh", 3.0), name("sin", 2.0)}) == 3


def test_what_a_user_wrote_is_not_kept(folder):
    """Its code may be another one in the next process, under the same name."""

    @operator("_test_of_disk")
    def _ours(data: Any) -> Any:
        """Adds one."""
        return data + 1

    try:
        own = get("_test_of_disk").bind({})[0]
        types = (tensor_type((3,), np.dtype("float32")),)
        for one in (own, vjp_call(own, (0,), (0,)), GraphCall(graph_of(own, 1.0), types, "f")):
            assert one.fingerprint is None
        code = Code(cpu(0), ((own, (~0,)), (own, (0,))), types, (1,), ())
        assert key_of(code) is None
        (made,) = ProgramCache(store=ProgramStore(folder)).run(code, [jax.numpy.zeros(3)], [])
        settle()
        np.testing.assert_array_equal(made, np.full(3, 2))
        assert folder.info().entries == 0
    finally:
        del REGISTRY["_test_of_disk"]


def test_what_a_user_has_lowered_is_not_kept(monkeypatch):
    """Else a program with the user's lowering would run where nobody has registered it."""
    monkeypatch.setattr(alternatives, "_table", {})
    types = (tensor_type((3,), np.dtype("float32")),)
    tanh, sin = (get(name).bind({})[0] for name in ("tanh", "sin"))

    def is_named(one: Any) -> bool:
        operands = (~0,) if one in (tanh, sin) else (~0, ~0)
        return key_of(Code(cpu(0), ((one, operands),), types, (0,), ())) is not None

    calls = [tanh, sin, vjp_call(tanh, (0,), (0,))]
    assert [*map(is_named, calls)] == [True, True, True]
    try:
        alternative("tanh", "users", applies=lambda site: True, tolerance=1e-5)(lambda data: data)
        assert [*map(is_named, calls)] == [False, True, False]
    finally:
        alternatives.extended.discard("tanh")


def change_version(monkeypatch):
    monkeypatch.setattr(program_key, "_versions", lambda: ("0.0.1", "0.0.1"))


def change_processor(monkeypatch):
    monkeypatch.setattr(program_key, "_host", lambda: ("x86_64", "flags: none", 1))


def change_source(monkeypatch):
    monkeypatch.setattr(program_key, "source_digest", lambda: b"edited")


def change_flags(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--xla_cpu_enable_fast_math=true")


@pytest.mark.parametrize("change", [change_version, change_processor, change_source, change_flags])
def test_another_environment_is_another_name(
    folder, monkeypatch, fresh_keys, change: Callable[[Any], None]
):
    code = make_code()
    fill(folder, code)
    before = key_of(code)
    change(monkeypatch)
    program_key._environment.cache_clear()
    assert key_of(code) != before
    _, counts = run_next(folder, code)
    assert counts.compilations > 0
    assert counts.loaded == 0


def test_a_setting_of_jax_is_part_of_the_name():
    before = key_of(make_code())
    with jax.default_matmul_precision("highest"):
        assert key_of(make_code()) != before
    assert key_of(make_code()) == before


def test_without_onednn_is_another_name(monkeypatch):
    """A program made until oneDNN's calls are built is not taken for one that calls them."""
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "1")
    if onednn.name() is None:
        pytest.skip("oneDNN is not installed")
    before = key_of(make_code())
    with onednn.left_out():
        plain = key_of(make_code())
        assert plain != before
    assert key_of(make_code()) == before
    monkeypatch.setenv("HYBRIDNET_ONEDNN", "0")
    assert key_of(make_code()) == plain


def test_an_edited_lowering_changes_the_source(tmp_path, monkeypatch, fresh_keys):
    package = Path(program_key.__file__).parents[2]
    before = program_key.source_digest()
    copy = tmp_path / "hybridnet"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("data", "__pycache__"))
    monkeypatch.setattr(program_key, "__file__", str(copy / "runtime/programs/program_key.py"))
    fresh_keys()
    assert program_key.source_digest() == before
    edited = copy / "ops" / "nn" / "softmax.py"
    edited.write_text(edited.read_text() + "\n# changed\n")
    fresh_keys()
    assert program_key.source_digest() != before


# Damage


def flip(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut in the header": lambda data: data[:30],
    "header alone": lambda data: data[: disk._HEADER],
    "cut": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "longer": lambda data: data + b"x",
    "magic": lambda data: flip(data, 3),
    "checksum": lambda data: flip(data, 25),
    "body": lambda data: flip(data, len(data) - 100),
    "text": lambda data: b"no program at all\n" * 50,
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_entry_is_ignored_and_written_anew(folder, kind):
    code = make_code()
    first = fill(folder, code)
    file = file_of(folder, code)
    file.write_bytes(DAMAGE[kind](file.read_bytes()))
    again, counts = run_next(folder, code)
    assert counts.loaded == 0
    assert counts.compilations > 0
    assert_same_bits(again, first)
    _, counts = run_next(folder, code)
    assert (counts.compilations, counts.loaded) == (0, 1)


def test_an_entry_under_the_name_of_another_is_not_taken(folder):
    code, other = make_code(), make_code(first=call("broadcast_mul"))
    fill(folder, code)
    fill(folder, other)
    shutil.copyfile(file_of(folder, other), file_of(folder, code))
    again, counts = run_next(folder, code)
    assert counts.loaded == 0
    assert_same_bits(again, wanted(code))


def test_bytes_that_xla_does_not_take_are_written_anew(folder):
    code = make_code()
    key = key_of(code)
    assert key is not None
    assert folder.write(key, b"not an executable")
    again, counts = run_next(folder, code)
    assert counts.loaded == 0
    assert_same_bits(again, wanted(code))
    assert run_next(folder, code)[1].loaded == 1


# Many processes

WORK = """
    import sys
    import numpy as np
    from hybridnet import engine, nd
    from hybridnet.runtime.programs.cache import cache
    {before}
    x = nd.array(np.arange(12).reshape(3, 4))
    y = nd.dot(x.tanh(), nd.ones((4, 2))) * 2 + 1
    print(y.asnumpy().tobytes().hex())
    engine.wait_for_all()
    print(cache.statistics().compilations)
    """


def start(folder: Path, before: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WORK).format(before=before)],
        env={**os.environ, "HYBRIDNET_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> list[str]:
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return out.split()


@pytest.mark.slow
def test_two_processes_write_at_once(tmp_path):
    both = [start(tmp_path), start(tmp_path)]
    (a, _), (b, _) = (finish(one) for one in both)
    assert a == b
    assert {one.suffix for one in (tmp_path / "programs").iterdir()} == {".program"}
    assert finish(start(tmp_path)) == [a, "0"]


@pytest.mark.slow
def test_a_process_killed_while_writing_harms_nobody(tmp_path):
    killed = start(tmp_path, "import os; os.replace = lambda *_, **__: os.kill(os.getpid(), 9)")
    killed.communicate(timeout=120)
    assert killed.returncode == -9
    (partial, *_) = (tmp_path / "programs").iterdir()
    assert partial.suffix == ".partial"
    first, count = finish(start(tmp_path))
    assert int(count) > 0
    assert finish(start(tmp_path)) == [first, "0"]
    assert partial.exists()  # its writer might be alive
    os.utime(partial, (0, 0))
    assert ProgramFolder(tmp_path / "programs", LIMIT).write("more", b"bytes")
    assert not partial.exists()


# Bounds, and doing without


def test_the_least_recently_used_entries_go(tmp_path):
    size = 1000
    folder = ProgramFolder(tmp_path / "programs", 5 * (size + disk._HEADER))
    for number in range(5):
        assert folder.write(f"e{number}", bytes(size))
        os.utime(folder.path / f"e{number}.program", (number + 1, number + 1))
    assert folder.read("e0") == bytes(size)  # used just now
    assert folder.write("e5", bytes(size))
    left = {one.stem for one in folder.path.iterdir()}
    assert {"e0", "e5"} <= left
    assert not {"e1", "e2"} & left
    assert folder.info().size <= folder.limit
    assert not folder.write("large", bytes(6 * size))


def test_a_folder_that_another_process_filled_is_counted(tmp_path):
    limit = 4 * (1000 + disk._HEADER)
    other = ProgramFolder(tmp_path / "programs", LIMIT)
    for number in range(10):
        other.write(f"o{number}", bytes(1000))
    mine = ProgramFolder(tmp_path / "programs", limit)
    mine.write("mine", bytes(1000))
    assert mine.info().size <= limit
    assert mine.read("mine") is not None


def test_a_folder_that_somebody_removed_is_begun_anew(folder, caplog):
    code = make_code()
    fill(folder, code)
    shutil.rmtree(folder.path)
    fill(folder, code)
    assert run_next(folder, code)[1].loaded == 1
    assert not caplog.messages


@pytest.mark.slow
def test_off_means_no_folder(tmp_path):
    for environ in (
        {"HYBRIDNET_CACHE_DIR": "off"},
        {"HYBRIDNET_CACHE_DIR": str(tmp_path / "made"), "HYBRIDNET_CACHE_SIZE": "0"},
    ):
        run_script(
            "from hybridnet import nd; print((nd.ones((3,)) * 2).asnumpy())",
            **environ,
            HOME=str(tmp_path),
        )
        assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_made_is_done_without(tmp_path, caplog):
    blocked = tmp_path / "file"
    blocked.write_text("")
    folder = ProgramFolder(blocked / "programs", LIMIT)
    with caplog.at_level(logging.WARNING, "hybridnet.programs"):
        for size in (3, 4, 5):
            code = make_code(size=size)
            outputs, counts = run_next(folder, code)
            assert_same_bits(outputs, wanted(code))
            assert counts.compilations > 0
        cache = ProgramCache(store=ProgramStore(folder))
        caplog.clear()
        for size in (6, 7):
            cache.run(make_code(size=size), make_inputs(make_code(size=size)), [3.0])
            settle()
    (said,) = caplog.messages
    assert str(folder.path) in said
    assert "HYBRIDNET_CACHE_DIR" in said


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="has no users")
def test_only_the_user_may_write(folder, caplog):
    code = make_code()
    fill(folder, code)
    assert folder.path.stat().st_mode & 0o777 == 0o700
    file = file_of(folder, code)
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o666)
    assert run_next(folder, code)[1].loaded == 0
    assert run_next(folder, code)[1].loaded == 1
    target = file.rename(file.with_suffix(".moved"))
    file.symlink_to(target)
    assert run_next(folder, code)[1].loaded == 0
    folder.path.chmod(0o777)
    with caplog.at_level(logging.WARNING, "hybridnet.programs"):
        outputs, counts = run_next(folder, code)
    assert counts.loaded == 0
    assert_same_bits(outputs, wanted(code))
    assert "another user" in caplog.text


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="has no users")
def test_what_is_not_the_users_alone_is_not_read_and_not_touched(folder, tmp_path, caplog):
    code = make_code()
    fill(folder, code)
    file = file_of(folder, code)
    (name,) = folder.names()
    planted = tmp_path / "planted"
    file.rename(planted)
    with caplog.at_level(logging.WARNING, "hybridnet.programs"):
        file.symlink_to(planted)
        assert folder.read(name) is None
        assert "is a symbolic link" in caplog.messages[-1]
        assert file.is_symlink() and planted.exists()
        file.unlink()
        file.write_bytes(planted.read_bytes())
        file.chmod(0o640)
        assert folder.read(name) is None
        assert "alone to read and write" in caplog.messages[-1]
    assert file.exists()
    file.chmod(0o600)
    assert folder.read(name) is not None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="has no users")
def test_the_folder_is_asked_at_each_use(tmp_path, caplog):
    path = tmp_path / "programs"
    path.mkdir(mode=0o755)
    folder = ProgramFolder(path, LIMIT)
    assert folder.write("a", b"1")
    assert path.stat().st_mode & 0o777 == 0o700
    assert folder.read("a") == b"1"
    # Somebody puts a link in the folder's place after it was found to be good.
    path.rename(tmp_path / "other")
    path.symlink_to(tmp_path / "other")
    with caplog.at_level(logging.WARNING, "hybridnet.programs"):
        assert folder.read("a") is None
        assert not folder.write("b", b"2")
        assert not folder.has("a")
        assert folder.names() == set()
    (said,) = caplog.messages
    assert "is a symbolic link" in said
    assert sorted(os.listdir(tmp_path / "other")) == ["a.program"]


def test_a_context_without_device_is_refused_as_ever(folder):
    code = make_code(gpu(7))
    with pytest.raises(Exception, match=r"gpu\(7\)"):
        ProgramCache(store=ProgramStore(folder)).run(code, [], [3.0])


def test_a_process_goes_on_from_what_those_before_it_have_overpaid(tmp_path, monkeypatch):
    monkeypatch.setenv("HYBRIDNET_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("HYBRIDNET_HOST", raising=False)
    x = jax.numpy.asarray(np.ones(7, "float32"))
    one = tensor_type((7,), np.dtype("float32"))
    calls = [get(name).bind({})[0] for name in ("sin", "cos")]
    code = Code(cpu(0), ((calls[0], (~0,)), (calls[1], (0,))), (one,), (1,), ())

    def process(part: float) -> list[float]:
        """Returns what was known at each decision of a process that overpays part of the price."""
        known: list[float] = []

        def decide(whose: Whose, account: Account, prices: Prices, load: Load) -> Decision:
            if whose is not Whose.WHOLE:
                return Decision(Purchase.NONE)
            known.append(account.before)
            return Decision(Purchase.NONE, False, 0, 2.0 * (account.before + part), 2.0)

        cache = ProgramCache()
        cache.decide = decide
        for _ in range(3):
            cache.run(code, [x], [])
        cache.keep_overpaid()
        return known

    assert process(0.05) == [0.0, 0.0, 0.0]
    assert process(0.25) == [0.0, 0.0, 0.0]  # too little was left
    assert process(0.5) == [0.0, 0.0, 0.25]
    assert process(9.0) == [0.0, 0.0, 0.75]
    assert process(0.0) == [0.0, 0.0, 1.0]
    for path in (tmp_path / "overpaid").iterdir():
        path.write_bytes(b"damaged")
    assert process(0.0) == [0.0, 0.0, 0.0]
    run_cache("clear")
    assert not list((tmp_path / "overpaid").iterdir())
