"""Calls on sparse arrays whose answers by MXNet 1.9.1 are kept in ``sparse.json``.

Both `make_sparse.py` (under MXNet) and our tests run them, as ``run(mx, case, make(mx, case))``;
and what optimizers make of row-sparse gradients, as ``train(mx, name)``.
"""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np

__all__ = ["CASES", "OPTIMIZERS", "STEPS", "called", "make", "run", "train"]

A = np.array([[0, 1, 0], [2, 0, 3], [0, 0, 0], [-4, 0, 0]], np.float32)
B = np.array([[0, 5, 1], [0, 0, 3], [0, 0, 0], [0, 0, 7]], np.float32)
D = np.arange(12, dtype=np.float32).reshape(3, 4) - 5
ROW = np.array([[2, -1, 4]], np.float32)
COLUMN = np.array([[2], [-1], [4], [0.5]], np.float32)
WIDE = np.zeros((5, 6), np.float32)
WIDE[1, 2], WIDE[1, 4], WIDE[4, 0] = 0.5, -2, 3
NOTHING = np.zeros((4, 3), np.float32)
ARRAYS = {"A": A, "B": B, "D": D, "ROW": ROW, "COLUMN": COLUMN, "WIDE": WIDE, "NOTHING": NOTHING}
STORED = ("csr", "row_sparse")
ALL = (*STORED, "default")

Case = tuple[str, tuple[str, ...], dict[str, Any]]

#: Name -> operator, inputs as 'array:storage', parameters. Of Python's operators the name is
#: 'py.add' or the like; other names are looked up in `nd`. A number can be an input.
CASES: dict[str, Case] = {}


def add(op: str, *inputs: str, **attrs: Any) -> None:
    """Adds a case, named by what it is."""
    words = [op, *inputs, *(f"{key}={value}" for key, value in attrs.items())]
    CASES[" ".join(words)] = (op, inputs, attrs)


for op in ("add", "sub", "mul", "div"):
    for a, b in itertools.product(ALL, ALL):
        if not a == b == "default":
            add(f"py.{op.replace('div', 'truediv')}", f"A:{a}", f"B:{b}")
            add(f"elemwise_{op}", f"A:{a}", f"B:{b}")
            # MXNet fails at broadcast_div of csr and dense of one shape.
            if (op, a, b) != ("div", "csr", "default"):
                add(f"broadcast_{op}", f"A:{a}", f"B:{b}")
for op, a in itertools.product(("add", "sub", "mul", "truediv", "gt", "lt", "eq", "ne"), STORED):
    for number in ("0", "1.5", "-1.5"):
        if (op, number) != ("truediv", "0"):
            add(f"py.{op}", f"A:{a}", number)
    add(f"py.{op}", "2", f"A:{a}")
for op in ("mul", "truediv"):
    for other in ("ROW", "COLUMN"):
        add(f"py.{op}", "A:csr", f"{other}:default")
FUNCTIONS = (
    "abs sign rint ceil floor trunc fix round negative square sqrt relu cbrt expm1 sin tan arcsin "
    "arctan sinh tanh arcsinh degrees radians cos cosh exp sigmoid log1p "
    "stop_gradient make_loss zeros_like ones_like"
)
for op, a in itertools.product(FUNCTIONS.split(), STORED):
    add(op, f"A:{a}")
for a, axis, keepdims in itertools.product(STORED, (None, 0, 1, -1, (0, 1)), (False, True)):
    add("sum", f"A:{a}", axis=axis, keepdims=keepdims)
    add("mean", f"WIDE:{a}", axis=axis, keepdims=keepdims)
