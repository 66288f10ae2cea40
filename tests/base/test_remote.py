"""Files at addresses: memory:// and a server on this machine stand for what is far away."""

import numpy as np
import pytest
from file_server import serving

import hybridnet as mx
from hybridnet import gluon, nd, sym
from hybridnet.base import remote

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def far():
    """A folder in the memory's file system, empty at first."""
    system = fsspec.filesystem("memory")
    if system.exists("/far"):
        system.rm("/far", recursive=True)
    return "memory://far"


def names(folder):
    return sorted(path.rpartition("/")[2] for path in fsspec.filesystem("memory").ls("/far", False))


def write_records(path, count=5):
    with mx.recordio.MXIndexedRecordIO(f"{path}.idx", f"{path}.rec", "w") as file:
        for key in range(count):
            file.write_idx(key, b"%d" % key * (key + 1))


def test_what_an_address_is():
    assert remote.is_remote("s3://bucket/train.rec")
    assert not any(map(remote.is_remote, ("train.rec", "/a//b", r"C://a", "a:b", b"s3://x", None)))


def test_arrays(far):
    nd.save(f"{far}/x.params", {"w": nd.arange(6).reshape((2, 3))})
    loaded = nd.load(f"{far}/x.params")
    np.testing.assert_array_equal(loaded["w"].asnumpy(), [[0, 1, 2], [3, 4, 5]])
    with pytest.raises(FileNotFoundError):
        nd.load(f"{far}/missing.params")


def test_a_file_that_could_not_be_written_whole_is_not_there(far):
    with pytest.raises(ZeroDivisionError), mx.base.files.atomic_write(f"{far}/x") as file:
        file.write(b"a part")
        raise ZeroDivisionError
    assert not remote.file_exists(f"{far}/x")


def test_networks(far):
    net = gluon.nn.Dense(3, in_units=2, prefix="net_")
    net.initialize(mx.init.Xavier())
    net.save_parameters(f"{far}/net.params")
    other = gluon.nn.Dense(3, in_units=2, prefix="net_")
    other.load_parameters(f"{far}/net.params")
    np.testing.assert_array_equal(other.weight.data().asnumpy(), net.weight.data().asnumpy())
    symbol = sym.FullyConnected(sym.var("data"), num_hidden=3, name="fc")
    mx.model.save_checkpoint(f"{far}/run", 2, symbol, {"fc_bias": nd.ones(3)}, {})
    loaded, arguments, _ = mx.model.load_checkpoint(f"{far}/run", 2)
    assert loaded.tojson() == symbol.tojson()
    assert list(arguments) == ["fc_bias"]


def test_records(far):
    write_records(f"{far}/a")
    with mx.recordio.MXIndexedRecordIO(f"{far}/a.idx", f"{far}/a.rec", "r") as file:
        assert [file.read_idx(key) for key in (3, 0)] == [b"3333", b"0"]
        file.reset()
        assert len(list(file)) == 5
    dataset = gluon.data.RecordFileDataset(f"{far}/a.rec")
    assert dataset[1] == b"11"


def test_damaged_records_are_skipped_there_too(far):
    write_records(f"{far}/a")
    system = fsspec.filesystem("memory")
    content = bytearray(system.cat_file("/far/a.rec"))
    content[12] ^= 1  # the beginning of the second record
    system.pipe_file("/far/a.rec", bytes(content))
    with mx.recordio.MXRecordIO(f"{far}/a.rec", "r", skip_damaged=True) as file:
        assert list(file) == [b"0", b"222", b"3333", b"44444"]
        assert len(file.damages) == 1


def test_iterators(far):
    fsspec.filesystem("memory").pipe_file("/far/rows.csv", b"1,2\n3,4\n5,6\n")
    rows = mx.io.CSVIter(data_csv=f"{far}/rows.csv", data_shape=(2,), batch_size=3)
    np.testing.assert_array_equal(next(rows).data[0].asnumpy(), [[1, 2], [3, 4], [5, 6]])


def test_images_of_a_record_file(far):
    cv2 = pytest.importorskip("cv2")
    pixels = np.full((8, 8, 3), 90, np.uint8)
    png = cv2.imencode(".png", pixels)[1].tobytes()
    with mx.recordio.MXIndexedRecordIO(f"{far}/i.idx", f"{far}/i.rec", "w") as file:
        for key in range(4):
            file.write_idx(key, mx.recordio.pack((0, float(key), key, 0), png))
    images = mx.io.ImageRecordIter(
        path_imgrec=f"{far}/i.rec", data_shape=(3, 8, 8), batch_size=4, preprocess_threads=1
    )
    batch = next(images)
    np.testing.assert_array_equal(batch.label[0].asnumpy(), [0, 1, 2, 3])
    assert (batch.data[0].asnumpy() == 90).all()


def test_checkpoints(far):
    weight = nd.zeros(3)
    saver = mx.checkpoint.Saver({"weight": weight}, max_to_keep=2)
    for step in range(4):
        weight[:] = step
        assert saver.save(f"{far}/model", step) == f"{far}/model-{step}"
    assert names(far) == ["checkpoint", "model-2.safetensors", "model-3.safetensors"]
    assert mx.checkpoint.latest_checkpoint(far) == f"{far}/model-3"
    saver.restore(f"{far}/model-2")
    np.testing.assert_array_equal(weight.asnumpy(), [2, 2, 2])
    assert mx.checkpoint.list_variables(f"{far}/model-3") == [("weight", [3])]
    with pytest.raises(FileNotFoundError):
        saver.restore(f"{far}/model-0")
    assert mx.checkpoint.latest_checkpoint("memory://elsewhere") is None


@pytest.mark.parametrize("gives_parts", [False, True])
def test_a_server_of_files(tmp_path, gives_parts):
    pytest.importorskip("aiohttp")
    nd.save(str(tmp_path / "x.params"), [nd.arange(1000)])
    write_records(tmp_path / "a", 200)
    with serving(tmp_path) as server:
        server.gives_parts = gives_parts
        (loaded,) = nd.load(f"{server.url}/x.params")
        np.testing.assert_array_equal(loaded.asnumpy(), np.arange(1000))
        with mx.recordio.MXIndexedRecordIO(
            f"{server.url}/a.idx", f"{server.url}/a.rec", "r"
        ) as file:
            assert file.read_idx(150) == b"150" * 151
            assert file.read_idx(3) == b"3333"
        with pytest.raises(OSError):
            nd.load(f"{server.url}/missing.params")


def test_addresses_that_nobody_knows():
    with pytest.raises(mx.MXNetError, match="'odd://x': must be a path, or an address"):
        nd.load("odd://x")
