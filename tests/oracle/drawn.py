"""Drawn calls of operators and MXNet's answers to them: the file that holds both.

`draw_cases.py` draws calls from the registry's typed parameters, `make_drawn.py` asks MXNet and
keeps some of each operator in ``answers_drawn.npz``; `draw_kinks.py` draws others, whose answers
are in ``answers_kinks.npz``. ``tests/ops/test_drawn.py`` compares ours.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import sys
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

if str(Path(__file__).resolve().parent) not in sys.path:
    sys.path.append(str(Path(__file__).resolve().parent))  # the tests are no package
from case import HERE, Case, Input

__all__ = [
    "DRAWN", "KINKS", "SPECIAL", "is_infinite", "is_kink", "is_special", "load", "pack",
    "special_inputs", "unpack",
]  # fmt: skip

Array = np.ndarray[Any, Any]
DRAWN, KINKS = "answers_drawn.npz", "answers_kinks.npz"
#: What is put into the inputs of a call whose name ends so: what arithmetic stumbles over.
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(one) for one in value) if isinstance(value, list) else value


def pack(case: Case) -> dict[str, Any]:
    """Returns a case as what JSON holds, without what is as by default."""
    plain = {
        "op": case.op,
        "inputs": [
            [list(one.shape), one.low, one.high, one.dtype, one.values] for one in case.inputs
        ],
        "attrs": case.attrs,
        "grads": case.grads,
        "after": case.after,
    }
    if case.outputs != 1:
        plain["outputs"] = case.outputs
    if not case.train:
        plain["train"] = False
    return {key: value for key, value in plain.items() if value not in ({}, (), [])}


def unpack(name: str, plain: Mapping[str, Any]) -> Case:
    """Returns the case that `pack` packed."""
    inputs = [
        Input(tuple(shape), low, high, dtype, _tuples(values))
        for shape, low, high, dtype, values in plain.get("inputs", ())
    ]
    return Case(
        name,
        plain["op"],
        tuple(inputs),
        {key: _tuples(value) for key, value in plain.get("attrs", {}).items()},
        tuple(plain.get("grads", ())),
        plain.get("outputs", 1),
        plain.get("train", True),
        tuple(plain.get("after", ())),
        "drawn",
    )


def is_special(case: Case) -> bool:
    """Whether NaN, infinities and zeros are put into the case's inputs."""
    return re.search(r"\ds$", case.name) is not None


def is_infinite(case: Case) -> bool:
    """Whether NaN or infinities are among the case's inputs."""
    return is_special(case) or case.name.endswith(" infinite")


def is_kink(case: Case) -> bool:
    """Whether the case is one of `draw_kinks.py`, with finite inputs."""
    return " " in case.name and not is_infinite(case)


def special_inputs(case: Case, inputs: Sequence[Array]) -> list[Array]:
    """Returns the inputs, with `SPECIAL` numbers among the floating ones of such a case."""
    if not is_special(case):
        return list(inputs)
    changed = []
    for index, one in enumerate(inputs):
        if one.dtype.kind == "f" and one.size and index in (case.grads or (0,)):
            random = np.random.RandomState(zlib.crc32(f"{case.name} special {index}".encode()))
            flat = one.reshape(-1).copy()
            count = min(len(SPECIAL), flat.size)
            flat[random.permutation(flat.size)[:count]] = random.permutation(SPECIAL)[:count]
            one = flat.reshape(one.shape)
        changed.append(one)
    return changed


@functools.cache
def load(name: str) -> tuple[dict[str, Case], dict[str, dict[str, Array]]]:
    """Returns a file's cases and answers by name; what has no answer is what MXNet refuses."""
    with np.load(HERE / name) as file:
        pools = {kind: file[kind] for kind in ("float32", "float64")}
        index = json.loads(bytes(file["index"]).decode())
        calls = json.loads(bytes(file["calls"]).decode())
    found: dict[str, dict[str, Array]] = {}
    for name, key, dtype, shape, kind, start in index:
        count = int(np.prod(shape, dtype=int))
        found.setdefault(name, {})[key] = (
            pools[kind][start : start + count].reshape(shape).astype(dtype)
        )
    return {name: unpack(name, plain) for name, plain in calls.items()}, found


def renamed(case: Case, name: str) -> Case:
    """Returns the case under another name, which its random numbers come from."""
    return dataclasses.replace(case, name=name)
