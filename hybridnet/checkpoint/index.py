"""The index of a folder of checkpoints: which there are, and which is the latest.

It is a small JSON file, `checkpoint` by default, that is replaced as a whole after a checkpoint is
there, and before old ones are removed. So at every moment what it lists is there and whole::

    {"version": 1, "latest": "model-20", "preserved": null,
     "checkpoints": [{"name": "model-10", "time": 1.5e9}, {"name": "model-20", "time": 1.5e9}]}

A checkpoint is called by its path without the suffix of its file: ``run/model-20`` is in
``run/model-20.safetensors``. The index holds names only, so that a folder can be moved.

Several savers, also of several processes, may share a folder: each changes its own part of the
index, under the folder's lock. Whoever asks for a checkpoint waits first for what this process has
asked to be saved in that folder.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from hybridnet.base.errors import FormatError, ParameterError

from .files import folder_lock, wait_for_saves, whole_file
from .stand_in import exists, fetch, forget, local_folder, local_path, name_of

#: The name of an index, and the end of a checkpoint file's name.
INDEX: Final = "checkpoint"
SUFFIX: Final = ".safetensors"
_VERSION: Final = 1
#: How the text that TensorFlow writes there begins.
_TENSORFLOW: Final = b"model_checkpoint_path:"
_MOST_SECONDS: Final = 1e15  # no time, whatever its unit was meant to be; NaN is not below it
_log: Final = logging.getLogger("hybridnet.checkpoint")

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class CheckpointState:
    """The content of a folder's index.

    Attributes:
        model_checkpoint_path: the latest checkpoint, without the suffix of its file.
        all_model_checkpoint_paths: all that are there, oldest first, the latest included.
        all_model_checkpoint_timestamps: when they were made, in seconds since 1970.
        last_preserved_timestamp: when the last one was made that is never removed; None if there
            is none.
    """

    model_checkpoint_path: str
    all_model_checkpoint_paths: tuple[str, ...]
    all_model_checkpoint_timestamps: tuple[float, ...]
    last_preserved_timestamp: float | None = None


@dataclass(frozen=True, slots=True)
class _Index:
    """The content of an index file: names and times, oldest first, and the latest's name."""

    times: dict[str, float]
    latest: str
    preserved: float | None


def file_of(checkpoint: PathLike) -> Path:
    """Returns the file of a checkpoint that was named with the suffix or without.

    Raises:
        ParameterError: it is no path; so None is what `latest_checkpoint` gives where none is.
    """
    try:
        path = os.fsdecode(checkpoint)
    except TypeError:
        hint = "; there is no checkpoint in that folder yet" if checkpoint is None else ""
        raise ParameterError(
            f"a checkpoint is named by a path such as 'run/model-20', got {checkpoint!r}{hint}"
        ) from None
    return local_path(path if path.endswith(SUFFIX) else path + SUFFIX)


def checkpoint_exists(checkpoint: PathLike) -> bool:
    """Whether there is a checkpoint of this name, with the suffix of its file or without."""
    path = file_of(checkpoint)
    wait_for_saves(path.parent)
    return exists(path)


def latest_checkpoint(folder: PathLike, index: str | None = None) -> str | Any:
    """Returns the latest checkpoint in a folder, without the suffix of its file.

    Args:
        folder: where to look.
        index: the name of the index in it; default 'checkpoint'.

    Returns:
        The newest one that the index lists and that is there; None if there is none.

    Raises:
        FormatError: the index is damaged, or TensorFlow's.
        OSError: it cannot be read.
    """
    state = get_checkpoint_state(folder, index)
    if state is None:
        return None
    newest_first = (state.model_checkpoint_path, *reversed(state.all_model_checkpoint_paths))
    return next((path for path in newest_first if checkpoint_exists(path)), None)


def get_checkpoint_state(folder: PathLike, index: str | None = None) -> CheckpointState | None:
    """Returns the content of a folder's index; None where there is none.

    Args:
        folder: where to look.
        index: the name of the index in it; default 'checkpoint'.

    Raises:
        FormatError: the index is damaged, or TensorFlow's.
        OSError: it cannot be read.
    """
    base = os.fsdecode(folder)
    place = local_folder(base)
    wait_for_saves(place)
    found = _read(place / (index or INDEX))
    if found is None or not found.times:
        return None
    return CheckpointState(
        os.path.join(base, found.latest),
        tuple(os.path.join(base, path) for path in found.times),
        tuple(found.times.values()),
        found.preserved,
    )


def update_index(
    folder: Path,
    made: dict[str, float],
    removed: Sequence[str] = (),
    preserved: float | None = None,
    index: str | None = None,
) -> None:
    """Adds checkpoints to the index of a folder, and takes others out.

    A damaged index is replaced: it is there to find checkpoints, and these can be told by name.

    Args:
        folder: where they are.
        made: when they were made, by name; the last one becomes the latest.
        removed: names of checkpoints whose files are about to go.
        preserved: see `CheckpointState`.
        index: the name of the index; default 'checkpoint'.

    Raises:
        OSError: it cannot be written.
    """
    path = folder / (index or INDEX)
    with folder_lock(folder):
        try:
            before = _read(path)
        except FormatError as error:
            _log.warning("%s; it is replaced", error)
            before = None
        times = dict(before.times) if before is not None else {}
        for name in [*made, *removed]:
            times.pop(name, None)
        times = {name: time for name, time in times.items() if exists(file_of(folder / name))}
        times.update(made)
        if preserved is None and before is not None:
            preserved = before.preserved
        text = json.dumps(
            {
                "version": _VERSION,
                "latest": next(reversed(times), ""),
                "preserved": preserved,
                "checkpoints": [{"name": name, "time": time} for name, time in times.items()],
            },
            indent=1,
        )
        with whole_file(path, locked=True) as file:
            file.write(text.encode() + b"\n")


def _read(path: Path) -> _Index | None:
    """Reads an index file; None where there is none."""
    try:
        fetch(path)
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    forget(path)
    if raw.lstrip().startswith(_TENSORFLOW):
        raise FormatError(
            f"{name_of(path)}: the index of checkpoints is TensorFlow's, whose checkpoints cannot "
            "be read; take another folder, or move this one away to begin anew"
        )
    try:
        found = json.loads(raw)
        listed = [(entry["name"], entry["time"]) for entry in found["checkpoints"]]
        index = _Index(dict(listed), found["latest"], found["preserved"])
        version = found["version"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _damaged(path, f"cannot be read ({type(error).__name__}: {error})") from error
    if version != _VERSION:
        raise _damaged(path, f"must be of version {_VERSION}, got {version!r}")
    for name in (*index.times, index.latest):
        # Plain names of this folder: an index from elsewhere must not point out of it.
        if not isinstance(name, str) or name != os.path.basename(name) or name in (".", ".."):
            raise _damaged(path, f"must list names of files of its folder, got {name!r}")
    for time in (*index.times.values(), index.preserved or 0.0):
        if not isinstance(time, (int, float)) or not abs(time) < _MOST_SECONDS:
            raise _damaged(path, f"must give times in seconds, got {time!r}")
    if index.times and index.latest not in index.times:
        raise _damaged(path, f"must list the latest checkpoint, {index.latest!r}")
    return index


def _damaged(path: Path, what: str) -> FormatError:
    return FormatError(
        f"{name_of(path)}: the index of checkpoints {what}; remove it, and restore checkpoints "
        "by name"
    )
