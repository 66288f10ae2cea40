"""MNIST's and CIFAR's files: fetched from a server of ours, checked, read."""

from __future__ import annotations

import gzip
import hashlib
import io
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_server import serving

import hybridnet as hn
from hybridnet.base.errors import FormatError
from hybridnet.gluon.data import vision
from hybridnet.gluon.utils import DownloadError

RANDOM = np.random.default_rng(1)


def idx(array: np.ndarray[Any, Any]) -> bytes:
    header = struct.pack(f">I{array.ndim}I", 0x800 + array.ndim, *array.shape)
    return gzip.compress(header + array.tobytes())


def sha1(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    with serving(tmp_path / "server") as running:
        monkeypatch.setenv("MXNET_GLUON_REPO", running.url)
        monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
        yield running


def put(server: Any, kind: type, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        path = server.folder / "gluon" / "dataset" / kind._namespace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.mark.parametrize("kind", [vision.MNIST, vision.FashionMNIST])
def test_mnist(kind: Any, server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images = RANDOM.integers(0, 256, (4, 28, 28)).astype(np.uint8)
    labels = np.array([3, 1, 4, 1], np.uint8)
    contents = [idx(images), idx(labels)]
    names = [file.name for file in kind._files[True]]
    files = [type(kind._files[True][0])(*x) for x in zip(names, map(sha1, contents), strict=True)]
    monkeypatch.setattr(kind, "_files", {True: files, False: files})
    put(server, kind, dict(zip(names, contents, strict=True)))
    found = kind()
    assert sorted(x.name for x in Path(found._root).iterdir()) == sorted(names)
    assert Path(found._root) == tmp_path / "home" / "datasets" / kind._namespace
    image, label = found[2]
    assert len(found) == 4 and label == 4 and isinstance(label, np.int32)
    np.testing.assert_array_equal(image.asnumpy(), images[2][..., None])
    assert image.dtype == np.uint8
    server.stop()  # what is there is not fetched again
    half = kind(train=False, transform=lambda image, label: (image / 2, -label))
    assert half[0][1] == -3
    with hn.util.np_array(), hn.util.np_shape():
        image, label = kind()[0]
        assert isinstance(image, hn.np.ndarray) and isinstance(label, hn.np.ndarray)


def archive(files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("kind", "options", "column"),
    [
        (vision.CIFAR10, {}, 0),
        (vision.CIFAR100, {}, 0),
        (vision.CIFAR100, {"fine_label": True}, 1),
    ],
)
def test_cifar(
    kind: Any, options: Any, column: int, server: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    make = type(kind._archive)
    rows = {
        file.name: RANDOM.integers(0, 256, (2, kind._label_bytes + 3072)).astype(np.uint8)
        for files in kind._files.values()
        for file in files
    }
    contents = {name: array.tobytes() for name, array in rows.items()}
    outside = {"../evil.bin": b"never unpacked"}
    whole = archive(contents | outside)
    known = {
        train: [make(file.name, sha1(contents[file.name])) for file in files]
        for train, files in kind._files.items()
    }
    monkeypatch.setattr(kind, "_files", known)
    monkeypatch.setattr(kind, "_archive", make(kind._archive.name, sha1(whole)))
    put(server, kind, {kind._archive.name: whole})
    root = tmp_path / "some" / "folder"
    found = kind(root=str(root), train=True, **options)
    assert not list(tmp_path.rglob("evil.bin"))
    wanted = np.concatenate([rows[file.name] for file in known[True]])
    image, label = found[-1]
    pixels = wanted[-1, kind._label_bytes :].reshape(3, 32, 32).transpose(1, 2, 0)
    np.testing.assert_array_equal(image.asnumpy(), pixels)
    assert label == wanted[-1, column] and len(found) == len(wanted)
    server.stop()
    assert len(kind(root=str(root), train=False, **options)) == 2


def test_files_that_are_not_right(server: Any, tmp_path: Path, monkeypatch: Any) -> None:
    kind: Any = vision.MNIST
    files = kind._files[False]
    broken = idx(np.zeros((2, 28, 28), np.uint8))
    put(server, kind, {files[0].name: broken, files[1].name: broken})
    with pytest.raises(DownloadError, match="must have the SHA-1 hash c3a25af1"):
        kind(root=str(tmp_path), train=False)
    right = [file._replace(sha1=sha1(broken)) for file in files]
    monkeypatch.setattr(kind, "_files", {False: right})
    with pytest.raises(FormatError, match="must hold labels, uint8"):
        kind(root=str(tmp_path), train=False)
