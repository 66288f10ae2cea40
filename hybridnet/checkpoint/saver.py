"""`Saver`: saves variables as training goes on, keeps the last few files, and restores them."""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from hybridnet import engine
from hybridnet.base.errors import MXNetError, OpError, ParameterError
from hybridnet.engine import RLock
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.placed import from_regions
from hybridnet.runtime.recording import Value, recorder
from hybridnet.runtime.tasks import was_told

from .faults import require
from .files import wait_for_saves
from .index import SUFFIX, PathLike, file_of, update_index
from .parts import remove_others
from .retention import Retention
from .slots import Slot, slots_of
from .stand_in import local_path, modified, name_of, remove
from .tensor_file import TensorFile, check_types, import_safetensors, open_tensors
from .writing import push_save

_log: Final = logging.getLogger("hybridnet.checkpoint")


@final
class PendingSave:
    """A checkpoint that is being written; made by `Saver.save_async`.

    Attributes:
        path: the checkpoint, without the suffix of its file.
    """

    def __init__(self, path: str, value: Value) -> None:
        self.path = path
        self._value = value

    @property
    def done(self) -> bool:
        """Whether it has been written, or could not be."""
        return self._value.array is not None or self._value.error is not None

    def wait(self) -> str:
        """Waits until the checkpoint is there; returns its path.

        Raises:
            OSError: it could not be written; the error names the file.
            OpError: a variable could not be computed.
        """
        try:
            recorder.wait(self._value)
        except OpError as error:
            if isinstance(error.__cause__, OSError):
                raise error.__cause__.with_traceback(None) from None
            raise
        finally:
            if self.done:
                _pending.discard(self)
        return self.path


#: Those that nobody has waited for; the interpreter's exit does.
_pending: Final[set[PendingSave]] = set()


