"""`train.Saver`: the variables of a session in files, over `hybridnet.checkpoint`.

A checkpoint ``model-10`` is the one file ``model-10.safetensors``; there are no ``.meta`` files, as
graphs are made by the program that restores. The index of a folder is called ``checkpoint``, as
TensorFlow's is, and is JSON.
"""

from __future__ import annotations

import errno
import math
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, final

import numpy as np

from hybridnet import checkpoint
from hybridnet.base import DTypeError, FormatError, ParameterError, ShapeError
from hybridnet.checkpoint import INDEX, file_of, update_index
from hybridnet.ndarray import NDArray, concat

from .. import errors
from ..dtypes import DType, as_dtype
from ..graph import GraphKeys, Tensor, get_default_graph
from ..variables.partitioned import PartitionedVariable
from ..variables.variable import Variable

__all__ = [
    "CheckpointReader", "CheckpointState", "NewCheckpointReader", "Saver", "checkpoint_exists",
    "get_checkpoint_mtimes", "get_checkpoint_state", "latest_checkpoint", "list_variables",
    "load_checkpoint", "load_variable", "remove_checkpoint", "update_checkpoint_state",
]  # fmt: skip

CheckpointState = checkpoint.CheckpointState
PathLike = str | os.PathLike[str]

#: Digits of a step where it is padded.
_DIGITS: Final = 8
_OS_ERRORS: Final = {
    errno.EACCES: errors.PermissionDeniedError,
    errno.EPERM: errors.PermissionDeniedError,
    errno.ENOSPC: errors.ResourceExhaustedError,
    errno.EDQUOT: errors.ResourceExhaustedError,
    errno.EFBIG: errors.ResourceExhaustedError,
}


class _Current(threading.local):
    """The values of variables that this thread saves or restores."""

    values: Mapping[Any, NDArray] | None = None
    assigned: dict[Any, np.ndarray[Any, Any]] | None = None


