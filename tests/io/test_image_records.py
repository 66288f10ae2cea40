"""`ImageRecordIter` and its kin against MXNet's recorded answers, and where MXNet has none."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from oracle import image_record_cases as cases
from oracle.picture_cases import encoded, picture
from places import ROOT

import hybridnet as mx
from hybridnet.io import ImageRecordIter, ImageRecordUInt8Iter

STORED = ROOT / "tests" / "oracle" / "image_records.npz"


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    with np.load(STORED) as stored:
        return dict(stored)


@pytest.fixture(scope="module")
def ours(recorded: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    files = [recorded[f"file_{number}"].tobytes() for number in range(len(cases.SIZES))]
    return cases.answers(mx, files, str(tmp_path_factory.mktemp("records")))


def compare(recorded: dict[str, Any], ours: dict[str, Any], name: str, most: float) -> None:
    for key in (key for key in ours if key.startswith((f"{name}_0_", f"{name}_1_"))):
        theirs, own = recorded[key], ours[key]
        assert (own.shape, own.dtype) == (theirs.shape, theirs.dtype), key
        difference = np.abs(own.astype(float) - theirs.astype(float))
        if key.endswith("_data"):
            assert difference.max() <= most and difference.mean() <= 0.3 * min(most, 1), key
        else:
            assert difference.max() <= 1e-6, key


#: OpenCV's versions round differently where they compute with fractions of pixels and colours.
ROUNDED = {"affine": 2, "rotate": 2, "aspect": 2, "jitter": 2, "chance": 2}


@pytest.mark.parametrize("name", cases.CASES)
def test_images_are_mxnets(recorded: dict[str, Any], ours: dict[str, Any], name: str) -> None:
    compare(recorded, ours, f"image_{name}", ROUNDED.get(name, 1e-3))


# -- what MXNet does not say -----------------------------------------------------------------


def write(folder: Path, rows: list[bytes], label: Any = 1.0) -> str:
    with mx.recordio.MXIndexedRecordIO(folder / "a.idx", folder / "a.rec", "w") as writer:
        for number, row in enumerate(rows):
            writer.write_idx(number, mx.recordio.pack((0, label, 100 + number, 0), row))
    return str(folder / "a.rec")


@pytest.fixture
def files() -> dict[str, bytes]:
    return encoded(cv2)


SHAPE = {"data_shape": (3, 20, 26)}


def test_batches_say_which_images_they_hold(tmp_path: Path, files: dict[str, bytes]) -> None:
    path = write(tmp_path, [files["png"]] * 5)
    it = ImageRecordIter(path_imgrec=path, batch_size=2, round_batch=False, **SHAPE)
    assert it.provide_data == [("data", (2, 3, 20, 26))]
    assert it.provide_label == [("softmax_label", (2,))]
    found = [(batch.index.tolist(), batch.pad) for batch in it]
    assert found == [([100, 101], 0), ([102, 103], 0), ([104, 103], 1)]
    image = picture()[:, :, ::-1].transpose(2, 0, 1)
    it.reset()
    np.testing.assert_array_equal(it.next().data[0].asnumpy()[1], image)
    whole = ImageRecordUInt8Iter(path_imgrec=path, batch_size=2, data_name="x", **SHAPE).next()
    assert whole.data[0].dtype is np.uint8
    np.testing.assert_array_equal(whole.data[0].asnumpy()[0], image)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    from hybridnet.io import image_source

    monkeypatch.setattr(image_source, "num_threads", lambda: threads)
    monkeypatch.setattr(image_source, "_SMALL_BYTES", 0)
    path = write(tmp_path, [encoded(cv2)["jpg"]] * 7)
    options = {"rand_crop": True, "random_h": 30, "rand_mirror": True, "data_shape": (3, 9, 9)}
    it = ImageRecordIter(path_imgrec=path, batch_size=3, preprocess_threads=threads, **options)
    monkeypatch.setattr(image_source, "num_threads", lambda: 1)
    one = ImageRecordIter(path_imgrec=path, batch_size=3, preprocess_threads=1, **options)
    passes: list[Any] = []
    for _ in range(2):
        for batch, other in zip(it, one, strict=True):
            np.testing.assert_array_equal(batch.data[0].asnumpy(), other.data[0].asnumpy())
            passes.append(batch.data[0].asnumpy())
        it.reset()
        one.reset()
    assert not np.array_equal(passes[0], passes[len(passes) // 2])  # passes differ


def test_formats(tmp_path: Path, files: dict[str, bytes]) -> None:
    names = ["png", "grey", "alpha", "deep", "bmp", "jpg", "turned", "not_turned"]
    path = write(tmp_path, [files[name] for name in names])
    data = ImageRecordIter(path_imgrec=path, batch_size=8, **SHAPE).next().data[0].asnumpy()
    expected = picture()[:, :, ::-1].transpose(2, 0, 1)
    for place in (0, 4):
        np.testing.assert_array_equal(data[place], expected)
    grey = np.repeat(picture(1), 3, axis=2).transpose(2, 0, 1)
    np.testing.assert_array_equal(data[1], grey)
    assert np.abs(data[2] - picture(4)[:, :, 2::-1].transpose(2, 0, 1)).max() <= 1
    assert np.abs(data[3] - expected).max() <= 1
    for place in (5, 6, 7):  # JPEG, whose orientation is of no effect
        assert np.abs(data[place] - expected).mean() < 20
    alpha = write(tmp_path, [files["alpha"]])
    four = ImageRecordIter(path_imgrec=alpha, batch_size=1, data_shape=(4, 20, 26)).next()
    np.testing.assert_array_equal(
        four.data[0].asnumpy()[0], picture(4)[:, :, [2, 1, 0, 3]].transpose(2, 0, 1)
    )


def test_a_mean_image_is_made_once_and_used(tmp_path: Path, files: dict[str, bytes]) -> None:
    other = cv2.imencode(".png", 255 - picture())[1].tobytes()
    path = write(tmp_path, [files["png"], other, files["png"]])
    mean = str(tmp_path / "mean.bin")
    options = {"path_imgrec": path, "mean_img": mean, "batch_size": 2, **SHAPE}
    it = ImageRecordIter(**options)
    one = picture()[:, :, ::-1].transpose(2, 0, 1).astype(float)
    expected = (2 * one + (255 - one)) / 3
    np.testing.assert_allclose(mx.nd.load(mean)["mean_img"].asnumpy(), expected, rtol=1e-5)
    np.testing.assert_allclose(it.next().data[0].asnumpy()[0], one - expected, atol=1e-3)
    again = ImageRecordIter(**options, mirror=True, scale=2).next().data[0].asnumpy()[0]
    np.testing.assert_allclose(again, 2 * (one - expected)[:, :, ::-1], atol=1e-3)
    with pytest.raises(mx.MXNetError, match=r"must hold one mean image of the shape \(3, 5, 5\)"):
        ImageRecordIter(**{**options, "data_shape": (3, 5, 5)})


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"path_imgrec": ""}, "needs path_imgrec"),
        ({"data_shape": (5, 8, 8)}, "with 1, 3 or 4 channels, got"),
        ({"data_shape": "(3, 8, x)"}, "data_shape must be of the type"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"num_parts": 2, "part_index": 2}, "part_index must be from 0"),
        ({"dtype": "float64"}, "dtype must be one of"),
        ({"aug_seq": "mine"}, "aug_seq must be 'aug_default'"),
        ({"rand_crop": "maybe"}, "rand_crop must be of the type bool"),
        ({"resize": 3.5}, "resize must be of the type int"),
        ({"inter_method": 7}, "inter_method must be 0 to 4, 9 or 10"),
        ({"random_resized_crop": True, "rand_crop": True}, "random_resized_crop=True excludes"),
        ({"random_resized_crop": True, "min_aspect_ratio": 0}, "needs 0 < least width / height"),
        ({"preprocess_threads": 0}, "preprocess_threads must be at least 1"),
        ({"label_width": 0}, "label_width must be at least 1"),
    ],
)
def test_misuse(tmp_path: Path, options: dict[str, Any], match: str) -> None:
    path = write(tmp_path, [b"x"])
    with pytest.raises(mx.MXNetError, match=match):
        ImageRecordIter(**{"path_imgrec": path, "batch_size": 1, **SHAPE, **options})
    with pytest.raises(mx.MXNetError, match="needs the argument data_shape"):
        ImageRecordIter(path_imgrec=path, batch_size=1)


@pytest.mark.parametrize(
    ("row", "options", "match"),
    [
        (b"broken", {}, r"a\.rec, image 101: needs an image that can be decoded, got 6 bytes"),
        (b"", {}, "got 0 bytes that begin with nothing"),
        ("png", {"label_width": 2}, "image 100 must have label_width=2 labels, got 1"),
        ("png", {"data_shape": (4, 8, 8)}, "needs 4 channels, got 3"),
        ("png", {"max_crop_size": 50}, "and at most the sides of the image, 26 x 20"),
    ],
)
def test_a_faulty_image_is_named_and_the_next_pass_works(
    tmp_path: Path, files: dict[str, bytes], row: Any, options: dict[str, Any], match: str
) -> None:
    bad = files[row] if isinstance(row, str) else row
    path = write(tmp_path, [files["png"], bad])
    it = ImageRecordIter(path_imgrec=path, batch_size=2, **{**SHAPE, **options})
    for _ in range(2):
        with pytest.raises(mx.MXNetError, match=match):
            it.next()
        it.reset()


def test_a_file_truncated_in_the_middle(tmp_path: Path, files: dict[str, bytes]) -> None:
    path = write(tmp_path, [files["png"]] * 4)
    data = Path(path).read_bytes()
    Path(path).write_bytes(data[: len(data) * 5 // 8])
    it = ImageRecordIter(path_imgrec=path, batch_size=1, **SHAPE)
    assert [it.next().index.tolist() for _ in range(2)] == [[100], [101]]
    with pytest.raises(mx.MXNetError, match=r"a\.rec: record at byte \d+: \d+ bytes of data are"):
        it.next()
    with pytest.raises(mx.MXNetError, match="part 2 of 3 has no record, of 1"):
        (tmp_path / "a.idx").write_text("0\t0\n")
        index = str(tmp_path / "a.idx")
        ImageRecordIter(
            path_imgrec=path, path_imgidx=index, batch_size=1, num_parts=3, part_index=2, **SHAPE
        )


def test_every_image_is_in_one_part(tmp_path: Path, files: dict[str, bytes]) -> None:
    generator = np.random.default_rng(0)
    rows = [files["png"] + bytes(int(generator.integers(0, 400))) for _ in range(20)]
    path = write(tmp_path, rows)
    for parts in (1, 2, 3, 7):
        found: list[int] = []
        for part in range(parts):
            it = ImageRecordIter(
                path_imgrec=path, batch_size=1, num_parts=parts, part_index=part, **SHAPE
            )
            found += [int(batch.index[0]) for batch in it]
        assert found == list(range(100, 120))


def test_iterators_end_with_nothing_left_running(tmp_path: Path, files: dict[str, bytes]) -> None:
    """Broken off in the middle of a pass, again and again."""
    path = write(tmp_path, [files["png"]] * 40)
    before = None
    for _ in range(4):
        it = ImageRecordIter(path_imgrec=path, batch_size=2, shuffle=True, **SHAPE)
        it.next()
        it.reset()
        it.next()
        del it
        mx.nd.waitall()
        mx.engine.wait_for_all()
        if before is None:
            before = threading.active_count()
    assert threading.active_count() <= before


def test_pieces_in_an_order_by_chance(tmp_path: Path) -> None:
    """Pieces of a megabyte; each pass has all images, in another order of the pieces."""
    pixels = np.random.default_rng(0).integers(0, 256, (300, 300, 3), np.uint8)
    path = write(tmp_path, [cv2.imencode(".png", pixels)[1].tobytes()] * 16)
    it = ImageRecordIter(
        path_imgrec=path, batch_size=1, shuffle_chunk_size=1, data_shape=(3, 8, 8), resize=8
    )
    orders = []
    for _ in range(3):
        orders.append([int(batch.index[0]) for batch in it])
        it.reset()
    assert all(sorted(one) == list(range(100, 116)) for one in orders)
    assert len({tuple(one) for one in orders}) > 1
