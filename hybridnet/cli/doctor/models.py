"""Files of models and records: whether hybridnet reads them. No pickle in them is run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from hybridnet.base.errors import FormatError, MXNetError
from hybridnet.base.params_file import load_params
from hybridnet.ops.core.registry import REGISTRY
from hybridnet.optimizer import create, get_updater
from hybridnet.recordio import scan
from hybridnet.symbol import load_json

from .findings import Findings, Group
from .project import Project

#: Larger files are opened, and not read to their end.
_MOST_BYTES: Final = 256 << 20
_PARAMS_MAGIC: Final = (0x112).to_bytes(8, "little")
_LFS: Final = b"version https://git-lfs"
#: What stands in a file in an operator's place, and is in no registry.
_OTHERS: Final = frozenset(("null", "Custom", "_foreach", "_while_loop", "_cond"))


def look_at_models(project: Project, findings: Findings) -> None:
    """Says which files of models, states and records hybridnet does not read."""
    for path in project.files:
        check = _check_of(path)
        if check is None:
            continue
        place = project.place(path)
        try:
            with path.open("rb") as file:
                start = file.read(64)
            if start.startswith(_LFS):
                findings.add(Group.CHANGE, "is not here yet: `git lfs pull`", place, path.name)
                continue
            for group, text in check(path, start):
                findings.add(group, text, place)
        except OSError as error:
            findings.add(Group.NOTE, f"cannot be read: {error.strerror}", place, path.name)
        except (MXNetError, ValueError, RecursionError, MemoryError) as error:
            text = " ".join(str(error).split()).replace(str(path), path.name)
            findings.add(Group.STOPS, f"{path.name}: {text}", place)


Said = Iterable[tuple[Group, str]]


def _check_of(path: Path) -> Callable[[Path, bytes], Said] | None:
    if path.name.endswith("symbol.json"):
        return _symbol
    return _CHECKS.get(path.suffix)


def _symbol(path: Path, start: bytes) -> Said:
    text = path.read_bytes()
    try:
        load_json(text)
    except FormatError:
        nodes = list(_nodes(json.loads(text)))
        custom = {str(_attributes(node).get("op_type")) for node in nodes if node["op"] == "Custom"}
        missing = {node["op"] for node in nodes} - set(REGISTRY) - _OTHERS
        for name in sorted(missing):
            yield Group.STOPS, f"a symbol's operator {name}: hybridnet has none of that name"
        for name in sorted(custom):
            said = f"a symbol has the operator {name!r} in Python: register it before it is loaded"
            yield Group.NOTE, said
        if not missing and not custom:
            raise


def _nodes(graph: Any) -> Iterator[Any]:
    if not isinstance(graph, dict) or not isinstance(graph.get("nodes"), list):
        return
    for node in graph["nodes"]:
        if isinstance(node, dict) and isinstance(node.get("op"), str):
            yield node
            inner = node.get("subgraphs") if node["op"] in _OTHERS else None
            for one in inner if isinstance(inner, list) else ():
                yield from _nodes(one)


def _attributes(node: Any) -> Any:
    found = next((node[key] for key in ("attrs", "attr", "param") if key in node), None)
    return found if isinstance(found, dict) else {}


def _params(path: Path, start: bytes) -> Said:
    if path.stat().st_size <= _MOST_BYTES:
        load_params(path)
    elif not start.startswith(_PARAMS_MAGIC):
        raise FormatError("does not begin as a file of MXNet's parameters does")
    return ()


def _states(path: Path, start: bytes) -> Said:
    if path.stat().st_size <= _MOST_BYTES:
        get_updater(create("sgd")).set_states(path.read_bytes())
    return ()


def _records(path: Path, start: bytes) -> Said:
    next(scan(path), None)
    return ()


def _index(path: Path, start: bytes) -> Said:
    records = path.with_suffix(".rec")
    if not records.exists():
        return ()  # no index of records
    size = records.stat().st_size
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            parts = line.split()
            if parts and not (len(parts) == 2 and parts[1].isdigit() and int(parts[1]) < size):
                raise FormatError(
                    f"line {number} must be a key and a place in {records.name}, which has {size} "
                    f"bytes, got {line[:40]!r}; `hybridnet rec index` makes the index anew"
                )
    return ()


def _onnx(path: Path, start: bytes) -> Said:
    return [(Group.NOTE, "ONNX models: `hybridnet convert onnx` and hybridnet.onnx read them")]


_CHECKS: Final[dict[str, Callable[[Path, bytes], Said]]] = {
    ".params": _params,
    ".states": _states,
    ".rec": _records,
    ".idx": _index,
    ".onnx": _onnx,
}
