"""What the driver of GPUs is asked without JAX, and what is said where none can be used."""

from __future__ import annotations

import ctypes

import pytest

import hybridnet as hn
from hybridnet import nd
from hybridnet.base.errors import MXNetError
from hybridnet.cli.info import gpu_lines
from hybridnet.runtime.platform import cuda_driver


class Library:
    """Stands for libcuda: what its functions write to where the caller points."""

    def __init__(self, cuda=13000, failed=0, number=2):
        self.cuda, self.failed, self.number = cuda, failed, number

    def cuDriverGetVersion(self, out):
        out._obj.value = self.cuda
        return 0

    def cuInit(self, flags):
        return self.failed

    def cuDeviceGetCount(self, out):
        out._obj.value = self.number
        return 0

    def cuDeviceGetName(self, text, size, number):
        text.value = f"Card {number}".encode()
        return 0

    def cuDeviceTotalMem_v2(self, out, number):
        out._obj.value = 80 << 30
        return 0


@pytest.fixture
def machine(monkeypatch):
    """A function that makes this a machine with a driver and with packages of JAX's."""

    def make(library, *packages):
        def load(name, *_):
            if library is None:
                raise OSError(f"{name}: cannot open shared object file")
            return library

        cuda_driver.driver.cache_clear()
        monkeypatch.setattr(ctypes, "CDLL", load)
        monkeypatch.setattr(cuda_driver, "find_spec", lambda name: name in packages or None)
        monkeypatch.setattr(cuda_driver, "_read", lambda _: "535.54.03")
        monkeypatch.delenv("JAX_PLATFORMS", raising=False)

    yield make
    cuda_driver.driver.cache_clear()


NEW, OLD = ("jax_plugins", "jax_cuda13_plugin"), ("jax_plugins", "jax_cuda12_plugin")


def test_the_driver_is_asked(machine):
    machine(Library(), *NEW)
    assert cuda_driver.num_gpus() == 2 and cuda_driver.was_asked()
    told = cuda_driver.driver()
    assert told.names == ("Card 0", "Card 1") and told.sizes == (80 << 30, 80 << 30)
    assert told.cuda == (13, 0) and not told.fault


@pytest.mark.parametrize(
    "platforms, expected",
    [("cpu", 0), ("cuda", 2), ("cuda,cpu", 2), ("rocm", None), ("tpu,cpu", 0)],
)
def test_jaxs_platforms_count(machine, monkeypatch, platforms, expected):
    machine(Library(), *NEW)
    monkeypatch.setenv("JAX_PLATFORMS", platforms)
    assert cuda_driver.num_gpus() == expected


def test_only_jax_can_tell_of_others_plugins(machine):
    machine(None, "jax_plugins")
    assert cuda_driver.num_gpus() is None
    machine(None)
    assert cuda_driver.num_gpus() == 0


def test_a_driver_that_is_too_old(machine):
    machine(Library(cuda=12020), *NEW)
    assert cuda_driver.num_gpus() == 0
    said = cuda_driver.why_none()
    assert "driver 535.54.03 runs CUDA up to 12.2" in said
    assert "update the driver to 580 or later or install hybridnet[cuda12]" in said
    machine(Library(cuda=12020), *OLD)
    assert cuda_driver.num_gpus() == 2 and not cuda_driver.why_none()


def test_no_driver_no_package_and_a_hidden_card(machine):
    machine(None, *NEW)
    assert cuda_driver.num_gpus() == 0 and "no driver of NVIDIA's" in cuda_driver.why_none()
    machine(Library())
    assert cuda_driver.num_gpus() == 0
    assert "pip install 'hybridnet[gpu]'" in cuda_driver.why_none()
    machine(Library(failed=100), *NEW)
    assert cuda_driver.num_gpus() == 0 and "CUDA_VISIBLE_DEVICES" in cuda_driver.why_none()
    machine(Library(failed=12345), *NEW)
    assert "error 12345" in cuda_driver.why_none()


def test_the_error_says_why(machine):
    machine(Library(failed=100), *NEW)
    with pytest.raises(MXNetError, match=r"gpu\(0\): this process has no gpu .*CUDA_VISIBLE_DEV"):
        nd.ones((2,), ctx=hn.gpu(0)).wait_to_read()


def test_info_says_what_is_there_and_what_is_missing(machine):
    machine(Library(cuda=12020), *NEW)
    lines = [*gpu_lines()]
    assert lines[0] == "card 0: Card 0, 80.0 GiB"
    assert "driver 535.54.03, for CUDA up to 12.2" in lines
    assert lines[-1].startswith("none can be used: driver 535.54.03 runs CUDA up to 12.2")