for a in STORED:
    add("norm", f"A:{a}")
    add("norm", f"NOTHING:{a}")
    add("norm", f"A:{a}", ord=1)
    add("norm", f"A:{a}", axis=1)
    add("clip", f"A:{a}", a_min=-1, a_max=2)
    add("add_n", f"A:{a}", f"B:{a}")
    add("add_n", f"A:{a}", "B:default")
    add("concat", f"A:{a}", f"B:{a}", dim=0)
    add("concat", f"A:{a}", f"B:{a}", dim=1)
    add("where", f"A:{a}", "B:default", "A:default")
    add("transpose", f"A:{a}")
    add("cast_storage", f"A:{a}", stype="default")
    add("cast_storage", "A:default", stype=a)
    add("cast_storage", "NOTHING:default", stype=a)
    add("slice", f"WIDE:{a}", begin=(1,), end=(4,))
    add("slice", f"WIDE:{a}", begin=(0, 1), end=(5, 4))
    add("slice", f"WIDE:{a}", begin=(1, None), end=(None, -1))
    add("broadcast_to", f"ROW:{a}", shape=(4, 3))
for a, b, ta, tb in itertools.product(ALL, ALL, (False, True), (False, True)):
    if not a == b == "default":
        lhs, rhs = "AT" if ta else "A", "DT" if tb else "D"
        add("dot", f"{lhs}:{a}", f"{rhs}:{b}", transpose_a=ta, transpose_b=tb)
add("dot", "A:csr", "D:default", forward_stype="row_sparse")
add("dot", "AT:csr", "D:default", transpose_a=True, forward_stype="default")
add("dot", "WIDE:csr", "WIDE:default", transpose_a=True)
add("dot", "NOTHING:csr", "D:default")
add("dot", "NOTHING:csr", "A:default", transpose_a=True)
for chosen in ((0, 1), (2,), (1, 3), (0, 1, 2, 3), (), (0,), (0, 2), (2, 3), (1, 2), (3,)):
    add("sparse.retain", "A:row_sparse", rows=chosen)
add("sparse.retain", "NOTHING:row_sparse", rows=(1, 2))
ARRAYS |= {"AT": np.ascontiguousarray(A.T), "DT": np.ascontiguousarray(D.T)}
for op in ("add", "subtract", "multiply", "divide"):
    for a, b in itertools.product(ALL, ALL):
        add(f"sparse.{op}", f"A:{a}", f"B:{b}")
    for a in STORED:
        add(f"sparse.{op}", f"A:{a}", "1.5")
        if op in ("add", "multiply"):  # of the others MXNet takes the number for the second
            add(f"sparse.{op}", "2", f"A:{a}")
# The parts of a matrix, or a shape, or an array.
for parts in (([1.5, 2.0, 3.0], [0, 2, 1], [0, 2, 2, 3]), ([1, 2], [3, 0], [0, 1, 1, 2]),
              ([4.0, -1.0], [1, 3], [0, 0, 0, 2])):  # fmt: skip
    add("sparse.csr_matrix", arg1=parts)
    add("sparse.csr_matrix", arg1=parts, shape=(3, 4))
    add("sparse.csr_matrix", arg1=parts, shape=(3, 4), dtype="float64")
for parts in ([[0, 1], [2, 0]], ([7.0], [0], [0, 1]), (3, 2), (1, 1)):
    add("sparse.csr_matrix", arg1=parts)
add("sparse.csr_matrix", arg1=([], [], [0, 0, 0]), shape=(2, 3))
for parts in (([[1.0, 2.0], [3.0, 4.0]], [0, 3]), ([[7, 8, 9]], [1]), ([1.0, 2.0], [1, 2]),
              ([[1.0, 2.0], [3.0, 4.0]], [1, 4]), (3, 2), (2, 1, 2), [[0, 1], [0, 0]]):  # fmt: skip
    add("sparse.row_sparse_array", arg1=parts)
    if isinstance(parts[0], list):
        add("sparse.row_sparse_array", arg1=parts, dtype="float64")
