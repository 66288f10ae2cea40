"""Runs cases under MXNet 1.9.1 and writes its answers; see `case.py`.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_ops.py [FAMILY ...]

It also compares MXNet's gradients with numeric ones and lists those that differ, for a reader to
judge: loss layers take no head gradient, and kinks and ties give differences of their own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import case as cases
import mxnet as mx
import numpy as np

#: Namespaces that hold operators by the rest of their names.
PREFIXES = {
    "_contrib_": mx.nd.contrib,
    "_image_": mx.nd.image,
    "_linalg_": mx.nd.linalg,
}


def find(op: str) -> Any:
    """Returns MXNet's function of an operator."""
    for owner in (mx.nd, mx.nd._internal, mx.nd.op):
        if hasattr(owner, op):
            return getattr(owner, op)
    for prefix, owner in PREFIXES.items():
        if op.startswith(prefix) and hasattr(owner, op[len(prefix) :]):
            return getattr(owner, op[len(prefix) :])
    if op == "_np_cumsum":
        return mx.nd.cumsum
    raise LookupError(op)


def call(case: cases.Case, inputs: list) -> list:
    """Runs the operator; returns the list of its outputs."""
    attrs = dict(case.attrs)
    if "num_weights" in attrs and case.op.startswith(
        "multi_"
    ):  # these fail in MXNet unless told where to put the weights
        step = len(inputs) // attrs["num_weights"]
        attrs["out"] = [mx.nd.zeros_like(one) for one in inputs[::step]]
    out = find(case.op)(*inputs, **attrs)
    return list(out) if isinstance(out, (list, tuple)) else [out]


def answer(case: cases.Case) -> dict[str, np.ndarray]:
    """Returns the outputs, gradients and updated inputs of a case."""
    inputs = [mx.nd.array(one, dtype=one.dtype) for one in cases.make_inputs(case)]
    for index in case.grads:
        inputs[index].attach_grad()
    if case.grads:
        with mx.autograd.record(train_mode=case.train):
            outputs = call(case, inputs)
    else:
        with mx.autograd.train_mode() if case.train else mx.autograd.predict_mode():
            outputs = call(case, inputs)
    if case.attrs.get("act_type") == "rrelu":
        outputs = outputs[:1]  # the second is the mask of a training pass, else never written
    found = {f"out{i}": out.asnumpy() for i, out in enumerate(outputs)}
    if case.grads:
        heads = outputs[: case.outputs]
        head_grads = [
            mx.nd.array(cases.head_gradient(case, i, head.shape, head.dtype), dtype=head.dtype)
            for i, head in enumerate(heads)
        ]
        mx.autograd.backward(heads, head_grads, train_mode=case.train)
    mx.nd.waitall()
    found.update({f"grad{i}": inputs[i].grad.asnumpy() for i in case.grads})
    found.update({f"after{i}": inputs[i].asnumpy() for i in case.after})
    return found


def numeric_difference(case: cases.Case, found: dict[str, np.ndarray]) -> float:
    """Returns how far the gradients are from central differences along a random direction."""
    arrays = cases.make_inputs(case)
    worst = 0.0
    for index in case.grads:
        direction = np.random.RandomState(1).choice([-1.0, 1.0], arrays[index].shape)
        values = []
        for sign in (1, -1):
            moved = [mx.nd.array(one, dtype=one.dtype) for one in arrays]
            moved[index] += mx.nd.array(sign * 1e-2 * direction, dtype=arrays[index].dtype)
            with mx.autograd.record(train_mode=case.train):
                outputs = call(case, moved)[: case.outputs]
            values.append(
                sum(
                    (cases.head_gradient(case, i, out.shape, "float64") * out.asnumpy()).sum()
                    for i, out in enumerate(outputs)
                )
            )
        numeric = (values[0] - values[1]) / 2e-2
        exact = (found[f"grad{index}"].astype(np.float64) * direction).sum()
        worst = max(worst, abs(numeric - exact) / max(1.0, abs(exact)))
    return worst


def make(family: str, chosen: Sequence[cases.Case]) -> None:
    """Writes the answers of a family."""
    pools: dict[str, list[np.ndarray]] = {"float32": [], "float64": []}
    sizes = dict.fromkeys(pools, 0)
    index = []
    for case in chosen:
        try:
            found = answer(case)
            difference = numeric_difference(case, found)
        except (mx.MXNetError, TypeError, ValueError, LookupError, AttributeError) as error:
            lines = [line for line in str(error).splitlines() if "Error" in line or line]
            print(f"FAILED {case.name} {case.attrs}: {lines[-1][:200]}")
            continue
        if not difference < 0.03:
            print(f"differs from numeric: {case.name} {case.attrs} by {difference:.3g}")
        for key, array in found.items():
            kind = "float64" if array.dtype in (np.float64, np.int64) else "float32"
            index.append([case.name, key, array.dtype.name, list(array.shape), kind, sizes[kind]])
            pools[kind].append(array.reshape(-1).astype(kind))
            sizes[kind] += array.size
    text = json.dumps(index, separators=(",", ":")).encode()
    file = cases.HERE / f"answers_{family}.npz"
    np.savez_compressed(
        file,
        index=np.frombuffer(text, np.uint8),
        **{kind: np.concatenate([*parts, np.zeros(0, kind)]) for kind, parts in pools.items()},
    )
    print(f"{family}: {len(chosen)} cases, {file.stat().st_size} bytes")


def main() -> None:
    every = cases.families()
    for family in sys.argv[1:] or every:
        make(family, every[family])


if __name__ == "__main__":
    main()
