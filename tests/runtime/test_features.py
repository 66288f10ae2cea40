"""What an installation can do, under MXNet's names."""

from __future__ import annotations

import importlib.util

import pytest
from helpers import run_script

import hybridnet as hn
from hybridnet.base.errors import ParameterError


def test_features_are_mxnets():
    features = hn.runtime.Features()
    assert hn.runtime.Features() is features
    assert list(features) == [each.name for each in hn.runtime.feature_list()]
    assert list(features)[:2] == ["CUDA", "CUDNN"] and len(features) == 32  # as in MXNet 1.9.1
    assert features.is_enabled("opencv") == (importlib.util.find_spec("cv2") is not None)
    assert features["LAPACK"].enabled and repr(features["LAPACK"]) == "✔ LAPACK"
    assert "✖ TVM_OP" in str(features)
    with pytest.raises(RuntimeError, match="one of CUDA, .*, got 'TELEPORT'"):
        features.is_enabled("TELEPORT")
    with pytest.raises(ParameterError):
        features.is_enabled("")


def test_asking_loads_no_jax():
    run_script(
        """
        import sys
        import hybridnet as hn
        hn.runtime.Features()
        assert "jax" not in sys.modules
        """
    )