add("sparse.row_sparse_array", arg1=([[1.0, 2.0]], [1]), shape=(4, 2))
for name in ("A", "WIDE", "NOTHING"):
    add("sparse.csr_matrix", f"{name}:default")
    add("sparse.row_sparse_array", f"{name}:default")
    for a in STORED:
        add("sparse.array", f"{name}:{a}")
for a, dtype in itertools.product(STORED, ("float64", "int32")):
    add("sparse.array", f"A:{a}", dtype=dtype)
for a, shape in itertools.product(ALL, ((2, 3), (4, 1))):
    add("sparse.zeros", stype=a, shape=shape)
    add("sparse.zeros", stype=a, shape=shape, dtype="int32")
for options in ({}, {"lr": 0.5}, {"rescale_grad": 0.5}, {"clip_gradient": 1.0},
                {"epsilon": 1e-3}):  # fmt: skip
    for grad in ("A", "B"):
        add("sparse.adagrad_update", "D4:default", f"{grad}:row_sparse", "E4:default",
            **{"lr": 0.1, **options})  # fmt: skip
# A weight and its history.
ARRAYS |= {"D4": D.reshape(4, 3) + 0.5, "E4": np.abs(D.reshape(4, 3)) + 0.5}


def make(mx: Any, case: Case) -> list[Any]:
    """Returns the inputs of a case: arrays of the package `mx`, and numbers."""
    made = []
    for one in case[1]:
        name, _, stype = one.partition(":")
        made.append(mx.nd.array(ARRAYS[name]).tostype(stype) if stype else float(name))
    return made


def run(mx: Any, case: Case, inputs: list[Any]) -> Any:
    """Runs a case; returns its result."""
    op, _, attrs = case
    if op.startswith("py."):
        return getattr(operator, op[3:])(*inputs)
    if op == "sparse.retain":
        return mx.nd.sparse.retain(*inputs, mx.nd.array(attrs["rows"]))
    if op == "sparse.adagrad_update":  # MXNet refuses to write elsewhere
        attrs = {**attrs, "out": inputs[0]}
    return operator.attrgetter(op)(mx.nd)(*inputs, **attrs)


def called(name: str) -> str:
    """Returns the path of the function of `nd.sparse` that a case calls, or nothing.

    Others have answers with all their values elsewhere: here mostly the storage is compared.
    """
    op = CASES[name][0]
    return f"nd.{op}" if op.startswith("sparse.") else ""


#: Optimizers whose steps by row-sparse gradients are kept, with their arguments.
OPTIMIZERS: dict[str, tuple[str, dict[str, Any]]] = {
    "sgd": ("sgd", {"learning_rate": 0.1, "wd": 0.01}),
    "momentum": ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01}),
    "momentum, all rows": (
        "sgd",
        {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01, "lazy_update": False},
    ),
    "adam": ("adam", {"learning_rate": 0.05, "wd": 0.01, "clip_gradient": 1.5}),
    "adam, all rows": ("adam", {"learning_rate": 0.05, "lazy_update": False}),
    "adagrad": ("adagrad", {"learning_rate": 0.1}),
    "ftrl": ("ftrl", {"learning_rate": 0.1, "lamda1": 0.02, "wd": 0.01}),
}
#: Which rows of a (6, 2) weight each step's gradient holds.
STEPS = ((1, 4), (0, 1), (4,), (1, 2, 5))


def train(mx: Any, name: str, stype: str = "default") -> Any:
    """Returns a weight, of some storage, after the steps of an optimizer."""
    kind, arguments = OPTIMIZERS[name]
    update = mx.optimizer.get_updater(mx.optimizer.create(kind, **arguments))
    weight = mx.nd.array(np.linspace(-1, 1, 12).reshape(6, 2)).tostype(stype)
    for number, rows in enumerate(STEPS):
        values = np.sin(np.arange(2 * len(rows)) + number).reshape(-1, 2) * 2
        values = values.astype(np.float32)
        update(0, mx.nd.sparse.row_sparse_array((values, list(rows)), shape=(6, 2)), weight)
    return weight