@final
class _VariableSlot(checkpoint.Slot):
    """A variable of whichever session is being saved or restored.

    Args:
        parts: of the variable, which a checkpoint has whole; or it itself.
        current: the values that are saved or restored.
    """

    __slots__ = ("axis", "current", "parts")

    def __init__(self, parts: Sequence[Variable], current: _Current) -> None:
        self.parts = list(parts)
        self.current = current
        info = parts[0]._save_slice_info
        sizes = [] if info is None else zip(info.full_shape, info.var_shape, strict=True)
        cut = (axis for axis, (whole, part) in enumerate(sizes) if whole != part)
        self.axis = next(cut, 0)

    @property
    def shape(self) -> tuple[int | None, ...] | None:
        """The shape of the whole."""
        first = self.parts[0]
        if first._save_slice_info is not None:
            return tuple(first._save_slice_info.full_shape)
        return None if first.shape.ndims is None else tuple(first.shape.as_list())

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of its elements."""
        return self.parts[0].dtype.base_dtype.numpy

    def read(self) -> NDArray:
        """Returns its value in the session."""
        assert self.current.values is not None
        first, *rest = (self.current.values[one] for one in self.parts)
        if not rest:
            return first
        return concat(first, *(one.as_in_context(first.context) for one in rest), dim=self.axis)

    def assign(self, value: np.ndarray[Any, Any]) -> None:
        """Sets it in the session, together with the others."""
        assert self.current.assigned is not None
        values = [value]
        if len(self.parts) > 1:
            ends = np.cumsum([one.shape[self.axis].value for one in self.parts])
            values = np.split(value, ends[:-1], self.axis)
        self.current.assigned.update(zip(self.parts, values, strict=True))


@final
class Saver:
    """Saves the variables of sessions to checkpoints, and restores them.

        saver = tf.train.Saver()
        saver.save(sess, "run/model", global_step=step)      # run/model-100.safetensors
        saver.restore(sess, tf.train.latest_checkpoint("run"))

    A file appears whole or not at all; what is restored need not be initialized. A variable in
    parts (`tf.get_variable` with a partitioner) is in a file as one, by its name without
    ``/part_0``, and so are the slots of optimizers: it can be restored into another number of
    parts, or none.

    Args:
        var_list: variables, or a dict of them by their names in files; default all global ones.
            Of a variable in parts all parts must be there, or it itself; a dict may have it or a
            list of its parts.
        reshape: whether a value of as many elements and another shape is taken, too.
        sharded: without meaning here: a checkpoint is one file.
        max_to_keep: how many checkpoints there may be; None or 0 keeps all.
        keep_checkpoint_every_n_hours: keep one of so many hours for good.
        saver_def, builder: without meaning here; must be None.
        defer_build: look for the variables when they are first saved or restored.
        allow_empty: let there be no variables.
        name, restore_sequentially, write_version: without meaning here.
        pad_step_number: write steps with eight digits.
        save_relative_paths: without meaning here: they always are.
        filename: what is restored where no path is given.

    Raises:
        ValueError: there are no variables, two of one name, or only some parts of one.
        TypeError: something is no variable.
        ImportError: the package safetensors is not installed.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = 2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if saver_def is not None or builder is not None:
            raise ValueError("Saver: saver_def and builder are not supported; give var_list")
        if defer_build and var_list is not None:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        self._given = var_list
        self._reshape = reshape
        self._allow_empty = allow_empty
        self._max_to_keep = max_to_keep or None
        self._keep_every = keep_checkpoint_every_n_hours
        self._pad = pad_step_number
        self._filename = filename
        self._current = _Current()
        self._inner: checkpoint.Saver | None = None
        self._variables: tuple[Any, ...] = ()
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Looks for the variables, unless that was done."""
        if self._inner is None:
            found = _named(self._given, self._allow_empty)
            self._variables = tuple(one for parts in found.values() for one in parts)
            slots = {name: _VariableSlot(parts, self._current) for name, parts in found.items()}
            self._inner = checkpoint.Saver(
                slots,
                max_to_keep=self._max_to_keep,
                keep_every_n_hours=self._keep_every,
                reshape=self._reshape,
            )

    # -- saving ------------------------------------------------------------------------------

    def save(
        self,
        sess: Any,
        save_path: PathLike,
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str:
        """Saves the values that variables have in a session, and waits for the file.

        Args:
            sess: the session.
            save_path: folder and name of the checkpoint; the folder is made if need be.
            global_step: a number that comes after the name: an integer, or a tensor or variable of
                one.
            latest_filename: the name of the index; default 'checkpoint'.
            write_state: False leaves the checkpoint out of the index, and it is never removed.
            meta_graph_suffix, write_meta_graph, strip_default_attrs, save_debug_info: without
                meaning here: graphs are not saved.

        Returns:
            The checkpoint's path: ``run/model-100``.

        Raises:
            TypeError: `sess` is no session, or `global_step` no integer.
            ValueError: the index would have the checkpoint's name.
            tf.errors.FailedPreconditionError: a variable has no value.
            tf.errors.OpError: the file cannot be written; the message names it.
        """
        pending = self.save_async(sess, save_path, global_step, latest_filename, write_state)
        with _as_errors():
            return pending.wait()

    def save_async(
        self,
        sess: Any,
        save_path: PathLike,
        global_step: Any = None,
        latest_filename: str | None = None,
        write_state: bool = True,
    ) -> checkpoint.PendingSave:
        """Saves the present values of the variables while the session runs on.

        TensorFlow has no such method. The arguments are those of `save`.

        Returns:
            The pending save; its method ``wait()`` returns the path.
        """
        self.build()
        path = os.fspath(save_path)
        name = os.path.basename(path)
        if (latest_filename or INDEX) == name:
            raise ValueError(f"'latest_filename' collides with 'save_path': '{name}' and '{path}'")
        step = _step_of(sess, global_step)
        if step is not None and self._pad:
            path, step = f"{path}-{step:0{_DIGITS}d}", None
        with self._on(sess) as inner, _as_errors():
            self._current.values = sess.values_of(self._variables)
            return inner.save_async(path, step, index=latest_filename, listed=write_state)

    # -- restoring ---------------------------------------------------------------------------

    def restore(self, sess: Any, save_path: PathLike | None) -> None:
        """Sets variables in a session to the values of a checkpoint: all of them, or none.

        Args:
            sess: the session; its variables need not be initialized.
            save_path: the checkpoint.

        Raises:
            ValueError: there is no such checkpoint.
            tf.errors.NotFoundError: it lacks a variable; the message gives the nearest names.
            tf.errors.InvalidArgumentError: a variable has another shape or dtype there.
            tf.errors.DataLossError: the file is damaged.
        """
        self.build()
        save_path = self._filename if save_path is None else save_path
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        if not checkpoint.checkpoint_exists(save_path):
            raise ValueError(
                f"The passed save_path is not a valid checkpoint: {os.fspath(save_path)}"
            )
        with self._on(sess) as inner, _as_errors():
            self._current.assigned = {}
            inner.restore(save_path)
            sess.load_all(self._current.assigned)

    # -- the checkpoints there are -----------------------------------------------------------

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that it made and did not remove, oldest first."""
        return [] if self._inner is None else self._inner.last_checkpoints

    def set_last_checkpoints(self, last_checkpoints: Sequence[PathLike]) -> None:
        """Takes over checkpoints, oldest first; see `recover_last_checkpoints`."""
        self.recover_last_checkpoints(last_checkpoints)

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: Sequence[tuple[PathLike, float]]
    ) -> None:
        """Takes over checkpoints with the times at which they were made, oldest first."""
        paths, times = ([one[place] for one in last_checkpoints_with_time] for place in (0, 1))
        self._take_over(paths, times)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[PathLike]) -> None:
        """Takes over checkpoints of an earlier process, so that they are removed in their turn.

        Args:
            checkpoint_paths: their paths, oldest first; those that are not there are left out.
        """
        self._take_over(list(checkpoint_paths))

    def _take_over(self, paths: list[Any], times: list[Any] | None = None) -> None:
        self.build()
        assert self._inner is not None
        self._inner.recover_last_checkpoints(paths, times)

    @contextmanager
    def _on(self, sess: Any) -> Iterator[checkpoint.Saver]:
        if not hasattr(sess, "value_of"):
            raise TypeError(f"'sess' must be a Session; {sess}")
        assert self._inner is not None
        try:
            yield self._inner
        finally:
            self._current.values = self._current.assigned = None


