"""``tf.test``: unit tests of graphs."""

from __future__ import annotations

import os
import sys
import unittest
from collections.abc import Sequence
from unittest import mock as mock

from .session.config import num_gpus
from .testing.case import TestCase, get_temp_dir
from .testing.differences import compute_gradient, compute_gradient_error

__all__ = [
    "TestCase", "compute_gradient", "compute_gradient_error", "get_temp_dir", "gpu_device_name",
    "is_built_with_cuda", "is_gpu_available", "main", "test_src_dir_path",
]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Runs the tests of the script, and ends the process."""
    unittest.main(module="__main__", argv=list(sys.argv if argv is None else argv))


def is_gpu_available(
    cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None
) -> bool:
    """Whether there is a GPU; which one is not looked at."""
    return num_gpus() > 0


def is_built_with_cuda() -> bool:
    """Whether programs can run on GPUs of NVIDIA's: here, whether there is one."""
    return num_gpus() > 0


def gpu_device_name() -> str:
    """Returns the name of the first GPU, '' without one."""
    return "/device:GPU:0" if num_gpus() else ""


def test_src_dir_path(relative_path: str) -> str:
    """Returns the path of a file beside the script."""
    return os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), relative_path)
