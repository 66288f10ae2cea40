"""The command `hybridnet`: its runs, its errors in one line, and what it leaves on disk."""

from __future__ import annotations

import gzip
import importlib.util
import os
import re
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import run_script

import hybridnet as hn
from hybridnet.cli import main as commands
from hybridnet.cli import report, train
from hybridnet.cli.main import main

pytestmark = pytest.mark.optimized

_NAMES = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def write_idx(path: Path, array: Any) -> None:
    """Writes bytes as an IDX file: two zeros, type 8, the number of axes, their sizes."""
    array = np.asarray(array, np.uint8)
    header = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
    data = header + array.tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def write_digits(folder: Path, train_count: int = 200, test_count: int = 50) -> Path:
    """Writes a data set that can be learned: class k is a bright bar at row 2k, with noise."""
    folder.mkdir()
    generator = np.random.default_rng(0)
    for names, count in ((_NAMES[:2], train_count), (_NAMES[2:], test_count)):
        labels = np.arange(count) % 10
        images = generator.integers(0, 60, (count, 28, 28))
        for image, label in zip(images, labels, strict=True):
            image[2 * label + 4 : 2 * label + 6] += 150
        write_idx(folder / names[0], images)
        write_idx(folder / names[1], labels)
    return folder


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_digits(tmp_path_factory.mktemp("data") / "digits")


