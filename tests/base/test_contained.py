"""Paths in lists stay in the folder that they begin in, whoever reads the list."""

import os

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import gluon
from hybridnet.base.contained import contained
from hybridnet.base.errors import FormatError
from hybridnet.cli.main import main

cv2 = pytest.importorskip("cv2")


@pytest.fixture
def places(tmp_path):
    """A folder of images, and a file outside of it that three ways lead to."""
    root = tmp_path / "images"
    (root / "inside").mkdir(parents=True)
    pixels = np.zeros((8, 8, 3), np.uint8)
    (root / "inside" / "a.png").write_bytes(cv2.imencode(".png", pixels)[1].tobytes())
    (tmp_path / "secret").write_text("a secret")
    os.symlink(tmp_path / "secret", root / "link")
    os.symlink(tmp_path, root / "up")
    os.symlink(root / "inside", root / "well")
    return root


OUT = ("../secret", "{tmp}/secret", "link", "up/secret", "inside/../../secret")


def listed(tmp_path, *paths):
    lines = [f"{number}\t1.0\t{path}\n" for number, path in enumerate(paths)]
    (tmp_path / "a.lst").write_text("".join(lines))
    return tmp_path / "a.lst"


@pytest.mark.parametrize("path", OUT)
def test_nothing_outside_is_packed(places, tmp_path, capsys, path):
    listed(tmp_path, "well/a.png", path.format(tmp=tmp_path))
    assert main(["im2rec", str(tmp_path / "a"), str(places), "--pass-through"]) != 0
    said = capsys.readouterr().err
    assert "a.lst: line 2: the path must lie in" in said
    assert not (tmp_path / "a.rec").exists()


def test_links_inside_and_a_root_that_holds_all_are_packed(places, tmp_path):
    listed(tmp_path, "well/a.png", places / "inside" / "a.png")
    assert main(["im2rec", str(tmp_path / "a"), str(places), "--pass-through"]) == 0
    listed(tmp_path, tmp_path / "secret")
    assert main(["im2rec", str(tmp_path / "a"), "/", "--pass-through"]) == 0
    reader = mx.recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "r")
    assert mx.recordio.unpack(reader.read_idx(0))[1] == b"a secret"


@pytest.mark.parametrize("path", OUT)
def test_iterators_read_nothing_outside(places, tmp_path, path):
    name = listed(tmp_path, "inside/a.png", path.format(tmp=tmp_path))
    with pytest.raises(FormatError, match=r"a\.lst: line 2: the path must lie in"):
        mx.image.ImageIter(1, (3, 8, 8), path_imglist=str(name), path_root=str(places))


@pytest.mark.parametrize("path", OUT)
def test_data_sets_read_nothing_outside(places, tmp_path, path):
    listed(places, "inside/a.png", path.format(tmp=tmp_path))
    with pytest.raises(FormatError, match=r"a\.lst, line 2: the path must lie in"):
        gluon.data.vision.ImageListDataset(str(places), "a.lst")


def test_addresses():
    assert contained("s3://bucket/a", "b/c.png", "x") == "s3://bucket/a/b/c.png"
    for path in ("../c.png", "b/../../c.png", "/c.png", "s3://other/c.png"):
        with pytest.raises(FormatError, match="the path must lie in 's3://bucket/a'"):
            contained("s3://bucket/a", path, "x")
