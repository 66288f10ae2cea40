"""`image` against MXNet's recorded answers: decoding, resizing, augmenters, iterators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import picture_cases
from places import ROOT

import hybridnet as mx


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    with np.load(ROOT / "tests" / "oracle" / "pictures.npz") as stored:
        return dict(stored)


@pytest.fixture(scope="module")
def ours(recorded: dict[str, Any]) -> dict[str, Any]:
    files = {name[5:]: one.tobytes() for name, one in recorded.items() if name.startswith("file_")}
    return picture_cases.answers(mx, files)


def test_the_same_cases_are_there(recorded: dict[str, Any], ours: dict[str, Any]) -> None:
    assert {name for name in recorded if not name.startswith("file_")} == set(ours)


@pytest.mark.parametrize(
    ("family", "most"),
    [
        # OpenCV's and libjpeg's versions round differently; MXNet has OpenCV 3.4.
        ("decode_", 3),
        ("resize_", 1e-3),
        ("short_", 2),
        ("border_", 0),
        ("fixed", 1e-3),
        ("random_", 1e-3),
        ("sized_", 1e-3),
        ("center", 1e-3),
        ("scale", 0),
        ("rotate_", 1e-4),
        ("aug_", 2e-3),
        ("create_", 2e-3),
        ("det_", 2e-3),
        ("iter_", 30),
    ],
)
def test_they_are_mxnets(
    recorded: dict[str, Any], ours: dict[str, Any], family: str, most: float
) -> None:
    names = [name for name in ours if name.startswith(family)]
    assert names
    for name in names:
        theirs, own = recorded[name], ours[name]
        if name.endswith("_text"):
            assert str(own) == str(theirs), name
            continue
        assert own.shape == theirs.shape, name
        assert own.dtype == theirs.dtype, name
        exact = name.endswith(("_label", "_pad", "_count")) or "_box_" in name
        difference = np.abs(own.astype(float) - theirs.astype(float))
        assert difference.max() <= (0 if exact else most), (name, own, theirs)
