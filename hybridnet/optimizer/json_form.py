"""An optimizer as JSON: its registered name and its numbers, never an object.

So it travels to parameter servers, which make one like it of a class that they know themselves.

    {"optimizer": "sgd", "attributes": {...}, "multipliers": {...}, "scheduler": null}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.lr_scheduler import LRScheduler

from ._states import decode_value, encode_value
from .optimizer import Optimizer

__all__ = ["optimizer_from_json", "optimizer_to_json"]

#: Attributes that are sent in another way, or begin anew: who counts updates is who makes them.
_APART: Final = frozenset(
    {
        *("lr_scheduler", "param_dict", "_rescale_trace", "sym_info", "idx2name"),
        *("lr_mult", "wd_mult", "num_update", "_all_index_update_counts", "_device"),
    }
)
_TABLES: Final = ("lr_mult", "wd_mult")


def optimizer_to_json(optimizer: Optimizer) -> dict[str, Any]:
    """Returns an optimizer as JSON can hold it.

    Args:
        optimizer: of a registered class, with attributes that are numbers, texts, None, or tuples,
            lists and dicts of these.

    Raises:
        ParameterError: its class is not registered, it has other attributes, or servers cannot
            make its updates.
    """
    name = type(optimizer).__name__.lower()
    if Optimizer.opt_registry.get(name) is not type(optimizer):
        raise ParameterError(
            f"{type(optimizer).__name__}: an optimizer for parameter servers must be of a "
            "registered class; decorate it with @optimizer.register, in a module that the servers "
            "import, too (hybridnet launch --import MODULE)"
        )
    optimizer.check_servers()
    attributes = {k: v for k, v in vars(optimizer).items() if k not in _APART}
    scheduler = optimizer.lr_scheduler
    return {
        "optimizer": name,
        "attributes": _encoded(attributes, name),
        "multipliers": {table: _encoded(_multipliers(optimizer, table), name) for table in _TABLES},
        "names": _encoded(optimizer.idx2name if optimizer.by_name else {}, name),
        "scheduler": None
        if scheduler is None
        else [type(scheduler).__name__, _encoded(vars(scheduler), type(scheduler).__name__)],
    }


def optimizer_from_json(form: Any) -> Optimizer:
    """Returns an optimizer like the one that `optimizer_to_json` was given.

    Nothing that comes in is executed: classes are those that this process knows.

    Raises:
        ParameterError: the class of the optimizer or its scheduler is not known here.
        FormatError: it is no such form.
    """
    try:
        name, attributes = form["optimizer"], _decoded(form["attributes"])
        tables, scheduler = form["multipliers"], form["scheduler"]
        klass = Optimizer.opt_registry.get(name)
        if klass is None:
            raise ParameterError(
                f"a server's optimizer must be one of {', '.join(sorted(Optimizer.opt_registry))}, "
                f"got {name!r}; the module that registers yours must be imported by the servers: "
                "hybridnet launch --import MODULE, or HYBRIDNET_DIST_IMPORT"
            )
        made: Optimizer = object.__new__(klass)
        vars(made).update(
            attributes,
            lr_scheduler=None if scheduler is None else _scheduler(*scheduler),
            **{table: _decoded(tables[table]) for table in _TABLES},
            param_dict={},
            _rescale_trace=None,
            sym_info=(),
            idx2name=_decoded(form["names"]),
            num_update=attributes["begin_num_update"],
            _device=0,
            _all_index_update_counts={0: {}},
        )
    except (KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ParameterError):
            raise
        raise FormatError(f"an optimizer's form is damaged: {error!r}") from None
    return made


def _multipliers(optimizer: Optimizer, table: str) -> dict[Any, float]:
    """Returns the multipliers of all weights known, under the index of each and under its name.

    Servers know neither parameters nor names of indices, only the keys that values are pushed by.
    """
    known = getattr(optimizer, table)
    found: dict[Any, float] = dict(known)
    for index in (*optimizer.idx2name, *optimizer.param_dict):
        found[index] = optimizer._multipliers([index], known, table)[0]
    return {index: factor for index, factor in found.items() if factor != 1.0}


def _encoded(value: Mapping[Any, Any], name: str) -> Any:
    arrays: list[Any] = []
    encoded = encode_value(dict(value), arrays, name)
    if arrays:
        raise ParameterError(
            f"{name}: an optimizer for parameter servers is sent as its name and numbers, and one "
            "of its attributes is an array"
        )
    return encoded


def _decoded(node: Any) -> dict[Any, Any]:
    found = decode_value(node, {})
    if not isinstance(found, dict):
        raise FormatError(f"an optimizer's form must hold a dict here, got {type(found).__name__}")
    return found


def _scheduler(name: str, attributes: Any) -> LRScheduler:
    known = {klass.__name__: klass for klass in _schedulers(LRScheduler)}
    if name not in known:
        raise ParameterError(
            f"a server's lr_scheduler must be one of {', '.join(sorted(known))}, got {name!r}; the "
            "module that defines yours must be imported by the servers: hybridnet launch --import"
        )
    made = object.__new__(known[name])
    vars(made).update(_decoded(attributes))
    return made


def _schedulers(base: type[LRScheduler]) -> Iterator[type[LRScheduler]]:
    for klass in base.__subclasses__():
        yield klass
        yield from _schedulers(klass)
