"""WikiText's files: fetched from a server of ours, checked, read as MXNet reads them."""

from __future__ import annotations

import hashlib
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from file_server import serving

from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.contrib.text.vocab import Vocabulary
from hybridnet.gluon.contrib.data import text
from hybridnet.gluon.utils import DownloadError

WORDS = {
    "wiki.train.tokens": " \n = Title = \n\n a b <unk> a \n",
    "wiki.valid.tokens": " a b \n b c \n",
    "wiki.test.tokens": " é a \n",
}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    with serving(tmp_path / "server") as running:
        monkeypatch.setenv("MXNET_GLUON_REPO", running.url)
        monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
        yield running


def sha1(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


def put(server: Any, kind: Any, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Serves an archive of files, whose hashes the data set then expects."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("wikitext/", b"")
        archive.writestr("../evil.tokens", b"never unpacked")
        for name, content in files.items():
            archive.writestr(f"wikitext/{name}", content.encode())
    path = server.folder / "gluon" / "dataset" / kind._namespace / kind._archive.name
    path.parent.mkdir(parents=True)
    path.write_bytes(stream.getvalue())
    monkeypatch.setattr(kind, "_archive", kind._archive._replace(sha1=sha1(stream.getvalue())))
    known = {
        segment: file._replace(sha1=sha1(files.get(file.name, "").encode()))
        for segment, file in kind._files.items()
    }
    monkeypatch.setattr(kind, "_files", known)


@pytest.mark.parametrize("kind", [text.WikiText2, text.WikiText103])
def test_words_become_numbers_and_the_words_that_follow(
    kind: Any, server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(server, kind, WORDS, monkeypatch)
    train = kind(seq_len=3)
    assert Path(train._root) == tmp_path / "home" / "datasets" / kind._namespace
    assert not list(tmp_path.rglob("evil.tokens"))
    # = Title = <eos> a b <unk> a <eos>: numbers as MXNet 1.9.1 gives them.
    assert train.vocabulary.idx_to_token == ["<unk>", "<eos>", "=", "a", "Title", "b"]
    assert train.frequencies["="] == 2
    whole = [2, 4, 2, 1, 3, 5, 0, 3, 1]
    assert len(train) == 2
    for number, (data, label) in enumerate(train):
        at = 3 * number
        assert data.dtype == label.dtype == np.int32
        assert data.asnumpy().tolist() == whole[at : at + 3]
        assert label.asnumpy().tolist() == whole[at + 1 : at + 4]
    server.stop()  # what is there is not fetched again
    valid = kind(segment="validation", vocab=train.vocabulary, seq_len=5)
    assert valid[0][0].asnumpy().tolist() == [3, 5, 1, 5, 0]
    assert valid[0][1].asnumpy().tolist() == [5, 1, 5, 0, 1]
    assert len(kind(segment="test")) == 0
    assert kind(segment="test", seq_len=2).vocabulary.idx_to_token[2:] == ["a", "é"]


def test_files_that_are_not_right(
    server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind: Any = text.WikiText2
    with pytest.raises(DownloadError, match="could not be fetched"):
        kind(root=str(tmp_path / "a"))
    put(server, kind, {"wiki.test.tokens": "a"}, monkeypatch)
    with pytest.raises(FormatError, match=r"wikitext-2-v1.zip: has no wiki.train.tokens"):
        kind(root=str(tmp_path / "b"))
    with pytest.raises(ParameterError, match="segment must be one of train, validation, test, got"):
        kind(segment="tests")
    with pytest.raises(ParameterError, match="seq_len must be at least 1, got 0"):
        kind(seq_len=0)
    assert isinstance(kind(root=str(tmp_path / "b"), segment="test").vocabulary, Vocabulary)
