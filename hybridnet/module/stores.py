"""The updates of a module's parameters: by an optimizer, in a store or on each device."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Final

from hybridnet import kv
from hybridnet import optimizer as opt
from hybridnet.base import config
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.symbol import Symbol

from .types import OptimizerLike, StoreLike

__all__ = [
    "create_store",
    "fill_store",
    "made_optimizer",
    "rows_of_update",
    "update_by_store",
    "update_by_updater",
]

# Elements from which on a 'local' store would rather not hold a second copy of a weight.
_LARGE_ELEMENTS: Final = 1 << 24


def create_store(
    kvstore: StoreLike, num_device: int, arg_params: Mapping[str, NDArray]
) -> tuple[Any, bool]:
    """Returns the store that was asked for, and whether it is to apply the optimizer.

    Args:
        kvstore: a store, the name of one, or None. A name counts with several devices only.
        num_device: how many there are.
        arg_params: the parameters.

    Returns:
        The store, or None; and whether it updates, which MXNET_UPDATE_ON_KVSTORE=0 turns off.

    Raises:
        ParameterError: it is none of these.
    """
    on_store = config.update_on_kvstore()
    if kvstore is None:
        return None, False
    if isinstance(kvstore, str):
        if num_device == 1 and "dist" not in kvstore and kvstore != "p3":
            return None, False
        if (
            kvstore == "local"
            and max((x.size for x in arg_params.values()), default=0) > _LARGE_ELEMENTS
        ):
            on_store = False
        store: Any = kv.create(kvstore)
    elif not hasattr(kvstore, "pushpull"):
        raise ParameterError(
            f"kvstore must be a KVStore, the name of one, or None, got {type(kvstore).__name__}"
        )
    else:
        store = kvstore
    return store, on_store and store.is_capable("optimizer")


def rows_of_update(batch_size: int, store: Any) -> int:
    """Returns how many examples an update sums gradients over.

    Args:
        batch_size: how many a batch of this process has.
        store: the key-value store, or None; a synchronous one sums over all workers.
    """
    rows = max(batch_size, 1)
    if store is None:
        return rows
    synchronous = ("dist" in store.type and "_sync" in store.type) or store.type == "p3"
    return rows * store.num_workers if synchronous else rows


def made_optimizer(
    given: OptimizerLike,
    arguments: dict[str, object],
    symbol: Symbol,
    names: dict[int, str],
    scale: float,
) -> opt.Optimizer:
    """Returns the optimizer that `init_optimizer` was asked for.

    Args:
        given: an optimizer, or the name of one.
        arguments: of the optimizer, where its name is given.
        symbol: the network, whose variables may have factors of the learning rate.
        names: the name of the parameter with each index.
        scale: what makes a sum of gradients over the examples their mean.

    Raises:
        ParameterError: `given` is neither.
    """
    if isinstance(given, str):
        arguments.setdefault("rescale_grad", scale)
        return opt.create(given, sym=symbol, param_idx2name=names, **arguments)
    if not isinstance(given, opt.Optimizer):
        raise ParameterError(
            f"init_optimizer: optimizer must be an Optimizer or the name of one, got {given!r}"
        )
    if given.rescale_grad != scale:
        warnings.warn(
            f"init_optimizer: the optimizer has rescale_grad={given.rescale_grad}, and "
            f"gradients are sums over batches: {scale} would make them means",
            stacklevel=4,
        )
    if not given.idx2name:
        given.idx2name = names
    return given


def fill_store(
    kvstore: Any,
    param_arrays: Sequence[Sequence[NDArray]],
    arg_params: Mapping[str, NDArray],
    param_names: Sequence[str],
    update_on_kvstore: bool,
) -> None:
    """Gives a store the parameters; one that updates them gives them out to the devices, too."""
    for name, copies in zip(param_names, param_arrays, strict=True):
        value = arg_params[name]
        if update_on_kvstore and value.stype == "default":
            kvstore.broadcast(name, value, out=copies)
        else:
            kvstore.init(name, value)


def update_by_store(
    param_arrays: Sequence[Sequence[NDArray]],
    grad_arrays: Sequence[Sequence[NDArray | None]],
    kvstore: Any,
    param_names: Sequence[str],
) -> None:
    """Updates parameters by a store: gradients go in, and new values come out."""
    pairs = zip(grad_arrays, param_arrays, strict=True)
    asked = [(i, grads, copies) for i, (grads, copies) in enumerate(pairs) if grads[0] is not None]
    _exchange_all(kvstore, param_names, asked)


def update_by_updater(
    param_arrays: Sequence[Sequence[NDArray]],
    grad_arrays: Sequence[Sequence[NDArray | None]],
    updater: opt.Updater,
    num_device: int,
    kvstore: Any = None,
    param_names: Sequence[str] = (),
) -> None:
    """Updates the parameters of each device, after a store, if there is one, has added gradients.

    The optimizer's states have the numbers ``parameter * num_device + device``. What is updated at
    once is on one context: with `group2ctxs` a device's parameters may be on several.
    """
    steps: dict[Any, tuple[list[int], list[Any], list[NDArray]]] = {}
    if kvstore is not None:
        asked = [(i, grads, grads) for i, grads in enumerate(grad_arrays) if grads[0] is not None]
        _exchange_all(kvstore, param_names, asked)
    for number, (copies, grads) in enumerate(zip(param_arrays, grad_arrays, strict=True)):
        if grads[0] is None:
            continue
        for device in range(num_device):
            weight = copies[device]
            step = steps.setdefault((device, weight.context), ([], [], []))
            step[0].append(number * num_device + device)
            step[1].append(grads[device])
            step[2].append(weight)
    for numbers, gradients, weights in steps.values():
        updater(numbers, gradients, weights)


def _exchange_all(kvstore: Any, names: Sequence[str], asked: Sequence[Any]) -> None:
    """Pushes and pulls; in a store of this process, dense ones cross devices together.

    Args:
        kvstore: the store.
        names: the names of all parameters.
        asked: for each of some, its number, what is pushed, and what is written.
    """
    if isinstance(kvstore, kv.KVStore) and not kvstore.is_distributed:
        together = [one for one in asked if _are_dense(one)]
        if together:
            keys = [names[number] for number, _, _ in together]
            values = [list(values) for _, values, _ in together]
            kvstore.pushpull(keys, values, out=[list(targets) for _, _, targets in together])
        asked = [one for one in asked if not _are_dense(one)]
    for number, values, targets in asked:
        _exchange(kvstore, names[number], values, targets, number)


def _are_dense(one: Any) -> bool:
    _, values, targets = one
    return bool(values[0].stype == targets[0].stype == "default")


def _exchange(kvstore: Any, name: str, values: Any, targets: Any, number: int) -> None:
    """Pushes and pulls; layers near the input, wanted first, have precedence."""
    if _are_dense((number, values, targets)):
        kvstore.pushpull(name, list(values), out=list(targets), priority=-number)
    else:
        kvstore.push(name, list(values), priority=-number)
        kvstore.pull(name, out=list(targets), priority=-number, ignore_sparse=False)
