"""Optimizer states that MXNet 1.9.1 wrote (`oracle/make_states.py`) are gone on from, safely."""

from __future__ import annotations

import base64
import json
import pickle
import pickletools
from collections import OrderedDict
from typing import Any

import damaged_files
import numpy as np
import pytest
from places import ORACLE

from hybridnet import nd, optimizer
from hybridnet.base.errors import FormatError
from hybridnet.base.inert_pickle import Inert, read_inert

CASES = json.loads((ORACLE / "mxnet_states.json").read_text())["optimizers"]


def restored(states: bytes, name: str = "sgd") -> optimizer.Updater:
    updater = optimizer.get_updater(optimizer.create(name))
    updater.set_states(states)
    return updater


@pytest.mark.parametrize("form", ["states", "old"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['name']}-{case['dtype']}")
def test_training_goes_on_where_mxnet_left_it(case: dict[str, Any], form: str) -> None:
    """The optimizer comes with its settings, counts and scheduler, whatever there was before."""
    updater = restored(base64.b64decode(case[form]))
    assert type(updater.optimizer).__name__.lower() == case["name"]
    assert updater.optimizer.num_update == 3 and updater.optimizer.learning_rate == 0.05
    weight = nd.array(case["before"], dtype=case["dtype"])
    for grad in case["grads"]:
        updater(0, nd.array(grad, dtype=case["dtype"]), weight)
    tolerance = 1e-6 if case["dtype"] == "float32" else 1e-3
    np.testing.assert_allclose(weight.asnumpy(), case["after"], rtol=tolerance, atol=1e-7)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['name']}-{case['dtype']}")
def test_states_alone_leave_the_optimizer_as_it_is(case: dict[str, Any]) -> None:
    updater = restored(base64.b64decode(case["without"]), case["name"])
    assert list(updater.states) == [0] and updater.optimizer.num_update == 0


class Bomb:
    def __reduce__(self) -> Any:
        return pytest.fail, ("the pickle was run",)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_what_a_pickle_names_is_never_run(protocol: int) -> None:
    for value in ({0: Bomb()}, {0: (nd.zeros(1).asnumpy(),)}, ({}, Bomb()), [1], 5, Bomb()):
        with pytest.raises(FormatError, match="optimizer states"):
            restored(pickle.dumps(value, protocol))


def test_damaged_pickles_are_errors() -> None:
    data = base64.b64decode(CASES[0]["states"])
    for cut in range(3, len(data), 37):
        with pytest.raises(FormatError, match="optimizer states"):
            restored(data[:cut])
    for old, new in ((b"num_update", b"num_updatf"), (b"\x8c\x03SGD", b"\x8c\x03SGE")):
        assert old in data
        with pytest.raises(FormatError, match="optimizer states"):
            restored(data.replace(old, new))
    with pytest.raises(FormatError, match="an array in the state of 0 is damaged"):
        restored(data.replace(b"\xc9\xfa\x93\xf9", b"\xc9\xfa\x93\xfa"))
    with pytest.raises(FormatError, match="bytes must be given as such, got int"):
        restored(b"\x80\x04}K\x00cbuiltins\nbytearray\n(I99999999999\ntRs.")


def test_plain_values_and_numpys_numbers_come_as_they_are() -> None:
    value = {"a": OrderedDict(x=[1, (2.5, None)]), "b": {1, 2}, "c": np.float32(0.5), "d": b"\xff"}
    value["e"] = np.array(7, ">i8")[()]
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert read_inert(pickle.dumps(value, protocol), "values") == value
    with pytest.raises(FormatError, match="must be plain ones, got dtype 'O8'"):
        read_inert(pickle.dumps(np.dtype(object)), "values")
    unknown = read_inert(pickle.dumps(pickletools.OpcodeInfo), "values")
    assert issubclass(unknown, Inert) and unknown.place == "pickletools.OpcodeInfo"


def test_a_place_that_is_only_claimed_takes_no_memory() -> None:
    """Nine bytes had Python's reader make room for 2**29 places, 4.1 GB."""
    with pytest.raises(FormatError, match="place 536870911 is claimed after 2 steps"):
        read_inert(b"\x80\x02}r\xff\xff\xff\x1f.", "nine bytes")


def test_tuples_in_tuples_do_not_end_the_process() -> None:
    """Python's own hash of such a key overflows the stack."""
    with pytest.raises(FormatError, match="more than 100 things lie in each other"):
        read_inert(b"\x80\x02})" + b"\x85" * 10**6 + b"K\x01s.", "deep")


def test_values_that_are_named_again_and_again_are_not_made_as_often() -> None:
    value: Any = [1, 2]
    for _ in range(50):
        value = [value, value]
    with pytest.raises(FormatError, match="holds more values than the file has bytes"):
        restored(pickle.dumps({0: value}))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["states", "old"])
def test_states_damaged_by_chance(tmp_path: Any, form: str) -> None:
    for number, case in enumerate(CASES[:2]):
        path = tmp_path / f"{number}.states"
        path.write_bytes(base64.b64decode(case[form]))
        assert damaged_files.run("states", path, 1000) == 0
