"""Scripts written for TensorFlow 1.x run with another import, and learn step by step the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle.tf1_case import answers, run_script

import hybridnet.compat.tf1 as tf


@pytest.fixture(autouse=True)
def _a_graph_of_its_own():
    """Names of variables count on from those of the tests before."""
    tf.reset_default_graph()


pytestmark = pytest.mark.slow


def _assert_as_tensorflow(got: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert got.keys() == wanted.keys()
    for key, value in wanted.items():
        first = value[0] if isinstance(value, list) else value
        if isinstance(first, str):
            assert got[key] == value, key
        else:
            np.testing.assert_allclose(got[key], value, rtol=2e-4, atol=1e-7, err_msg=key)


def test_digits_by_softmax_regression_and_a_convolutional_network():
    _assert_as_tensorflow(run_script("mnist", "hybridnet.compat.tf1"), answers()["mnist"])


def test_an_image_between_two_by_vgg19():
    _assert_as_tensorflow(run_script("vgg19", "hybridnet.compat.tf1"), answers()["vgg19"])


def test_the_first_layers_with_channels_first():
    # TensorFlow has no such convolution on CPUs: its answers are those with the channels last.
    found = run_script("vgg19", "hybridnet.compat.tf1", FORMAT="NCHW", DEPTH="2")
    _assert_as_tensorflow(found, answers()["vgg19-short"])
