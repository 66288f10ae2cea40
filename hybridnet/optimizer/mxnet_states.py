"""Optimizer states as MXNet 1.x wrote them: a pickle, of which nothing is run.

MXNet's `Updater.get_states` pickles a dict from a weight's key to its state, or a tuple of that and
the optimizer. `inert_pickle` reads it without making any object of the classes that it names; here
arrays are made of what stood for arrays, and the attributes of the optimizer and its scheduler are
handed on as plain values.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from typing import Any, Final

from hybridnet.base.errors import FormatError, MXNetError
from hybridnet.base.inert_pickle import Inert, read_inert
from hybridnet.ndarray import NDArray, sparse

__all__ = ["counts_of", "own_attributes", "read_mxnet_states"]

_WHAT: Final = "optimizer states"
#: MXNet's classes of arrays -> ours.
_ARRAYS: Final[dict[str, type[NDArray]]] = {
    "mxnet.ndarray.ndarray.NDArray": NDArray,
    "mxnet.ndarray.NDArray": NDArray,  # up to 0.11
    "mxnet.numpy.multiarray.ndarray": NDArray,
    "mxnet.ndarray.sparse.RowSparseNDArray": sparse.RowSparseNDArray,
    "mxnet.ndarray.sparse.CSRNDArray": sparse.CSRNDArray,
}
#: Attributes of MXNet's optimizers that are others here, or follow from others.
_NOT_OURS: Final = frozenset({"_index_update_count", "aggregate_num", "param_dict"})


def own_attributes(state: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the attributes of one of MXNet's optimizers under the names that they have here."""
    found = {name: value for name, value in state.items() if name not in _NOT_OURS}
    if "_index_update_count" in state:  # up to 1.4 without the devices
        found.setdefault("_all_index_update_counts", {0: state["_index_update_count"]})
    if "rescale_grad" in found:
        found["_rescale_grad"] = found.pop("rescale_grad")
    return found


def counts_of(settings: Mapping[str, Any]) -> tuple[Any, Any]:
    """Returns how often weights have been updated, by device and key, and the most of these."""
    attributes = settings["attributes"]
    return attributes.get("_all_index_update_counts"), attributes.get("num_update")


def read_mxnet_states(data: bytes) -> dict[str, Any]:
    """Returns what MXNet's `get_states` has put into bytes.

    Args:
        data: its pickle.

    Returns:
        The states by key under ``states``; and under ``optimizer`` the name of the class, its
        attributes, and those of its scheduler, or None if only states were saved.

    Raises:
        FormatError: the bytes are damaged, or hold something else.
    """
    whole = read_inert(data, _WHAT)
    try:
        return _read(whole, _Maker(len(data)))
    except MXNetError:
        raise
    except Exception as error:  # what it holds can be of any kind where another is needed
        raise FormatError(f"{_WHAT}: the pickle holds what no optimizer has, {error}") from None


def _read(whole: Any, maker: _Maker) -> dict[str, Any]:
    states, saved = whole if isinstance(whole, tuple) and len(whole) == 2 else (whole, None)
    if not isinstance(states, dict) or not (saved is None or _is_object(saved)):
        raise FormatError(
            f"{_WHAT}: the pickle must hold a dict of states by key, or that and an optimizer, as "
            f"MXNet's get_states makes it, got {type(whole).__name__}"
        )
    return {
        "states": {
            key: maker.made(value, f"the state of {reprlib.repr(key)}")
            for key, value in states.items()
        },
        "optimizer": None if saved is None else _settings(saved, maker),
    }


def _is_object(value: object) -> bool:
    return isinstance(value, Inert) and isinstance(value.state, dict)


def _settings(saved: Inert, maker: _Maker) -> dict[str, Any]:
    attributes = own_attributes(saved.state)
    scheduler = attributes.pop("lr_scheduler", None)
    if scheduler is not None and not _is_object(scheduler):
        raise FormatError(
            f"{_WHAT}: the scheduler must be an object, got {reprlib.repr(scheduler)}"
        )
    sums = attributes.get("cumgrads")
    if isinstance(sums, dict):  # LBSGD's: with the number of gradients, which is known otherwise
        found = {key: one.get("cum_grad") for key, one in sums.items() if isinstance(one, dict)}
        attributes["cumgrads"] = {k: one for k, one in found.items() if isinstance(one, Inert)}
    return {
        "name": type(saved).__name__,
        "attributes": maker.made(attributes, "the optimizer"),
        "scheduler": None
        if scheduler is None
        else [type(scheduler).__name__, maker.made(scheduler.state, "the scheduler")],
    }


class _Maker:
    """Puts arrays into the place of what stood for them.

    Args:
        most: how many values there may be. Each takes a byte of the file; where there are more,
            few are named again and again.
    """

    def __init__(self, most: int) -> None:
        self._left = most

    def made(self, value: Any, where: str) -> Any:
        """Returns a value with arrays in it."""
        self._left -= 1
        if self._left < 0:
            raise FormatError(f"{_WHAT}: {where} holds more values than the file has bytes")
        if isinstance(value, Inert):
            return self._array(value, where)
        if isinstance(value, (tuple, list)):
            return type(value)([self.made(item, where) for item in value])
        if isinstance(value, dict):
            return {key: self.made(item, where) for key, item in value.items()}
        return value

    def _array(self, value: Inert, where: str) -> Any:
        kind = _ARRAYS.get(value.place)
        if kind is None or not isinstance(value.state, dict) or "handle" not in value.state:
            raise FormatError(f"{_WHAT}: {where} must be made of arrays and values, got {value!r}")
        try:
            made = object.__new__(kind)
            made.__setstate__(value.state)
        except (MXNetError, TypeError, ValueError) as error:
            raise FormatError(f"{_WHAT}: an array in {where} is damaged: {error}") from None
        return made