def _named(given: Any, allow_empty: bool) -> dict[str, list[Variable]]:
    """Returns variables by the names that they have in files, each with all its parts."""
    if given is None:
        given = get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES)
        given += get_default_graph().get_collection(GraphKeys.SAVEABLE_OBJECTS)
    if not given:
        if allow_empty:
            return {}
        raise ValueError("No variables to save")
    if isinstance(given, Mapping):
        found = {name: _parts(one) for name, one in given.items()}
    else:
        found = {}
        for one in (part for each in given for part in _parts(each)):
            info = one._save_slice_info
            parts = found.setdefault(one.op.name if info is None else info.full_name, [])
            if parts and (info is None or one in parts):
                raise ValueError(f"At least two variables have the same name: {one.op.name}")
            parts.append(one)
    for name, parts in found.items():
        if parts[0]._save_slice_info is not None:
            _require_whole(name, parts)
        elif len(parts) > 1:
            raise TypeError(f"Variable to save is not a Variable: {parts}")
    return found


def _parts(one: Any) -> list[Variable]:
    parts = list(one) if isinstance(one, (list, tuple, PartitionedVariable)) else [one]
    for each in parts:
        if not isinstance(each, Variable):
            raise TypeError(f"Variable to save is not a Variable: {each}")
    return parts


def _require_whole(name: str, parts: list[Variable]) -> None:
    infos = [one._save_slice_info for one in parts]
    if any(one is None for one in infos) or len({(i.full_name, *i.full_shape) for i in infos}) > 1:
        raise ValueError(f"Saver: {name!r} is to hold variables that are not parts of one: {parts}")
    parts.sort(key=lambda one: one._save_slice_info.var_offset)
    sizes = [math.prod(one.var_shape) for one in infos]
    if sum(sizes) != math.prod(infos[0].full_shape):
        raise ValueError(
            f"Saver: all parts of {infos[0].full_name!r} must be saved and restored together, got "
            f"only {[one.op.name for one in parts]}; give the variable as tf.get_variable returned "
            "it"
        )


def _step_of(sess: Any, step: Any) -> int | None:
    if isinstance(step, (Variable, Tensor)):  # of any dtype: scripts make them float32, too
        return int(sess.run(step))
    if step is None:
        return None
    if not isinstance(step, (int, np.integer, np.ndarray)) or isinstance(step, bool):
        raise TypeError(f"global_step must be an integer, a tensor or a variable, got {step!r}")
    return int(step)


@contextmanager
def _as_errors() -> Iterator[None]:
    """Turns errors into TensorFlow's kinds."""
    try:
        yield
    except ParameterError as error:
        raise errors.NotFoundError(str(error)) from error
    except FormatError as error:
        raise errors.DataLossError(str(error)) from error
    except (ShapeError, DTypeError) as error:
        raise errors.InvalidArgumentError(str(error)) from error
    except OSError as error:
        kind = _OS_ERRORS.get(error.errno or 0, errors.UnknownError)
        raise kind(str(error)) from error


