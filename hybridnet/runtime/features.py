"""`Features`: what this installation can do, under the names that MXNet gives to such things."""

from __future__ import annotations

import importlib.util
from collections import OrderedDict
from pathlib import Path
from typing import ClassVar, Final, NamedTuple, final

from hybridnet.base import config
from hybridnet.base.errors import ParameterError
from hybridnet.native import onednn

# MXNet's names of what processors have, and those that Linux gives to these.
_PROCESSOR: Final = {
    "CPU_SSE": "sse",
    "CPU_SSE2": "sse2",
    "CPU_SSE3": "pni",
    "CPU_SSE4_1": "sse4_1",
    "CPU_SSE4_2": "sse4_2",
    "CPU_SSE4A": "sse4a",
    "CPU_AVX": "avx",
    "CPU_AVX2": "avx2",
}
_GPU_PLUGINS: Final = ("jax_cuda13_plugin", "jax_cuda12_plugin")


class Feature(NamedTuple):
    """Something that an installation can do or not.

    Attributes:
        name: MXNet's name of it.
        enabled: whether it can.
    """

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


def feature_list() -> list[Feature]:
    """Returns what this installation can do, in MXNet's order; loads nothing.

    ``CUDA`` says whether JAX's part for such GPUs is installed, and ``MKLDNN`` whether oneDNN is.
    """
    cuda = any(map(_is_installed, _GPU_PLUGINS))
    flags = _processor_flags()
    has = {
        "CUDA": cuda,
        "CUDNN": cuda,
        "NCCL": cuda,
        "CUDA_RTC": False,
        "TENSORRT": False,
        **{name: flag in flags for name, flag in _PROCESSOR.items()},
        "OPENMP": False,  # XLA and NumPy have threads of their own
        "SSE": "sse" in flags,
        "F16C": "f16c" in flags,
        "JEMALLOC": False,
        "BLAS_OPEN": True,  # NumPy's
        "BLAS_ATLAS": False,
        "BLAS_MKL": False,
        "BLAS_APPLE": False,
        "LAPACK": True,
        "MKLDNN": config.onednn() and onednn.name() is not None,
        "OPENCV": _is_installed("cv2"),
        "CAFFE": False,
        "PROFILER": True,
        "DIST_KVSTORE": False,
        "CXX14": False,
        "INT64_TENSOR_SIZE": False,
        "SIGNAL_HANDLER": True,
        "DEBUG": False,
        "TVM_OP": False,
    }
    return [Feature(name, enabled) for name, enabled in has.items()]


@final
class Features(OrderedDict[str, Feature]):
    """The features of this installation, by name; there is one such object."""

    instance: ClassVar[Features | None] = None

    def __new__(cls) -> Features:
        """Returns the one object."""
        if cls.instance is None:
            made = super().__new__(cls)
            OrderedDict.__init__(made, {each.name: each for each in feature_list()})
            cls.instance = made
        return cls.instance

    def __init__(self) -> None:
        """Leaves it as it is."""

    def __repr__(self) -> str:
        return str(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether the installation can do something.

        Args:
            feature_name: its name, in any case.

        Raises:
            ParameterError: there is no such name.
        """
        found = self.get(feature_name.upper())
        if found is None:
            raise ParameterError(
                f"Features: the name must be one of {', '.join(self)}, got {feature_name!r}"
            )
        return found.enabled


def _is_installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _processor_flags() -> frozenset[str]:
    """Returns what Linux says that the processor has; elsewhere nothing."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return frozenset()
    flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    return frozenset(flags.partition(":")[2].split())
