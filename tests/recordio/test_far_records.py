"""Records at s3://: how many bytes a relay in front of a real server of the protocol hands on."""

import random

import numpy as np
import pytest
from s3_server import BUCKET, s3_server

import hybridnet as mx
from hybridnet import gluon

FAR = f"s3://{BUCKET}/records"
COUNT, SIZE = 100, 100_000
#: What may be fetched over what is read; headers of requests and the index are among it.
MOST = 1.5


def row(key, size=SIZE):
    return np.random.default_rng(key).bytes(size)


@pytest.fixture(scope="module")
def s3():
    with s3_server() as server:
        with mx.recordio.MXIndexedRecordIO(f"{FAR}.idx", f"{FAR}.rec", "w") as file:
            for key in range(COUNT):
                file.write_idx(key, row(key))
        yield server


class Counted:
    """A block, after which `bytes` were received in it by `reads` requests."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.begin = self.server.relay.received, self.server.relay.reads
        return self

    def __exit__(self, *_):
        self.bytes = self.server.relay.received - self.begin[0]
        self.reads = self.server.relay.reads - self.begin[1]


def open_records():
    return mx.recordio.MXIndexedRecordIO(f"{FAR}.idx", f"{FAR}.rec", "r")


@pytest.mark.slow
@pytest.mark.parametrize("order", ["by chance", "in a row", "backwards", "each third"])
def test_reading_by_the_index(s3, order):
    keys = list(range(COUNT))
    if order == "by chance":
        random.Random(0).shuffle(keys)
    elif order == "backwards":
        keys.reverse()
    elif order == "each third":
        keys = keys[::3]
    with open_records() as file, Counted(s3) as counted:
        assert all(file.read_idx(key) == row(key) for key in keys)
    assert counted.bytes < MOST * SIZE * len(keys)


def test_reading_ahead_stops_where_the_reader_does(s3):
    with open_records() as file, Counted(s3) as counted:
        assert all(file.read_idx(key) == row(key) for key in range(10))
    assert counted.bytes < MOST * SIZE * 10


@pytest.mark.slow
@pytest.mark.parametrize("size", [10, 1000])
def test_small_records(s3, size):
    count = 200
    with mx.recordio.MXIndexedRecordIO(f"{FAR}-{size}.idx", f"{FAR}-{size}.rec", "w") as file:
        for key in range(count):
            file.write_idx(key, row(key, size))
    content = s3.get(f"records-{size}.rec")
    file = mx.recordio.MXIndexedRecordIO(f"{FAR}-{size}.idx", f"{FAR}-{size}.rec", "r")
    keys = random.Random(0).sample(range(count), count)
    with file, Counted(s3) as counted:
        assert list(file.read_in_order(keys)) == [row(key, size) for key in keys]
    # Answers have heads of some hundreds of bytes each.
    assert counted.bytes - 1000 * counted.reads < MOST * len(content)


def test_records_larger_than_an_index_is_believed(s3):
    with mx.recordio.MXIndexedRecordIO(f"{FAR}-large.idx", f"{FAR}-large.rec", "w") as file:
        for key in range(3):
            file.write_idx(key, row(key, 3 << 20))
    name = f"{FAR}-large"
    with mx.recordio.MXIndexedRecordIO(f"{name}.idx", f"{name}.rec", "r") as file:
        for keys in ([2, 0], [1, 2, 0]):
            with Counted(s3) as counted:
                assert all(file.read_idx(key) == row(key, 3 << 20) for key in keys)
            assert counted.bytes < MOST * (3 << 20) * len(keys)
            with Counted(s3) as counted:
                found = file.read_in_order(keys)
                assert all(one == row(key, 3 << 20) for key, one in zip(keys, found, strict=True))
            assert counted.bytes < MOST * (3 << 20) * len(keys)


def test_an_index_of_one_record_has_not_the_whole_file_fetched(s3):
    s3.client.put_object(Bucket=BUCKET, Key="one.idx", Body=b"0\t0\n")
    with (
        mx.recordio.MXIndexedRecordIO(f"s3://{BUCKET}/one.idx", f"{FAR}.rec", "r") as file,
        Counted(s3) as counted,
    ):
        assert file.read_idx(0) == row(0)
    assert counted.bytes < 2 << 20


def test_a_data_set(s3):
    data = gluon.data.RecordFileDataset(f"{FAR}.rec")
    with Counted(s3) as counted:
        loader = gluon.data.DataLoader(data, 10, shuffle=True, batchify_fn=list)
        found = sorted(row for batch in loader for row in batch)
    assert found == sorted(map(row, range(COUNT)))
    assert counted.bytes < MOST * SIZE * COUNT


@pytest.mark.slow
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_workers_read_for_themselves(s3, start):
    data = gluon.data.RecordFileDataset(f"{FAR}.rec")
    loader = gluon.data.DataLoader(data, 50, num_workers=2, batchify_fn=sizes)
    assert [list(batch) for batch in loader] == [[SIZE] * 50] * 2


def sizes(rows):
    return [len(one) for one in rows]


@pytest.fixture(scope="module")
def images(s3):
    """Records of images, and how many bytes they have."""
    cv2 = pytest.importorskip("cv2")
    with mx.recordio.MXIndexedRecordIO(f"{FAR}-i.idx", f"{FAR}-i.rec", "w") as file:
        for key in range(COUNT):
            pixels = np.random.default_rng(key).integers(0, 255, (64, 64, 3), np.uint8)
            png = cv2.imencode(".png", pixels)[1].tobytes()
            file.write_idx(key, mx.recordio.pack((0, float(key), key, 0), png))
    return len(s3.get("records-i.rec"))


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("with_index", [False, True])
def test_image_record_iter(s3, images, shuffle, with_index):
    index = {"path_imgidx": f"{FAR}-i.idx"} if with_index else {}
    with Counted(s3) as counted:
        found = mx.io.ImageRecordIter(
            path_imgrec=f"{FAR}-i.rec", data_shape=(3, 64, 64), batch_size=10, shuffle=shuffle,
            **index,
        )  # fmt: skip
        labels = np.concatenate([batch.label[0].asnumpy() for batch in found])
    assert sorted(labels) == list(range(COUNT))
    assert (list(labels) != list(range(COUNT))) == shuffle
    assert counted.bytes < MOST * images


@pytest.mark.parametrize("shuffle", [False, True])
def test_image_iter(s3, images, shuffle):
    with Counted(s3) as counted:
        found = mx.image.ImageIter(
            10, (3, 64, 64), path_imgrec=f"{FAR}-i.rec", path_imgidx=f"{FAR}-i.idx",
            shuffle=shuffle,
        )  # fmt: skip
        labels = np.concatenate([batch.label[0].asnumpy() for batch in found])
    assert sorted(labels) == list(range(COUNT))
    assert counted.bytes < MOST * images


def test_reading_in_a_row_takes_few_requests(s3):
    with mx.recordio.MXRecordIO(f"{FAR}.rec", "r") as file, Counted(s3) as counted:
        assert sum(len(one) for one in file) == COUNT * SIZE
    assert counted.reads < 20
    assert counted.bytes < 1.01 * COUNT * SIZE