def error_of(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    """Runs the command, which must fail with status 2 and one line; returns the line."""
    assert main([str(one) for one in arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("hybridnet train: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.slow
def test_a_small_run_learns_and_leaves_three_files(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "made" / "here"
    arguments = ["--data", digits, "--epochs", 2, "--lr", 0.1, "--out", out]
    assert main(["train", *map(str, arguments)]) == 0
    printed = capsys.readouterr().out
    assert sorted(os.listdir(out)) == ["lenet-0002.params", "lenet-loss.png", "lenet-symbol.json"]
    assert (out / "lenet-loss.png").read_bytes().startswith(b"\x89PNG")
    assert all(title in printed for title in ("eager loop", "bound symbol", "traced function"))

    accuracies = [float(one) for one in re.findall(r"([\d.]+)%", printed)]
    assert len(accuracies) == 4
    assert accuracies[3] == accuracies[1]  # the bound symbol's weights were saved

    # What was saved, run on the test digits by hand.
    symbol, weights, aux = hn.model.load_checkpoint(str(out / "lenet"), 2)
    assert aux == {}
    images = np.frombuffer((digits / _NAMES[2]).read_bytes()[16:], np.uint8)
    data = hn.nd.array(images.reshape(-1, 1, 28, 28) / np.float32(255))
    labels = hn.nd.zeros((50,))
    executor = symbol.bind(hn.cpu(), {**weights, "data": data, "softmax_label": labels})
    chosen = executor.forward()[0].asnumpy().argmax(axis=1)
    assert 100 * np.mean(chosen == np.arange(50) % 10) == pytest.approx(accuracies[3])


@pytest.mark.slow
def test_the_default_run_is_accurate_and_its_curves_agree(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    accuracies = [float(one) for one in re.findall(r"([\d.]+)%", printed)]
    assert min(accuracies) >= 97, printed
    apart = re.search(r"first 20 steps the losses differ by at most (\S+) ", printed)
    assert apart is not None
    assert float(apart[1]) <= 1e-5, printed


def test_a_missing_folder_or_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no folder" in error_of(capsys, "train", "--data", tmp_path / "none")
    assert "train-images-idx3-ubyte" in error_of(capsys, "train", "--data", tmp_path)


@pytest.mark.parametrize("name", _NAMES)
def test_a_truncated_file_is_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_digits(tmp_path / "digits", 20, 20)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[:-5])
    out = tmp_path / "out"
    assert name in error_of(capsys, "train", "--data", folder, "--out", out)
    assert not out.exists()


def test_a_damaged_compressed_file_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_digits(tmp_path / "digits", 20, 20)
    whole = gzip.compress((folder / _NAMES[0]).read_bytes())
    (folder / _NAMES[0]).unlink()
    for damaged in (whole[:-20], b"not gzip at all", whole[:40] + b"\xff" * 40 + whole[80:]):
        (folder / f"{_NAMES[0]}.gz").write_bytes(damaged)
        assert f"{_NAMES[0]}.gz" in error_of(capsys, "train", "--data", folder)


@pytest.mark.parametrize(
    ("images", "labels", "message"),
    [
        (np.zeros((20, 14, 14)), np.zeros(20), "28 by 28.*got 20 of 14 by 14"),
        (np.zeros((20, 28, 28)), np.full(20, 10), "labels up to 10"),
        (np.zeros((0, 28, 28)), np.zeros(0), "got 0 of"),
        (np.zeros((20, 28, 28)), np.zeros(19), "a label for each of the 20 images"),
        (np.zeros((20, 28, 28, 1)), np.zeros(20), r"uint8 of shape \(n, height, width\)"),
    ],
)
def test_unfit_digits(
    images: Any, labels: Any, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_digits(tmp_path / "digits", 20, 20)
    write_idx(folder / _NAMES[2], images)
    write_idx(folder / _NAMES[3], labels)
    assert re.search(message, error_of(capsys, "train", "--data", folder))


def test_an_unwritable_out(
    digits: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("kept")
    common = ("train", "--data", digits, "--batch-size", 20, "--out")
    assert "file: cannot be written to: it is no folder" in error_of(
        capsys, *common, tmp_path / "file"
    )
    assert "cannot be written to" in error_of(capsys, *common, tmp_path / "file" / "below")
    assert (tmp_path / "file").read_text() == "kept"


def test_a_folder_that_refuses_files(
    digits: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(**_: Any) -> str:
        raise PermissionError(13, "Permission denied")

    # Root, as which tests may run, is refused by no folder.
    monkeypatch.setattr(report.tempfile, "mkdtemp", refuse)
    out = tmp_path / "a" / "b"
    line = error_of(capsys, "train", "--data", digits, "--batch-size", 20, "--out", out)
    assert f"--out {out}: cannot be written to: Permission denied" in line
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--batch-size", "201"), "--batch-size 201 is more than the 200 digits"),
        (("--ctx", "gpu(9)"), r"gpu\(9\): this process has \w+ gpu device\(s\)"),
    ],
)
def test_settings_that_do_not_fit(
    arguments: tuple[str, ...],
    message: str,
    digits: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = tmp_path / "out"
    line = error_of(capsys, "train", "--data", digits, "--out", out, *arguments)
    assert re.search(message, line)
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--ctx", "disk"), "must be like cpu"),
        (("--ctx", "cpu(-1)"), "must be like cpu"),
        (("--epochs", "0"), "must be greater than 0"),
        (("--epochs", "1.5"), "invalid"),
        (("--batch-size", "-3"), "must be greater than 0"),
        (("--lr", "nan"), "must be greater than 0"),
        (("--seed", "-1"), "must be from 0"),
        (("--nonsense",), "unrecognized"),
    ],
)
def test_arguments_are_checked(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["train", *arguments])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("missing", ["rich", "matplotlib"])
def test_a_missing_extra_is_named(
    missing: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        train.importlib.util, "find_spec", lambda name: None if name == missing else find(name)
    )
    assert f"needs {missing}: install hybridnet with its viz extra" in error_of(capsys, "train")


def test_an_error_midway_leaves_old_results_as_they_were(
    digits: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device", "lenet-0001.params")

    monkeypatch.setattr(train, "run_way", lambda *_: None)
    monkeypatch.setattr(report, "print_results", lambda *_: None)
    monkeypatch.setattr(train.model, "save_checkpoint", fail)
    out = tmp_path / "out"
    out.mkdir()
    (out / "lenet-symbol.json").write_text("old")
    arguments = ("train", "--data", digits, "--batch-size", 20, "--out", out)
    assert main([str(one) for one in arguments]) == 2
    assert "No space left" in capsys.readouterr().err
    assert os.listdir(out) == ["lenet-symbol.json"]
    assert (out / "lenet-symbol.json").read_text() == "old"


def test_ctrl_c_ends_with_130_and_leaves_nothing(
    digits: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def press(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        raise AssertionError("went on")

    monkeypatch.setattr(train, "run_way", press)
    out = tmp_path / "a" / "out"
    arguments = ("train", "--data", digits, "--batch-size", 20, "--out", out)
    assert main([str(one) for one in arguments]) == 130
    assert capsys.readouterr().err.endswith("hybridnet train: interrupted\n")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("command", ["info", "lab list", "--help"])
def test_output_that_nobody_reads_is_no_error(command: str) -> None:
    call = [sys.executable, "-m", "hybridnet", *command.split()]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()  # as `head -0`
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode in (0, 141)  # 0 where all was written before


def test_without_an_output_a_command_runs() -> None:
    call = f"{sys.executable} -m hybridnet lab list >&-"
    done = subprocess.run(call, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_process_ends_at_once_after_ctrl_c() -> None:
    printed = run_script(
        """
        import atexit, subprocess, sys
        script = '''
        import atexit
        from hybridnet.cli import main
        atexit.register(print, "torn down")
        main.main = lambda: {status}
        main.program()
        '''
        for status in (0, 2, 130):
            code = "\\n".join(line.strip() for line in script.format(status=status).splitlines())
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            print(done.returncode, done.stdout.strip() or "-")
        """
    )
    assert printed.splitlines() == ["0 torn down", "2 torn down", "130 torn down"]


def test_info_names_versions_and_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    printed = capsys.readouterr().out
    assert f"hybridnet  {hn.__version__}\n" in printed
    assert f"NumPy      {np.__version__}\n" in printed
    assert "device     cpu(0):" in printed
    assert "engine     " in printed
    assert "cache      " in printed


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"hybridnet {hn.__version__}\n"


@pytest.mark.compiled
def test_cache_shows_and_empties_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HYBRIDNET_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("HYBRIDNET_CACHE_SIZE", "1M")
    assert main(["cache", "info"]) == 0
    assert "programs   0\n" in capsys.readouterr().out
    run_script(
        "import hybridnet as hn; x = hn.nd.ones((3,)); hn.tune(lambda: (x * 2).asnumpy(), "
        "budget_s=1e-6)"
    )
    files = list((tmp_path / "programs").iterdir())
    size = sum(one.stat().st_size for one in files)
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"path       {tmp_path / 'programs'}",
        f"programs   {len(files)}",
        "tuned      1",
        f"bytes      {size:,}",
        "limit      1,048,576",
    ]
    assert main(["cache", "clear"]) == 0
    printed = capsys.readouterr().out
    assert f"removed {len(files)} programs, {size:,} bytes" in printed
    assert "removed what tuning found for 1 programs" in printed
    assert list((tmp_path / "programs").iterdir()) == list((tmp_path / "tuned").iterdir()) == []


def test_cache_off_and_unreadable_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HYBRIDNET_CACHE_DIR", "off")
    assert main(["cache", "info"]) == 0
    assert capsys.readouterr().out.startswith("off: ")
    monkeypatch.setenv("HYBRIDNET_CACHE_SIZE", "much")
    assert main(["cache", "info"]) == 2
    assert "HYBRIDNET_CACHE_SIZE must be" in capsys.readouterr().err


def test_without_a_command_all_of_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "`hybridnet COMMAND --help` says all of a command" in capsys.readouterr().err


def test_a_package_that_a_command_needs_is_named_in_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any) -> Any:
        raise ModuleNotFoundError("needs the package x; pip install 'hybridnet[caffe]'", name="x")

    monkeypatch.setattr(commands, "_run", missing)
    assert main(["convert", "caffe", "a.prototxt", "a.caffemodel", "out"]) == 2
    said = capsys.readouterr().err
    assert said == "hybridnet convert: needs the package x; pip install 'hybridnet[caffe]'\n"
