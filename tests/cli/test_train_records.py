"""`hybridnet train --data FILE.rec`: its spellings agree, a resumed run is an uninterrupted one."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import gluon, nd
from hybridnet.cli import network as networks
from hybridnet.cli import report, train_records
from hybridnet.cli.main import main
from hybridnet.cli.train_options import WAYS
from hybridnet.gluon.model_zoo.vision import mobilenet0_25
from hybridnet.image.create import MEAN, STD

SIZE, COUNT = 16, 22


def write(stem: Path, count: int = COUNT, seed: int = 0, label: Any = None) -> Path:
    """A file that can be learned: class k is a bright bar at row 4k, on noise."""
    generator = np.random.default_rng(seed)
    with mx.recordio.MXIndexedRecordIO(f"{stem}.idx", f"{stem}.rec", "w") as writer:
        for number in range(count):
            pixels = generator.integers(0, 90, (SIZE, SIZE, 3)).astype(np.uint8)
            pixels[4 * (number % 3) + 2 :][:3] += 150
            header = (0, number % 3 if label is None else label, number, 0)
            writer.write_idx(number, mx.recordio.pack_img(header, pixels, img_fmt=".png"))
    return Path(f"{stem}.rec")


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("records")
    return write(folder / "train"), write(folder / "val", 7, 1)


class Small(gluon.HybridBlock):
    """What a network of the zoo is made of, and a few layers only."""

    def __init__(self, classes: int, thumbnail: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = gluon.nn.HybridSequential(prefix="")
            self.features.add(
                gluon.nn.BatchNorm(scale=False, center=False),
                gluon.nn.Conv2D(4, 3, 2, activation="relu"),
                gluon.nn.BatchNorm(),
                gluon.nn.Flatten(),
                gluon.nn.Dropout(0.3),
            )
            self.output = gluon.nn.Dense(classes)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return self.output(self.features(x))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "get_model", lambda name, **options: Small(**options))


def run(*arguments: Any) -> int:
    return main(["train", *map(str, arguments)])


def table(path: Path) -> np.ndarray[Any, Any]:
    """Epoch, loss, accuracy and loss on other images, a row for each epoch."""
    return np.loadtxt(path, skiprows=1, usecols=(0, 1, 2, 3), ndmin=2)


@pytest.mark.slow
def test_spellings_agree_and_runs_go_on(
    records: tuple[Path, Path], small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, val = records
    common = ["--data", data, "--val", val, "--network", "small", "--batch-size", 8, "--lr", 0.02]
    common += ["--lr-epochs", 2, "--ways", "eager", "hybridized", "function", "module"]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run(*common, "--epochs", 3, "--out", whole) == 0
    printed = capsys.readouterr().out
    apart = re.search(r"losses differ by at most (\S+) ", printed)
    assert apart is not None and float(apart[1]) <= 1e-5, printed
    tables = [table(whole / f"small-{way}-log.tsv") for way in WAYS]
    assert len(tables) == 4 and tables[0][:, 0].tolist() == [1, 2, 3]
    for other in tables[1:]:
        np.testing.assert_allclose(other, tables[0], rtol=1e-3, atol=2e-6)

    assert run(*common, "--epochs", 1, "--out", parts) == 0
    assert run(*common, "--epochs", 3, "--out", parts, "--resume") == 0
    capsys.readouterr()
    for way in WAYS:
        resumed = table(parts / f"small-{way}-log.tsv")
        np.testing.assert_allclose(
            resumed, table(whole / f"small-{way}-log.tsv"), rtol=1e-3, atol=2e-6
        )
        first, second = (
            nd.load(str(folder / f"small-{way}-0003.params")) for folder in (whole, parts)
        )
        for name, value in first.items():
            np.testing.assert_allclose(
                second[name].asnumpy(), value.asnumpy(), rtol=1e-3, atol=1e-5
            )
    assert run(*common, "--epochs", 3, "--out", parts, "--resume") == 0
    assert "module: 3 epochs are done already" in capsys.readouterr().out


@pytest.mark.parametrize("with_val", [False, True])
def test_progress_tells_of_steps_and_of_scoring(
    with_val: bool,
    records: tuple[Path, Path],
    small: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told: list[tuple[str, int, float]] = []

    @contextmanager
    def progress(steps: int) -> Iterator[Any]:
        assert steps == 2 * 3  # of 8, 8 and 6 images
        yield lambda *step: told.append(step)

    monkeypatch.setattr(report, "progress", progress)
    arguments = ["--data", records[0], "--network", "small", "--batch-size", 8, "--epochs", 2]
    arguments += ["--val", records[1]] if with_val else []
    assert run(*arguments, "--out", tmp_path) == 0
    assert sum(count for _, count, _ in told) == 6
    titles = [title for title, _ in groupby(title for title, _, _ in told)]
    assert titles == ["hybridized", "hybridized, scoring"] * (2 if with_val else 1) + ["hybridized"]


def test_a_few_images_are_scored_whatever_the_batches(
    records: tuple[Path, Path], small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = write(tmp_path / "few", 3, 2)
    arguments = ["--data", records[0], "--val", few, "--network", "small", "--epochs", 1]
    arguments += ["--batch-size", 11, "--ways", "eager"]
    assert run(*arguments, "--out", tmp_path) == 0
    capsys.readouterr()
    ((_, _, accuracy, loss),) = table(tmp_path / "small-eager-log.tsv")
    assert round(accuracy * 3) in range(4)
    assert accuracy * 3 == pytest.approx(round(accuracy * 3), abs=1e-3)
    assert np.isfinite(loss)


def test_a_network_of_the_zoo_is_loaded_elsewhere(
    records: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, val = records
    arguments = ["--data", data, "--val", val, "--network", "mobilenet0.25", "--epochs", 1]
    arguments += ["--batch-size", 11, "--size", 32, "--resize", 32, "--no-augment"]
    assert run(*arguments, "--out", tmp_path) == 0
    capsys.readouterr()
    stem = tmp_path / "mobilenet0.25-hybridized"
    assert (tmp_path / "mobilenet0.25-loss.png").read_bytes().startswith(b"\x89PNG")

    net = gluon.SymbolBlock.imports(f"{stem}-symbol.json", ["data"], f"{stem}-0001.params")
    rows = mx.io.ImageRecordIter(
        path_imgrec=val,
        data_shape=(3, 32, 32),
        resize=32,
        batch_size=7,
        **{f"mean_{one}": value for one, value in zip("rgb", MEAN, strict=True)},
        **{f"std_{one}": value for one, value in zip("rgb", STD, strict=True)},
    ).next()
    chosen = net(rows.data[0]).asnumpy().argmax(axis=1)
    accuracy = np.mean(chosen == rows.label[0].asnumpy())
    np.testing.assert_allclose(table(Path(f"{stem}-log.tsv"))[0, 2], accuracy, atol=1e-5)
    own = mobilenet0_25(classes=3).collect_params()
    assert len(nd.load(f"{stem}-0001.params")) == len(own)


def test_ctrl_c_leaves_the_epochs_that_were_done(
    records: tuple[Path, Path],
    small: None,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data, _ = records
    common = ["--data", data, "--network", "small", "--batch-size", 8, "--lr", 0.02, "--epochs", 3]
    assert run(*common, "--out", tmp_path / "whole") == 0
    out, train_epoch, epochs = tmp_path / "out", train_records._train_epoch, iter(range(2))

    def press(spelling: Any, batches: Any, *rest: Any) -> None:
        if next(epochs) == 1:
            spelling.step(*(part[0] for part in (batches.next().data, batches.next().label)))
            os.kill(os.getpid(), signal.SIGINT)
        train_epoch(spelling, batches, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(train_records, "_train_epoch", press)
        assert run(*common, "--out", out) == 130
    assert capsys.readouterr().err.endswith("hybridnet train: interrupted\n")
    assert len(list(out.glob("*.params"))) == len(list(out.glob("*.states"))) == 1
    assert run(*common, "--out", out, "--resume") == 0
    first, second = (
        nd.load(str(folder / "small-hybridized-0003.params"))
        for folder in (out, tmp_path / "whole")
    )
    for name, value in first.items():
        np.testing.assert_allclose(second[name].asnumpy(), value.asnumpy(), rtol=1e-3, atol=1e-5)


def error_of(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    """Runs the command, which must fail with one line; returns it."""
    assert run(*arguments) == 2
    err = capsys.readouterr().err
    assert err.splitlines()[-1].startswith("hybridnet train: ")
    return err


def test_what_does_not_fit_is_said(
    records: tuple[Path, Path], small: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, _ = records
    out = ("--out", tmp_path / "out", "--epochs", 1, "--batch-size", 11)
    assert "--network needs the images of a --data FILE.rec" in error_of(
        capsys, "--network", "vgg11"
    )
    assert "none.rec: No such file" in error_of(capsys, "--data", tmp_path / "none.rec", *out)
    few = error_of(capsys, "--data", data, "--classes", 2, *out)
    assert "train.rec: has labels up to 2, which 2 classes are too few for" in few
    one = write(tmp_path / "one", 3, label=0)
    assert "needs at least 2 classes, got 1" in error_of(capsys, "--data", one, *out)
    for label, shown in ((0.5, "0.5"), ([1.0, 2.0], r"\[1. 2.\]")):
        path = write(tmp_path / "labels", 3, label=label)
        assert re.search(
            f"one label, a whole number from 0 on, got {shown}",
            error_of(capsys, "--data", path, *out),
        )
    assert run("--data", data, *out) == 0
    assert "is there already: --resume goes on after it" in error_of(capsys, "--data", data, *out)
    other = error_of(capsys, "--data", data, "--classes", 5, "--resume", *out[:2], "--epochs", 2)
    assert "of other classes than the 5 here" in other


def test_an_unknown_network_is_named(
    records: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = error_of(capsys, "--data", records[0], "--network", "resnet19", "--out", tmp_path / "o")
    assert "there is no network 'resnet19'" in line
    assert not (tmp_path / "o").exists()


def test_help_lists_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run("--help")
    assert stopped.value.code == 0
    shown = capsys.readouterr().out
    for option in ("--network NAME", "--val FILE.rec", "--ways WAY", "--resume", "--lr-epochs"):
        assert option in shown
    assert "None" not in shown
