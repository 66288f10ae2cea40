"""Asks MXNet 1.9.1 about drawn calls and keeps some of each operator; see `drawn.py`.

    python tests/oracle/draw_cases.py candidates.json          # a Python with hybridnet
    python tests/oracle/make_drawn.py candidates.json          # a Python with mxnet==1.9.1

With a second argument, ``answers_kinks.npz``, it keeps every answer with few numbers and no
refusal: of what `draw_kinks.py` draws.

MXNet sometimes ends the process, or hangs, on a bad call. So calls run in child processes; a call
whose child dies is dropped, and the next child goes on behind it. What MXNet refuses by an error
is an answer.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from drawn import DRAWN, HERE, is_special, special_inputs, unpack

#: Answers kept of each operator, refusals among them, and answers with gradients.
KEPT, REFUSALS, GRADIENTS = 10, 1, 5
_SECONDS = 20  # for one call
# Numbers in an answer: small ones say as much.
_SMALL, _LARGE = 120, 400


def find_numpy(op: str, otherwise: Any) -> Any:
    """Returns MXNet's function of an operator of its NumPy front end, else of the other one."""
    from mxnet.ndarray import numpy, numpy_extension

    owners = {"_npi_": (numpy._internal,), "_np_": (numpy._op,), "_npx_": (numpy_extension._op,)}
    for prefix, places in owners.items():
        for place in places:
            name = op.removeprefix(prefix)
            if op.startswith(prefix) and hasattr(place, name):
                return getattr(place, name)
    return otherwise(op)


def ask(path: str, output: str, start: int) -> None:
    """Runs the calls from a number on, and appends each answer to a file: in the child."""
    import case as cases
    import make_ops
    import mxnet as mx

    make, find, nd_array = cases.make_inputs, make_ops.find, mx.nd.array
    cases.make_inputs = lambda case: special_inputs(case, make(case))
    make_ops.find = lambda op: find_numpy(op, find)
    calls = list(json.loads(Path(path).read_text(encoding="utf-8")).items())
    with open(output, "ab") as file:
        for name, plain in calls[start:]:
            case = unpack(name, plain)
            signal.alarm(_SECONDS)
            numpy = case.op.startswith(("_np_", "_npi_", "_npx_"))
            mx.nd.array = mx.np.array if numpy else nd_array
            # Outside this scope a size of 0 means an unknown one to MXNet.
            empty = any(0 in one.shape for one in case.inputs if one.values is None)
            try:
                with (
                    mx.util.np_shape(empty or numpy),
                    mx.util.np_array(numpy),
                    np.errstate(all="ignore"),
                ):
                    found: Any = make_ops.answer(case)
            except Exception as error:
                if type(error) is LookupError:
                    pickle.dump((name, None), file)  # there is no such function
                    continue
                text = str(error).strip().splitlines() or [type(error).__name__]
                found = next((one for one in text if "Error" in one or "Check" in one), text[0])
            pickle.dump((name, found), file)
            file.flush()


def answers(path: str) -> dict[str, Any]:
    """Returns what MXNet said to each call: arrays, or the text of an error."""
    count = len(json.loads(Path(path).read_text(encoding="utf-8")))
    found: dict[str, Any] = {}
    done = 0
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "answers")
        while done < count:
            open(output, "wb").close()
            command = [sys.executable, __file__, path, output, str(done)]
            environ = {**os.environ, "MXNET_ENGINE_TYPE": "NaiveEngine", "OMP_NUM_THREADS": "1"}
            child = subprocess.run(command, env=environ, capture_output=True, check=False)
            with open(output, "rb") as file:
                while True:
                    try:
                        name, answer = pickle.load(file)
                    except EOFError:
                        break
                    found[name] = answer
                    done += 1
            if child.returncode and done < count:
                done += 1  # the call that ended the child
                print(f"died ({child.returncode}) after {done} calls")
    return found


def choose(calls: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Returns the calls that are kept: of each operator some that work and few that do not."""
    by_operator: dict[str, list[str]] = defaultdict(list)
    for name in calls:
        if found.get(name) is not None:
            by_operator[calls[name]["op"]].append(name)
    kept = []
    for names in by_operator.values():
        refused = [name for name in names if isinstance(found[name], str)]
        sizes = {
            name: sum(one.size for one in found[name].values())
            for name in names
            if not isinstance(found[name], str)
        }
        works = [name for name, size in sizes.items() if size <= _SMALL]
        works += [name for name, size in sizes.items() if _SMALL < size <= _LARGE]
        kept += works[: KEPT - min(REFUSALS, len(refused))] + refused[:REFUSALS]
    return kept


def small(found: dict[str, Any]) -> list[str]:
    """Returns the calls that MXNet takes and whose answers hold few numbers."""
    return [
        name
        for name, one in found.items()
        if isinstance(one, dict) and sum(array.size for array in one.values()) <= _SMALL
    ]


def without_gradients(calls: dict[str, Any], found: dict[str, Any]) -> None:
    """Drops the gradients of all but the first calls of each operator: they cost most to check."""
    counts: Counter[str] = Counter()
    for name, plain in calls.items():
        counts[plain["op"]] += 1
        # The inputs with special numbers are those with gradients.
        if (
            counts[plain["op"]] <= GRADIENTS
            or is_special(unpack(name, plain))
            or isinstance(found[name], str)
        ):
            continue
        if plain.pop("grads", None):
            found[name] = {k: one for k, one in found[name].items() if not k.startswith("grad")}


def write(file: Path, calls: dict[str, Any], found: dict[str, Any]) -> None:
    """Writes an answers file."""
    pools: dict[str, list[np.ndarray]] = {"float32": [], "float64": []}
    sizes = dict.fromkeys(pools, 0)
    index = []
    for name in calls:
        if isinstance(found[name], str):
            continue
        for key, array in found[name].items():
            kind = "float64" if array.dtype in (np.float64, np.int64) else "float32"
            index.append([name, key, array.dtype.name, list(array.shape), kind, sizes[kind]])
            pools[kind].append(array.reshape(-1).astype(kind))
            sizes[kind] += array.size
    texts = {
        key: np.frombuffer(json.dumps(value, separators=(",", ":")).encode(), np.uint8)
        for key, value in (("index", index), ("calls", calls))
    }
    np.savez_compressed(
        file, **texts, **{kind: np.concatenate(parts) for kind, parts in pools.items()}
    )


def main() -> None:
    path = sys.argv[1]
    if len(sys.argv) == 4:
        ask(path, sys.argv[2], int(sys.argv[3]))
        return
    file = HERE / (sys.argv[2] if len(sys.argv) == 3 else DRAWN)
    calls = json.loads(Path(path).read_text(encoding="utf-8"))
    found = answers(path)
    kept = set(choose(calls, found) if file.name == DRAWN else small(found))
    chosen = {name: plain for name, plain in calls.items() if name in kept}
    if file.name == DRAWN:
        without_gradients(chosen, found)
    write(file, chosen, found)
    counts = Counter(plain["op"] for plain in chosen.values())
    few = {op: counts[op] for op in {plain["op"] for plain in calls.values()} if counts[op] < 10}
    unknown = {calls[name]["op"] for name in calls if found.get(name, "") is None}
    print(f"{len(counts)} operators, {len(chosen)} cases, {file.stat().st_size} bytes")
    print(f"fewer than 10 cases: {few}")
    print(f"not found in MXNet: {sorted(unknown)}")


if __name__ == "__main__":
    main()
