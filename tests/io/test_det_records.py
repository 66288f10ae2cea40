"""`ImageDetRecordIter` against MXNet's recorded answers, and where MXNet has none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from oracle import image_record_cases as cases
from oracle.picture_cases import encoded
from places import ROOT

import hybridnet as mx
from hybridnet.io import ImageDetRecordIter
from hybridnet.io.boxes import objects_of
from hybridnet.io.det_augmentation import DetAugmentation, augment_boxes
from hybridnet.io.image_source import decode_record
from hybridnet.io.mersenne import MersenneTwister
from hybridnet.io.parameters import read_parameters


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    with np.load(ROOT / "tests" / "oracle" / "image_records.npz") as stored:
        return dict(stored)


def rows(recorded: dict[str, Any], name: str, what: str) -> Any:
    """The rows of both passes that MXNet gave."""
    passes = [recorded[f"det_{name}_{turn}_{what}"] for turn in (0, 1)]
    return np.concatenate([one.reshape(-1, *one.shape[2:]) for one in passes])


#: Whether a box that is as large as the image is wholly in a part depends on how MXNet rounds.
COUNTS = {"emit": 12}


@pytest.mark.parametrize("name", [name for name in cases.DET_CASES if name != "mean"])
def test_the_augmenter_is_mxnets(recorded: dict[str, Any], name: str) -> None:
    """One stream of chance goes on from image to image, as with MXNet's single thread."""
    how = read_parameters(DetAugmentation, cases.DET_CASES[name], "test")
    numbers = MersenneTwister(233)
    files = [recorded[f"file_{number}"].tobytes() for number in range(len(cases.SIZES))] * 3
    data, labels = rows(recorded, name, "data"), rows(recorded, name, "label")
    count = COUNTS.get(name, len(data))
    for place, (file, box) in enumerate(zip(files[:count], (cases.BOXES * 3)[:count], strict=True)):
        header, objects = objects_of(np.array(box, np.float32))
        image = decode_record(file, 3)
        image, objects = augment_boxes(image, objects, how, (3, 12, 12), numbers)
        made = np.concatenate([header, objects.ravel()])
        height, width = image.shape[:2]
        assert labels[place][:4].tolist() == [3, height, width, len(made)]
        np.testing.assert_allclose(labels[place][4 : 4 + len(made)], made, atol=1e-6)
        theirs = data[place][:, :height, :width]
        assert np.abs(image[:, :, ::-1].transpose(2, 0, 1) - theirs).max() <= 1


@pytest.mark.parametrize("name", ["force", "mean", "shrink", "fit"])
def test_batches_are_mxnets(recorded: dict[str, Any], tmp_path: Path, name: str) -> None:
    files = [recorded[f"file_{number}"].tobytes() for number in range(len(cases.SIZES))]
    it = ImageDetRecordIter(
        path_imgrec=write(tmp_path, files, cases.BOXES),
        data_shape=(3, 12, 12),
        batch_size=3,
        **cases.DET_CASES[name],
    )
    place = 0
    for turn in (0, 1):
        for batch, pad in zip(it, recorded[f"det_{name}_{turn}_pad"], strict=True):
            data, label = batch.data[0].asnumpy(), batch.label[0].asnumpy()
            assert batch.pad == pad and it.provide_label[0].shape == label.shape
            for one, box in zip(data, label, strict=True):
                theirs = rows(recorded, name, "label")[place]
                np.testing.assert_allclose(box, theirs, atol=1e-6)
                high, wide = int(theirs[1]), int(theirs[2])
                pixels = rows(recorded, name, "data")[place]
                np.testing.assert_allclose(one[:, :high, :wide], pixels[:, :high, :wide], atol=1e-4)
                # MXNet leaves there what was in memory.
                assert not one[:, high:].any() and not one[:, :, wide:].any()
                place += 1
        it.reset()


# -- what MXNet does not say -----------------------------------------------------------------

BOX = [2, 5, 1, 0.1, 0.2, 0.6, 0.7]


def write(folder: Path, files: list[bytes], labels: list[Any]) -> str:
    with mx.recordio.MXRecordIO(folder / "b.rec", "w") as writer:
        for number, (data, label) in enumerate(zip(files, labels, strict=True)):
            writer.write(mx.recordio.pack((0, label, number, 0), data))
    return str(folder / "b.rec")


@pytest.fixture
def png() -> bytes:
    return encoded(cv2)["png"]


def make(path: str, **options: Any) -> Any:
    return ImageDetRecordIter(
        **{"path_imgrec": path, "data_shape": (3, 8, 8), "batch_size": 1} | options
    )


@pytest.mark.parametrize(
    ("label", "match"),
    [
        (BOX[:6], "a label of boxes must have 7 numbers or more, got 6"),
        ([*BOX, 3], "whole objects, got 8 numbers, the first 2 and 5"),
        ([1, 4, *BOX[2:]], "the first 1 and 4"),
        ([9, 5, *BOX[2:]], "the first 9 and 5"),
    ],
)
def test_labels_that_are_none(tmp_path: Path, png: bytes, label: Any, match: str) -> None:
    it = make(write(tmp_path, [png], [label]))
    with pytest.raises(mx.MXNetError, match=match):
        it.next()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"label_pad_width": 5}, "label_pad_width must be at least 7, the length of the longest"),
        ({"label_width": 12}, "image 0 must have label_width=12 labels, got 7"),
        ({"resize_mode": "grow"}, "resize_mode must be one of"),
        ({"crop_emit_mode": "none"}, "crop_emit_mode must be one of"),
        ({"min_crop_scales": (0.1, 0.2)}, "min_crop_scales must have one number"),
        ({"min_crop_scales": 0.9, "max_crop_scales": 0.5}, "the least below the most"),
        ({"dtype": "uint8"}, "dtype must be float32"),
        ({"aug_seq": "aug_default"}, "aug_seq must be 'det_aug_default'"),
    ],
)
def test_misuse(tmp_path: Path, png: bytes, options: dict[str, Any], match: str) -> None:
    with pytest.raises(mx.MXNetError, match=match):
        make(write(tmp_path, [png], [BOX]), **options)


def test_records_with_one_number_have_no_boxes(tmp_path: Path, png: bytes) -> None:
    with pytest.raises(mx.MXNetError, match="must have a label of boxes, got the number 3"):
        make(write(tmp_path, [png], [3]))


def test_labels_from_a_list(tmp_path: Path, png: bytes) -> None:
    path = write(tmp_path, [png], [3])
    (tmp_path / "b.lst").write_text("0\t" + "\t".join(map(str, BOX)) + "\tx.png\n")
    label = make(path, path_imglist=str(tmp_path / "b.lst")).next().label[0].asnumpy()
    np.testing.assert_allclose(label[0], [3, 8, 8, 7, *BOX], rtol=1e-6)


def test_passes_differ_and_boxes_stay_in_the_image(tmp_path: Path, png: bytes) -> None:
    it = make(
        write(tmp_path, [png] * 6, [BOX] * 6),
        rand_crop_prob=0.8,
        rand_pad_prob=0.8,
        max_pad_scale=2,
        min_crop_scales=0.4,
        rand_mirror_prob=0.5,
        shuffle=True,
    )
    passes = []
    for _ in range(2):
        labels = np.concatenate([batch.label[0].asnumpy() for batch in it])
        assert (labels[:, 7:11] >= 0).all() and (labels[:, 7:11] <= 1).all()
        assert (labels[:, 9:11] > labels[:, 7:9]).all()
        passes.append(labels)
        it.reset()
    assert not np.array_equal(*passes)
