"""The model zoo: MXNet's names and outputs, and trained parameters from a server."""

from __future__ import annotations

import hashlib
import json
import zipfile

import numpy as np
import pytest
from oracle import zoo_cases as cases
from places import ORACLE

import hybridnet as hn
from hybridnet import nd
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.gluon.model_zoo import get_model, model_store, vision

RECORDED = json.loads((ORACLE / "zoo.json").read_text())["networks"]


def test_all_parameters_have_mxnets_names() -> None:
    assert set(RECORDED) == set(vision._MODELS)
    for name, wanted in RECORDED.items():
        assert cases.names(cases.made(hn, name)) == wanted["names"], name


@pytest.mark.slow
@pytest.mark.parametrize("name", cases.SMALL)
def test_outputs_are_mxnets(name: str) -> None:
    found, wanted = cases.run(hn, name), RECORDED[name]
    assert found["shapes"] == wanted["shapes"]
    largest = wanted["outputs"][-1]
    np.testing.assert_allclose(found["outputs"], wanted["outputs"], atol=1e-4 * largest)


def test_small_pictures_and_few_classes() -> None:
    for name in ("resnet18_v1", "resnet50_v2"):
        net = get_model(name.upper(), classes=3, thumbnail=True, prefix="mine_")
        net.initialize()
        assert net(nd.ones((2, 3, 8, 8))).shape == (2, 3)
        assert all(one.startswith("mine_") for one in net.collect_params())


def test_misuse_is_refused() -> None:
    with pytest.raises(ParameterError, match="there is no network 'resnet19_v1'"):
        get_model("resnet19_v1")
    with pytest.raises(ParameterError, match="num_layers must be in"):
        vision.get_vgg(12)
    with pytest.raises(ParameterError, match="version must be"):
        vision.SqueezeNet("2.0")
    with pytest.raises(ParameterError, match="channels must be one more than the 2 layers, got 2"):
        vision.ResNetV1(vision.BasicBlockV1, [1, 1], [8, 8])
    with pytest.raises(ParameterError, match="no trained parameters for 'lenet'"):
        model_store.short_hash("lenet")


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A folder that stands for the server, with trained parameters of the smallest network."""
    net = get_model("mobilenet0.25", classes=2)
    net.initialize(hn.init.Xavier())
    net(nd.ones((1, 3, 32, 32)))
    net.save_parameters(tmp_path / "params")
    content = (tmp_path / "params").read_bytes()
    sha1 = hashlib.sha1(content).hexdigest()
    monkeypatch.setitem(model_store._model_sha1, "mobilenet0.25", sha1)
    folder = tmp_path / "server" / "gluon" / "models"
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / f"mobilenet0.25-{sha1[:8]}.zip", "w") as archive:
        archive.writestr(f"mobilenet0.25-{sha1[:8]}.params", content)
    monkeypatch.setenv("MXNET_GLUON_REPO", (tmp_path / "server").as_uri())
    return net, folder


def test_trained_parameters_are_fetched_once(repository, tmp_path) -> None:
    net, folder = repository
    root, x = str(tmp_path / "models"), nd.ones((1, 3, 32, 32))
    for _ in range(2):  # the second time the server is gone
        found = vision.mobilenet0_25(pretrained=True, root=root, classes=2)
        np.testing.assert_array_equal(found(x).asnumpy(), net(x).asnumpy())
        for archive in folder.iterdir():
            archive.unlink()
    (kept,) = (tmp_path / "models").iterdir()
    assert kept.suffix == ".params"
    model_store.purge(root)
    assert not kept.exists()


def test_files_are_kept_where_the_environment_says(repository, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "home"))
    path = model_store.get_model_file("mobilenet0.25")
    assert path.startswith(str(tmp_path / "home" / "models"))
    model_store.purge()
    assert list((tmp_path / "home" / "models").iterdir()) == []


def test_damaged_files_are_fetched_again_or_refused(repository, tmp_path) -> None:
    _, folder = repository
    root = tmp_path / "models"
    path = model_store.get_model_file("mobilenet0.25", str(root))
    with open(path, "r+b") as file:
        file.write(b"xxxx")
    assert model_store.get_model_file("mobilenet0.25", str(root)) == path
    (archive,) = folder.iterdir()
    with zipfile.ZipFile(archive, "w") as other:
        other.writestr(archive.stem + ".params", b"others")
    model_store.purge(str(root))
    with pytest.raises(FormatError, match="must have the SHA-1 hash"):
        model_store.get_model_file("mobilenet0.25", str(root))
    archive.write_bytes(b"none")
    with pytest.raises(FormatError, match="is no archive"):
        model_store.get_model_file("mobilenet0.25", str(root))
    assert list(root.iterdir()) == []


def test_parts_that_packages_import() -> None:
    """By MXNet's private names: gluon-face takes the first, several readers of text the second."""
    convolution = vision.resnet._conv3x3(8, 2, 4)
    convolution.initialize()
    assert convolution(nd.ones((1, 4, 6, 6))).shape == (1, 8, 3, 3)
    assert [one.shape for one in convolution.collect_params().values()] == [(8, 4, 3, 3)]
    block = vision.densenet._make_dense_block(2, 4, 3, 0.1, 1)
    block.initialize()
    assert block(nd.ones((1, 5, 6, 6))).shape == (1, 5 + 2 * 3, 6, 6)
    names = list(block.collect_params())
    assert names[0] == "stage1_batchnorm0_gamma" and names[-1] == "stage1_conv3_weight"
