"""Data sets of images in files, and the transforms that cut and turn: against OpenCV and NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hybridnet import nd, recordio
from hybridnet.base.errors import DTypeError, FormatError, ParameterError
from hybridnet.gluon.data import DataLoader, vision
from hybridnet.gluon.data.vision import transforms as T

cv2 = pytest.importorskip("cv2")

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 8, 10, 3)).astype(np.uint8)


def png(image: np.ndarray[Any, Any]) -> bytes:
    encoded: bytes = cv2.imencode(".png", image[..., ::-1])[1].tobytes()
    return encoded


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, which in (("bus", [1, 2]), ("car", [0])):
        (tmp_path / name).mkdir()
        for i in which:
            (tmp_path / name / f"{i}.PNG").write_bytes(png(IMAGES[i]))
    return tmp_path


@pytest.mark.parametrize("workers", [0, 2])
def test_images_of_records(tmp_path: Path, workers: int) -> None:
    names = str(tmp_path / "a.idx"), str(tmp_path / "a.rec")
    with recordio.MXIndexedRecordIO(*names, "w") as file:
        for i, image in enumerate(IMAGES):
            file.write_idx(i, recordio.pack(recordio.IRHeader(0, float(i), i, 0), png(image)))
    dataset = vision.ImageRecordDataset(names[1])
    for i, (image, label) in enumerate(DataLoader(dataset, 1, num_workers=workers)):
        np.testing.assert_array_equal(image.asnumpy()[0], IMAGES[i])
        assert label.asscalar() == i
    changed = vision.ImageRecordDataset(names[1], flag=0, transform=lambda x, y: (x.shape, -y))
    assert changed[2] == ((8, 10, 1), -2)


def test_images_in_folders(folder: Path) -> None:
    (folder / "car" / "notes.txt").write_text("")
    (folder / "list.lst").write_text("")
    with pytest.warns(UserWarning) as warned:
        dataset = vision.ImageFolderDataset(str(folder))
    texts = sorted(str(w.message).rpartition("/")[2] for w in warned)
    assert texts == ["list.lst is no folder, left out", texts[1]] and texts[1].startswith("notes")
    assert dataset.synsets == ["bus", "car"]
    assert [(Path(path).name, label) for path, label in dataset.items] == [
        ("1.PNG", 0),
        ("2.PNG", 0),
        ("0.PNG", 1),
    ]
    image, label = dataset[2]
    np.testing.assert_array_equal(image.asnumpy(), IMAGES[0])
    assert label == 1 and len(dataset) == 3


def test_images_of_a_list(folder: Path) -> None:
    (folder / "all.lst").write_text("0\t1\t2.5\tcar/0.PNG\n7\t3\t4\tbus/1.PNG\n")
    named = vision.ImageListDataset(str(folder), "all.lst")
    listed = vision.ImageListDataset(
        str(folder), [[1, 2.5, "car/0.PNG"], [np.array([3, 4]), "bus/1.PNG"], [5, "bus/2.PNG"]]
    )
    for dataset in (named, listed):
        for i, which in enumerate([0, 1]):
            image, label = dataset[i]
            np.testing.assert_array_equal(image.asnumpy(), IMAGES[which])
            assert label.asnumpy().tolist() == [[1, 2.5], [3, 4]][i]
    assert listed[2][1].asnumpy().tolist() == [5] and (len(named), len(listed)) == (2, 3)
    with pytest.raises(ParameterError, match="imglist must be a file's name or a list"):
        vision.ImageListDataset(str(folder))
    with pytest.raises(ParameterError, match=r"a label and a path, got \['x'\]"):
        vision.ImageListDataset(str(folder), [["x"]])
    (folder / "bad.lst").write_text("0\t1\tcar/0.PNG\nno tabs\n")
    with pytest.raises(FormatError, match=r"bad.lst, line 2: must be a number.*'no tabs'"):
        vision.ImageListDataset(str(folder), "bad.lst")


def image() -> nd.NDArray:
    return nd.array(IMAGES[0], dtype="uint8")


def test_cut_from_the_middle_or_anywhere() -> None:
    np.testing.assert_array_equal(T.CenterCrop((4, 6))(image()).asnumpy(), IMAGES[0, 1:7, 3:7])
    parts = {IMAGES[0, y : y + 5, x : x + 5].tobytes() for y in range(4) for x in range(6)}
    found = [T.RandomCrop(5)(image()) for _ in range(10)]
    assert all(x.asnumpy().tobytes() in parts for x in found)
    assert len({x.asnumpy().tobytes() for x in found}) > 1
    framed = T.RandomCrop((12, 10), pad=1, pad_value=9)(image()).asnumpy()
    np.testing.assert_array_equal(framed[1:-1, 1:-1], IMAGES[0])
    assert (framed[0] == 9).all() and (framed[:, -1] == 9).all()
    assert T.CenterCrop(20)(image()).shape == (20, 20, 3)  # a smaller image is scaled up


def test_cut_and_scaled_at_random() -> None:
    crop = T.RandomResizedCrop((6, 4), scale=(0.2, 0.9))
    found = [crop(image()).asnumpy() for _ in range(5)]
    assert {x.shape for x in found} == {(4, 6, 3)}
    assert len({x.tobytes() for x in found}) > 1
    whole = T.RandomResizedCrop((10, 8), scale=(1, 1), ratio=(1.25, 1.25))(image())
    np.testing.assert_array_equal(whole.asnumpy(), IMAGES[0])


def test_turned() -> None:
    square = nd.array(IMAGES[0, :, :8].transpose(2, 0, 1) / 255, dtype="float32")
    turned = T.Rotate(90)(square).asnumpy()
    wanted = np.rot90(square.asnumpy(), axes=(1, 2))
    flipped = np.rot90(square.asnumpy(), -1, axes=(1, 2))
    assert min(np.abs(turned - x).max() for x in (wanted, flipped)) < 1e-4
    np.testing.assert_allclose(
        T.RandomRotation((89.999, 90.001))(square).asnumpy(), turned, atol=2e-3
    )
    same = T.RandomRotation((10, 20), rotate_with_proba=0)(square)
    np.testing.assert_array_equal(same.asnumpy(), square.asnumpy())
    for block in (T.Rotate(10), T.RandomRotation((1, 2))):
        with pytest.raises(DTypeError, match="needs float32, got uint8; put it after ToTensor"):
            block(image())
    with pytest.raises(ParameterError, match=r"angle_limits must be \(least, most\)"):
        T.RandomRotation((2, 1))
    with pytest.raises(ParameterError, match="rotate_with_proba must be between 0 and 1"):
        T.RandomRotation((1, 2), rotate_with_proba=2)
