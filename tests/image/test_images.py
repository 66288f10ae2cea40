"""`image` where MXNet has no answer to compare with: errors, hostile files, what is in force."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from oracle.picture_cases import BOXES, encoded, picture

import hybridnet as mx
from hybridnet import image, nd


@pytest.fixture
def png() -> bytes:
    return encoded(cv2)["png"]


def records(folder: Path, rows: list[bytes], label: Any = 1.0) -> dict[str, str]:
    paths = str(folder / "a.idx"), str(folder / "a.rec")
    with mx.recordio.MXIndexedRecordIO(*paths, "w") as writer:
        for number, row in enumerate(rows):
            writer.write_idx(number, mx.recordio.pack((0, label, number, 0), row))
    return {"path_imgidx": paths[0], "path_imgrec": paths[1]}


def test_decoding_gives_pixels_of_the_class_in_force(png: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png)
    expected = picture()[:, :, ::-1]
    for made in (
        image.imdecode(bytearray(png)),
        image.imdecode(memoryview(png)),
        image.imdecode(np.frombuffer(png, np.uint8)),
        image.imdecode(nd.array(np.frombuffer(png, np.uint8), dtype="uint8")),
        image.imread(str(tmp_path / "a.png")),
        mx.img.image.imread(tmp_path / "a.png"),
    ):
        assert type(made) is nd.NDArray and made.dtype is np.uint8
        np.testing.assert_array_equal(made.asnumpy(), expected)
    with mx.np_array():
        made = image.imdecode(png)
        assert type(made) is mx.np.ndarray
        assert type(image.imresize(made, 4, 5)) is mx.np.ndarray
    out = nd.zeros((20, 26, 3))
    assert image.imdecode(png, out=out) is out
    np.testing.assert_array_equal(out.asnumpy(), expected)
    made += 1  # its memory is its own
    np.testing.assert_array_equal(image.imdecode(png).asnumpy(), expected)


def test_an_older_opencv_has_its_channels_turned(png: bytes, monkeypatch: Any) -> None:
    from hybridnet.base import lazy

    if hasattr(cv2, "IMREAD_COLOR_RGB"):  # it is not one by itself
        assert lazy.cv2.IMREAD_COLOR_RGB
        monkeypatch.delattr(lazy.cv2, "IMREAD_COLOR_RGB")
        monkeypatch.delattr(cv2, "IMREAD_COLOR_RGB")
    np.testing.assert_array_equal(image.imdecode(png).asnumpy(), picture()[:, :, ::-1])


@pytest.mark.parametrize("data", [b"", b"clearly no image", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"])
def test_what_is_no_image(data: bytes) -> None:
    with pytest.raises(mx.MXNetError, match=r"image\.imdecode: needs an"):
        image.imdecode(data)


def test_every_truncation_is_an_image_or_an_error(capfd: Any) -> None:
    """Decoders print warnings of their own."""
    for name in ("png", "jpg", "bmp"):
        data = encoded(cv2)[name]
        for size in range(0, len(data), 29):
            try:
                assert image.imdecode(data[:size]).shape == (20, 26, 3)
            except mx.MXNetError as error:
                assert "image.imdecode" in str(error)
    capfd.readouterr()


def test_a_small_file_that_promises_an_enormous_image(png: bytes, capfd: Any) -> None:
    huge = bytearray(png)
    huge[16:24] = b"\0\x0f\0\0" * 2  # 983,040 x 983,040 pixels
    with pytest.raises(mx.MXNetError, match="needs an image that can be decoded"):
        image.imdecode(bytes(huge))
    capfd.readouterr()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda x: image.imdecode("text"), "buf must be bytes or an array of them, got str"),
        (lambda x: image.imdecode(np.zeros(4)), "buf must be uint8, got float64"),
        (lambda x: image.imdecode(b"x", flag=2), r"flag must be 0 \(grey\) or 1 \(colour\), got 2"),
        (lambda x: image.imread("/none.png"), "cannot read '/none.png': No such file"),
        (lambda x: image.imresize(x, 0, 4), "w and h must be at least 1, got 0 and 4"),
        (lambda x: image.imresize(x, 4, 4, 6), "interp must be 0 to 5, or 9 or 10, got 6"),
        (lambda x: image.imresize(x.astype("int32"), 4, 4), "dtype must be one of .*, got int32"),
        (lambda x: image.imresize(x[0], 4, 4), r"src must be \(height, width, channels\)"),
        (lambda x: image.imresize(np.zeros((4, 4, 3)), 4, 4), "src must be an NDArray, got ndarr"),
        (lambda x: image.imresize(x, 4, 4, out=x), r"out must be an array of shape \(4, 4, 3\)"),
        (lambda x: image.resize_short(x, 4, 7), "interp must be 0 to 4, 9"),
        (lambda x: image.copyMakeBorder(x, -1, 0, 0, 0), "border must be 0 or more"),
        (lambda x: image.copyMakeBorder(x, 1, 0, 0, 0, type=9), "type must be 0 to 4"),
        (lambda x: image.random_size_crop(x, (3, 3), 0.1, (1, 1), least=1), "no argument 'least'"),
        (lambda x: image.imrotate(x.astype("uint8"), 3), "src must be float32, got uint8"),
        (lambda x: image.imrotate(x, nd.array([1])), "the angle of one image must be a number"),
        (lambda x: image.imrotate(nd.stack(x, x), nd.array([1])), "needs 2 angles, got shape"),
        (lambda x: image.imrotate(x, 3, True, True), "zoom_in and zoom_out exclude each other"),
        (lambda x: image.CreateAugmenter((3, 4, 4), rand_resize=True), "needs rand_crop=True"),
        (lambda x: image.CreateAugmenter((3, 4, 4), mean=5), "mean must be True or an array of 1"),
        (lambda x: image.DetBorrowAug(3), "augmenter must be an Augmenter, got int"),
        (lambda x: image.DetRandomSelectAug([3]), "needs DetAugmenters, got int"),
        (
            lambda x: image.CreateMultiRandCropAugmenter([0.1, 0.2], max_attempts=[1, 2, 3]),
            "lists must have the same length, 3, got 2 as min_object_covered",
        ),
    ],
)
def test_misuse(call: Any, match: str) -> None:
    with pytest.raises(mx.MXNetError, match=match):
        call(nd.array(picture()))


def test_bases_say_what_to_define() -> None:
    with pytest.raises(NotImplementedError, match="must define __call__"):
        image.Augmenter()(1)
    with pytest.raises(NotImplementedError, match="must define __call__"):
        image.DetAugmenter()(1, 2)
    assert json.loads(image.CastAug().dumps()) == ["castaug", {"type": "float32"}]


def test_old_and_impossible_parameters_warn() -> None:
    with pytest.warns(DeprecationWarning, match="min_area is now called area"):
        assert image.RandomSizedCropAug((3, 3), 0.5, (1, 1), min_area=0.1).area == 0.1
    with pytest.warns(UserWarning, match="DetRandomCropAug does nothing: no area"):
        crop = image.DetRandomCropAug(area_range=(0.5, 0.1))
    with pytest.warns(UserWarning, match="DetRandomPadAug does nothing: no form"):
        pad = image.DetRandomPadAug(aspect_ratio_range=(0, 0))
    x = nd.array(picture())
    assert crop(x, BOXES)[0] is x and pad(x, BOXES)[1] is BOXES


# -- iterators ---------------------------------------------------------------------------------


def test_a_broken_image_is_named(png: bytes, tmp_path: Path) -> None:
    paths = records(tmp_path, [png, b"broken", png])
    with pytest.raises(mx.MXNetError, match="Broken image index: 1, image.imdecode: needs an"):
        list(image.ImageIter(1, (3, 8, 8), **paths))
    (tmp_path / "b.png").write_bytes(b"broken")
    listed = [[0, "b.png"]]
    with pytest.raises(mx.MXNetError, match=r"Broken image filename: b\.png, image"):
        list(image.ImageIter(1, (3, 8, 8), imglist=listed, path_root=str(tmp_path)))


def test_a_truncated_record_file_ends_with_an_error(png: bytes, tmp_path: Path) -> None:
    path = records(tmp_path, [png] * 3)["path_imgrec"]
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[: len(data) * 5 // 6])
    iterator = image.ImageIter(1, (3, 8, 8), path_imgrec=path)
    assert [next(iterator).pad for _ in range(2)] == [0, 0]
    with pytest.raises(mx.MXNetError, match=r"a\.rec: record at byte \d+: \d+ bytes of data"):
        next(iterator)


def test_steps_can_be_overridden(png: bytes, tmp_path: Path) -> None:
    class Mine(image.ImageIter):
        def check_valid_image(self, data: Any) -> None:
            if random.random() < 0.5:
                raise RuntimeError("left out")

        def postprocess_data(self, datum: Any) -> Any:
            return super().postprocess_data(datum) / 255

    random.seed(0)
    batches = list(Mine(1, (3, 8, 8), **records(tmp_path, [png] * 20)))
    assert 0 < len(batches) < 20
    assert float(batches[0].data[0].max()) <= 1


def test_labels_of_several_numbers_and_from_a_list_file(png: bytes, tmp_path: Path) -> None:
    paths = records(tmp_path, [png, png], label=[1.0, 2.0])
    (batch,) = image.ImageIter(2, (3, 8, 8), label_width=2, **paths)
    np.testing.assert_array_equal(batch.label[0].asnumpy(), [[1, 2], [1, 2]])
    with pytest.raises(mx.MXNetError, match="must have label_width=1 labels, got 2"):
        list(image.ImageIter(2, (3, 8, 8), **paths))
    (tmp_path / "a.lst").write_text("0\t7\t8\tx\n\n1\t9\t10\ty\n")
    listed = {"path_imglist": str(tmp_path / "a.lst"), "label_width": 2}
    (batch,) = image.ImageIter(2, (3, 8, 8), **paths, **listed)
    np.testing.assert_array_equal(batch.label[0].asnumpy(), [[7, 8], [9, 10]])
    (tmp_path / "a.lst").write_text("0\tseven\tx\n")
    with pytest.raises(mx.MXNetError, match=r"a\.lst: line 1 must be a number, labels and a path"):
        image.ImageIter(2, (3, 8, 8), **listed)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({}, "needs path_imgrec, path_imglist or a list"),
        ({"imglist": [[0, "a"]], "dtype": "int8"}, "dtype must be one of"),
        ({"imglist": [[0, "a"]], "last_batch_handle": "keep"}, "last_batch_handle must be one of"),
        ({"imglist": [[0, "a"]], "part_index": 2, "num_parts": 2}, "got 2 of 2"),
        ({"imglist": [["a"]], "data_shape": (1, 8, 8)}, r"must be \(3, height, width\)"),
        ({"imglist": [5]}, r"item 0 of imglist must be \[label, ..., path\], got 5"),
    ],
)
def test_misused_iterators(options: dict[str, Any], match: str) -> None:
    with pytest.raises(mx.MXNetError, match=match):
        image.ImageIter(2, **{"data_shape": (3, 8, 8), **options})


def test_shuffling_records_needs_their_index(png: bytes, tmp_path: Path) -> None:
    path = records(tmp_path, [png])["path_imgrec"]
    with pytest.raises(mx.MXNetError, match="shuffle and num_parts need path_imgidx"):
        image.ImageIter(1, (3, 8, 8), path_imgrec=path, shuffle=True)


def test_shapes_of_boxes_are_made_equal(png: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png)

    def boxes(count: int) -> Any:
        row = [[2, 5, *BOXES[:count].ravel().tolist(), "a.png"]]
        return image.ImageDetIter(1, (3, 8, 8), imglist=row, path_root=str(tmp_path))

    one, three = boxes(1), boxes(3)
    assert one.sync_label_shape(three) is three
    assert one.provide_label == three.provide_label == [("label", (1, 3, 5))]
    label = next(one).label[0].asnumpy()
    np.testing.assert_array_equal(label[0, 1:], np.full((2, 5), -1))
    with pytest.raises(mx.MXNetError, match="label_shape must be at least 3 objects of length 5"):
        one.reshape(label_shape=(2, 5))
    with pytest.raises(mx.MXNetError, match="needs an ImageDetIter, got int"):
        one.sync_label_shape(3)


def test_boxes_are_drawn(png: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png)
    row = [[2, 5, 1, 0.1, 0.1, 0.9, 0.9, "a.png"]]
    iterator = image.ImageDetIter(
        1, (3, 40, 40), imglist=row, path_root=str(tmp_path), mean=True, std=True
    )
    plain = np.array(cv2.resize(picture(), (40, 40), interpolation=cv2.INTER_CUBIC), int)
    (drawn,) = iterator.draw_next(
        color=(255, 0, 0), thickness=1, mean=True, std=True, id2labels={1: "dog"}
    )
    assert drawn.dtype == np.uint8 and drawn.shape == (40, 40, 3)
    np.testing.assert_array_equal(drawn[4, 4:37], np.tile([0, 0, 255], (33, 1)))
    assert np.abs(drawn[:3].astype(int) - plain[:3]).max() <= 3  # the rest is as it was


@pytest.mark.parametrize(
    ("label", "match"),
    [
        ([2, 5, 1, 0.1], "must have 7 numbers or more"),
        ([2, 5, 1, 0.1, 0.1, 0.9, 0.9, 4], "whole objects, got 8 numbers"),
        ([1, 4, 1, 0.1, 0.1, 0.9, 0.9, 4, 5], "first are 1 and 4"),
        ([2, 5, 1, 0.5, 0.1, 0.5, 0.9], "must have a box with an area, got none"),
    ],
)
def test_labels_that_hold_no_boxes(label: list[float], match: str) -> None:
    with pytest.raises(mx.MXNetError, match=match):
        image.ImageDetIter(1, (3, 8, 8), imglist=[[*label, "a.png"]])


def test_without_opencv_the_message_says_what_to_install(
    png: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hybridnet.base import lazy

    monkeypatch.setitem(sys.modules, "cv2", None)
    for name in [name for name in vars(lazy.cv2) if not name.startswith("__")]:
        monkeypatch.delattr(lazy.cv2, name)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'hybridnet\[image\]'"):
        image.imdecode(png)


def test_the_method_of_resizing_has_mxnets_name_for_packages():
    choose = image.image._get_interp_method
    assert [choose(9, (4, 4, *new)) for new in ((8, 8), (2, 2), (2, 8))] == [2, 3, 1]
    assert [choose(9), choose(1, (4, 4, 8, 8))] == [2, 1]
    assert choose(10) in range(5)