# -- checkpoints without variables -----------------------------------------------------------


@final
class CheckpointReader:
    """Reads single variables of a checkpoint.

    Args:
        filename: the checkpoint.

    Raises:
        tf.errors.NotFoundError: there is none.
        tf.errors.DataLossError: it is damaged.
    """

    def __init__(self, filename: PathLike) -> None:
        self._path = filename
        if not checkpoint.checkpoint_exists(filename):
            raise errors.NotFoundError(
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files for "
                f"{os.fspath(filename)}"
            )
        with _as_errors():
            self._types = checkpoint.variable_types(filename)

    def has_tensor(self, tensor_str: str) -> bool:
        """Whether there is a variable of this name."""
        return tensor_str in self._types

    def get_tensor(self, tensor_str: str) -> np.ndarray[Any, Any]:
        """Returns the value of a variable.

        Raises:
            tf.errors.NotFoundError: there is none of this name.
        """
        with _as_errors():
            return checkpoint.load_variable(self._path, tensor_str)

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Returns the shapes by name."""
        return {name: list(one.shape) for name, one in self._types.items()}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Returns the dtypes by name."""
        return {name: as_dtype(one.dtype) for name, one in self._types.items()}


NewCheckpointReader = CheckpointReader


def load_checkpoint(ckpt_dir_or_file: PathLike) -> CheckpointReader:
    """Returns a reader of a checkpoint, or of the latest one in a folder.

    Raises:
        ValueError: there is none in the folder.
    """
    found: PathLike | None = ckpt_dir_or_file
    if os.path.isdir(ckpt_dir_or_file):
        found = latest_checkpoint(ckpt_dir_or_file)
    if found is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {ckpt_dir_or_file}"
        )
    return CheckpointReader(found)


def list_variables(ckpt_dir_or_file: PathLike) -> list[tuple[str, list[int]]]:
    """Returns names and shapes of the variables in a checkpoint, or in the latest of a folder."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def load_variable(ckpt_dir_or_file: PathLike, name: str) -> np.ndarray[Any, Any]:
    """Returns the value of a variable in a checkpoint, or in the latest of a folder."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def latest_checkpoint(checkpoint_dir: PathLike, latest_filename: str | None = None) -> str | None:
    """Returns the path of the latest checkpoint in a folder; None where there is none."""
    with _as_errors():
        return checkpoint.latest_checkpoint(checkpoint_dir, latest_filename)


def get_checkpoint_state(
    checkpoint_dir: PathLike, latest_filename: str | None = None
) -> CheckpointState | None:
    """Returns what the index of a folder says; None where there is none."""
    with _as_errors():
        return checkpoint.get_checkpoint_state(checkpoint_dir, latest_filename)


def update_checkpoint_state(
    save_dir: PathLike,
    model_checkpoint_path: PathLike,
    all_model_checkpoint_paths: Sequence[PathLike] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Enters checkpoints into the index of their folder.

    Args:
        save_dir: the folder.
        model_checkpoint_path: the latest.
        all_model_checkpoint_paths: others, oldest first.
        latest_filename: the name of the index; default 'checkpoint'.
        all_model_checkpoint_timestamps: when they were made; default when their files were written.
        last_preserved_timestamp: see `CheckpointState`.
    """
    paths = [*(all_model_checkpoint_paths or ()), model_checkpoint_path]
    times = list(all_model_checkpoint_timestamps or get_checkpoint_mtimes(paths[:-1]))
    names = [os.path.basename(file_of(one)).removesuffix(".safetensors") for one in paths]
    made = dict(zip(names[:-1], times, strict=True))
    latest = made.pop(names[-1], None)
    made[names[-1]] = latest if latest is not None else get_checkpoint_mtimes([paths[-1]])[0]
    folder = file_of(os.path.join(save_dir, names[-1])).parent
    update_index(folder, made, (), last_preserved_timestamp, latest_filename)


def checkpoint_exists(checkpoint_prefix: PathLike) -> bool:
    """Whether there is a checkpoint of this path."""
    return checkpoint.checkpoint_exists(checkpoint_prefix)


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[PathLike]) -> list[float]:
    """Returns when checkpoints were written, in seconds since 1970; those that are there."""
    files = [file_of(one) for one in checkpoint_prefixes if checkpoint_exists(one)]
    return [one.stat().st_mtime for one in files]


def remove_checkpoint(
    checkpoint_prefix: PathLike, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Removes the file of a checkpoint, if there is one."""
    file_of(checkpoint_prefix).unlink(missing_ok=True)
