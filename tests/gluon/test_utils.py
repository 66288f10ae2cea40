"""`gluon.utils`: downloads from a server of ours that misbehaves, and small functions."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

import pytest
from file_server import Server, serving

import hybridnet as hn
from hybridnet import gluon, nd, test_utils
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.gluon import utils

CONTENT = b"weights" * 1000
SHA1 = hashlib.sha1(CONTENT).hexdigest()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    with serving(tmp_path / "server") as running:
        (running.folder / "net.params").write_bytes(CONTENT)
        (tmp_path / "here").mkdir()
        monkeypatch.chdir(tmp_path / "here")
        yield running


def test_a_file_is_fetched_once(server: Server, tmp_path: Path) -> None:
    url = f"{server.url}/net.params"
    assert utils.download(url) == "net.params"
    assert Path("net.params").read_bytes() == CONTENT
    utils.download(url, sha1_hash=SHA1)
    assert len(server.requests) == 1
    utils.download(url, overwrite=True)
    Path("net.params").write_bytes(b"older")
    utils.download(url, sha1_hash=SHA1)
    assert len(server.requests) == 3 and utils.check_sha1("net.params", SHA1)
    assert utils.download(url, path=str(tmp_path)) == str(tmp_path / "net.params")
    deep = tmp_path / "new" / "folder" / "mine"
    assert utils.download(url, path=str(deep)) == str(deep) and deep.read_bytes() == CONTENT


def test_failures_are_tried_again(server: Server, capsys: Any) -> None:
    answers = iter([503, 500])

    def fail_twice(handler: Any) -> bool:
        code = next(answers, None)
        if code is not None:
            handler.send_error(code)
        return code is not None

    server.misbehave = fail_twice
    utils.download(f"{server.url}/net.params", sha1_hash=SHA1)
    assert len(server.requests) == 3 and "1 attempts left" not in capsys.readouterr().out


def test_what_never_comes_is_an_error(server: Server) -> None:
    with pytest.raises(utils.DownloadError, match=r"nothing could not be fetched: HTTP Error 404"):
        utils.download(f"{server.url}/nothing", retries=2)
    assert len(server.requests) == 2 and not list(Path().iterdir())
    server.stop()
    with pytest.raises(utils.DownloadError, match="could not be fetched"):
        utils.download(f"{server.url}/net.params", retries=0)


def test_half_a_file_never_appears(server: Server) -> None:
    def break_off(handler: Any) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        handler.wfile.write(CONTENT[:100])
        handler.close_connection = True
        return True

    server.misbehave = break_off
    with pytest.raises(utils.DownloadError, match="broke off after 100 of 7000 bytes"):
        utils.download(f"{server.url}/net.params", retries=2)
    assert not list(Path().iterdir())


def test_another_file_is_refused(server: Server) -> None:
    Path("net.params").write_bytes(b"mine")
    (server.folder / "net.params").write_bytes(b"changed")
    with pytest.raises(utils.DownloadError, match=f"must have the SHA-1 hash {SHA1}"):
        utils.download(f"{server.url}/net.params", sha1_hash=SHA1, retries=1)
    assert Path("net.params").read_bytes() == b"mine"


def test_names_of_downloads(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError, match="has no file name at its end"):
        utils.download(f"{server.url}/")
    with pytest.raises(ParameterError, match="retries must be at least 0, got -1"):
        utils.download(f"{server.url}/net.params", retries=-1)
    with pytest.warns(UserWarning, match="without checking whose server it is"):
        utils.download(f"{server.url}/net.params", verify_ssl=False)
    for mirror in ("http://mirror/mx", "http://mirror/mx/"):
        monkeypatch.setenv("MXNET_GLUON_REPO", mirror)
        assert utils._get_repo_file_url("gluon/models", "a.zip") == (
            "http://mirror/mx/gluon/models/a.zip"
        )
    monkeypatch.delenv("MXNET_GLUON_REPO")
    assert utils._get_repo_url().startswith("https://apache-mxnet.s3")


def test_replace_file(tmp_path: Path) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    new.write_text("1")
    old.write_text("0")
    utils.replace_file(new, old)
    assert old.read_text() == "1" and not new.exists()
    new.write_text("2")
    with pytest.raises(OSError, match="could not be moved"):
        utils.replace_file(new, tmp_path / "none" / "old")
    assert not new.exists()


def test_shapes_that_are_known() -> None:
    known = {(): False, (0,): False, (2, 3): True, None: False}
    assert {shape: utils.shape_is_known(shape) for shape in known} == known
    with pytest.raises(ShapeError, match="sizes must be at least 0"):
        utils.shape_is_known((-1,))
    with hn.util.np_shape():
        known = {(): True, (0,): True, (2, 3): True, None: False, (-1,): False}
        assert {shape: utils.shape_is_known(shape) for shape in known} == known


def test_a_handle_is_pickled_with_its_hooks() -> None:
    block = gluon.nn.Dense(1)
    handle = block.register_forward_hook(print)
    hooks, again = pickle.loads(pickle.dumps((block._forward_hooks, handle)))
    again.detach()
    assert not hooks and block._forward_hooks
    assert pickle.loads(pickle.dumps(utils.HookHandle())).detach() is None


def test_split_data_keeps_numpys_arrays() -> None:
    parts = utils.split_data(nd.arange(5).as_np_ndarray(), 2, even_split=False)
    assert [type(x) for x in parts] == [hn.np.ndarray] * 2
    assert [x.tolist() for x in parts] == [[0, 1, 2], [3, 4]]


def test_the_download_of_test_utils_looks_at_the_hash(server, tmp_path):
    where = {"dirname": str(tmp_path / "data"), "retries": 1}
    path = test_utils.download(f"{server.url}/net.params", sha1_hash=SHA1, **where)
    assert path == str(tmp_path / "data" / "net.params")
    (tmp_path / "data" / "net.params").write_bytes(b"another")
    assert test_utils.download(f"{server.url}/net.params", sha1_hash=SHA1, **where) == path
    assert (tmp_path / "data" / "net.params").read_bytes() == CONTENT
    with pytest.raises(hn.MXNetError, match="must have the SHA-1 hash"):
        test_utils.download(f"{server.url}/net.params", "other", sha1_hash="0" * 40, **where)
    assert not (tmp_path / "data" / "other").exists()