@final
class Saver:
    """Saves variables to files and restores them.

        saver = hn.checkpoint.Saver({"net": net, "step": step})
        saver.save("run/model", 100)                             # run/model-100.safetensors
        saver.restore(hn.checkpoint.latest_checkpoint("run"))

    A file appears whole or not at all: whenever the process is killed, the checkpoint before that
    can be restored.

    Args:
        variables: arrays, parameters, blocks and trainers in a dict by name, or a block or a
            `ParameterDict` alone. What is inside of a block or dict has names such as
            ``net/0.weight``. Only these are saved and restored; a checkpoint may hold more.
        max_to_keep: how many checkpoints there may be; when there is one more, the oldest is
            removed. None keeps all.
        keep_every_n_hours: keep one of those, for good, of each so many hours; None keeps none.
        index: the name of the file in each folder that lists the checkpoints.
        reshape: restore a variable from one of another shape, too, that has as many elements.
        clock: gives the time, in seconds since 1970.

    Raises:
        ParameterError, DTypeError: a variable cannot be saved.
        ImportError: the package safetensors is not installed.
    """

    def __init__(
        self,
        variables: Any,
        *,
        max_to_keep: int | None = 5,
        keep_every_n_hours: float | None = None,
        index: str | None = None,
        reshape: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        import_safetensors()
        self._slots = slots_of(variables)
        if max_to_keep is not None and max_to_keep < 0:
            raise ParameterError(f"Saver: max_to_keep must be at least 0, got {max_to_keep}")
        self._clock = clock
        self._index = index
        self._reshape = reshape
        self._retention = Retention.begin(max_to_keep, keep_every_n_hours, clock())
        self._last: PendingSave | None = None
        # Held while files and index are changed: saves into two folders may run at once.
        self._lock = RLock()

    @property
    def names(self) -> list[str]:
        """The names of the variables."""
        return list(self._slots)

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that were made and not removed, oldest first."""
        with self._lock:
            return [path for path, _ in self._retention.held]

    def recover_last_checkpoints(
        self, checkpoints: Sequence[PathLike], times: Sequence[float] | None = None
    ) -> None:
        """Takes over checkpoints that another saver made, so that they are removed in their turn.

        Args:
            checkpoints: their names, oldest first; those that are not there are left out.
            times: when they were made; default when their files were written.
        """
        held = []
        for number, checkpoint in enumerate(checkpoints):
            with contextlib.suppress(FileNotFoundError):
                file = file_of(checkpoint)
                made = modified(file) if times is None else times[number]
                held.append((name_of(file).removesuffix(SUFFIX), made))
        with self._lock:
            self._retention = replace(self._retention, held=tuple(held))

    def save(
        self,
        prefix: PathLike,
        step: Any = None,
        *,
        index: str | None = None,
        listed: bool = True,
    ) -> str:
        """Saves the values of the variables, and waits until they are on the disk.

        Args:
            prefix: folder and name of the checkpoint. The folder is made where there is none.
            step: a whole number that comes after the name.
            index: the name of the index; default that of the saver.
            listed: False leaves the checkpoint out of the index, and it is never removed.

        Returns:
            The checkpoint's path, without the suffix of its file: ``run/model-100``.

        Raises:
            OSError: the file cannot be written; the error names it.
            MXNetError: a variable has no value.
        """
        return self.save_async(prefix, step, index=index, listed=listed).wait()

    def save_async(
        self,
        prefix: PathLike,
        step: Any = None,
        *,
        index: str | None = None,
        listed: bool = True,
    ) -> PendingSave:
        """Saves the values of this moment while the program goes on.

        What is changed afterwards is not in the file. The old values take memory until they are
        written, so that this waits first for the last save of this saver; and raises its error, if
        nobody has seen that. The interpreter's exit waits for all of them.

        Args:
            prefix, step, index, listed: see `save`.

        Returns:
            What to wait for.

        Raises:
            OSError: the last save failed.
            MXNetError: a variable has no value, or this is inside a traced function.
        """
        if recorder.current_trace() is not None:
            raise MXNetError("Saver: variables cannot be saved inside a traced function")
        last, self._last = self._last, None
        if last in _pending and not was_told(last._value):
            last.wait()
        path = path_of(prefix, step)
        values = {}
        for name, slot in self._slots.items():
            values[name] = slot.read().read()
            for inner, array in slot.further().items():
                values[f"{name}/{inner}"] = array.read()
        check_types({name: value.type for name, value in values.items()})

        def done(path: Path) -> None:
            if listed:
                self._note_saved(path, index or self._index)

        made = push_save(values, path.parent, lambda: path, done=done)
        self._last = PendingSave(name_of(path).removesuffix(SUFFIX), made)
        _note_pending(self._last)
        return self._last

    def _note_saved(self, path: Path, index: str | None = None) -> None:
        """Enters a file that was just written into the index, and removes what is too old."""
        checkpoint = name_of(path).removesuffix(SUFFIX)
        now = self._clock()
        with self._lock:
            after, removed = self._retention.saved(checkpoint, now)
            old = [local_path(name) for name in removed]
            here = [file.name for file in old if file.parent == path.parent]
            made = {path.name.removesuffix(SUFFIX): now}
            update_index(path.parent, made, here, after.preserved, index)
            self._retention = after
        for file in old:
            if file.parent != path.parent:
                update_index(file.parent, {}, [file.name], index=index)
            try:
                remove(file_of(file))
                remove_others(file_of(file))
            except OSError as error:
                _log.warning("an old checkpoint cannot be removed: %s", error)

    def restore(self, checkpoint: PathLike) -> None:
        """Sets the variables to the values in a checkpoint: all of them, or none.

        They need not be initialized.

        Args:
            checkpoint: its path, with or without the suffix of its file.

        Raises:
            FormatError: the file is damaged.
            ParameterError: it lacks a variable.
            ShapeError, DTypeError: it has one of another shape or dtype.
            OSError: it cannot be read.
        """
        if recorder.current_trace() is not None:
            raise MXNetError("Saver: variables cannot be restored inside a traced function")
        path = file_of(checkpoint)
        wait_for_saves(path.parent)
        with open_tensors(path) as file:
            wanted = {name: (slot.shape, slot.dtype) for name, slot in self._slots.items()}
            require(file, wanted, self._reshape)
            values = {name: _value(slot, name, file) for name, slot in self._slots.items()}
            further = {name: _further(slot, name, file) for name, slot in self._slots.items()}
        for name, value in values.items():
            shape = wanted[name][0]
            if (
                self._reshape
                and isinstance(value, np.ndarray)
                and shape is not None
                and None not in shape
            ):
                value = value.reshape(shape)
            self._slots[name].assign(value)
        for name, held in further.items():
            if held:
                self._slots[name].assign_further(held)


def _value(slot: Slot, name: str, file: TensorFile, inner: str = "") -> Any:
    """Returns the value of a variable; of one on a mesh, an array that lies as it is to lie."""
    full = f"{name}/{inner}" if inner else name
    kind = file.types[full]
    lies = slot.lies(kind.shape, inner)
    if lies is None:
        return file.read(full)
    return from_regions(kind, *lies, lambda wanted: file.read(full, wanted))


def _further(slot: Slot, name: str, file: TensorFile) -> dict[str, Any]:
    """Returns what a file has of a variable beside its value."""
    if not slot.has_further:
        return {}
    inner = [full.removeprefix(f"{name}/") for full in file.types if full.startswith(f"{name}/")]
    return {one: _value(slot, name, file, one) for one in inner}


def path_of(prefix: PathLike, step: Any = None) -> Path:
    """Returns the file of a checkpoint.

    Args:
        prefix: folder and name.
        step: what comes after the name: a whole number, or an array of one.

    Raises:
        ParameterError: there is no name, or the step is no whole number.
    """
    text = os.fsdecode(prefix).removesuffix(SUFFIX)
    if not os.path.basename(text):
        raise ParameterError(f"a checkpoint needs a name after its folder, got {prefix!r}")
    if step is None:
        return file_of(text)
    try:
        number = step.asscalar() if isinstance(step, NDArray) else step
        if int(number) != number or number < 0:
            raise ValueError
    except (TypeError, ValueError):
        raise ParameterError(
            f"a checkpoint's step must be a whole number from 0, got {step!r}"
        ) from None
    return file_of(f"{text}-{int(number)}")


def _note_pending(save: PendingSave) -> None:
    global _watching
    _pending.add(save)
    for done in [each for each in _pending if each.done and each._value.error is None]:
        _pending.discard(done)
    if not _watching:
        _watching = True
        engine.get()
        # Called before what was registered earlier: before the engine stops, which it does after
        # some seconds even if tasks are pending.
        getattr(threading, "_register_atexit", atexit.register)(_wait_at_exit)


_watching = False


def _wait_at_exit() -> None:
    for pending in list(_pending):
        try:
            if not was_told(pending._value):
                pending.wait()
        except KeyboardInterrupt:
            return  # the user is tired of waiting
        except Exception as error:  # nobody is left to whom it could be raised
            print(f"hybridnet.checkpoint: {pending.path} was not saved: {error}", file=sys.stderr)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pending.clear)  # they are the parent's
