"""Makes optimizers and schedulers of the settings that were saved with their states.

Classes are those that the process knows: a file says which, and brings none.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, Final

from hybridnet import lr_scheduler
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.lr_scheduler import LRScheduler

from .optimizer import Optimizer, create

__all__ = ["Assign", "assign_all", "assign_known", "restored_optimizer"]

#: Sets attributes of an object from a file.
Assign = Callable[[Any, Mapping[str, Any]], None]

_SCHEDULERS: Final = {name: getattr(lr_scheduler, name) for name in lr_scheduler.__all__}


def restored_optimizer(present: Optimizer, settings: Any, assign: Assign) -> Optimizer:
    """Returns an optimizer like the one saved; one of the same class as the present if possible.

    Args:
        present: the optimizer that there is; its parameters go on being those of the new one.
        settings: ``name``, ``attributes``, and ``scheduler``: None, or a name and attributes.
        assign: sets attributes.

    Raises:
        FormatError: there is no such optimizer or scheduler, or it has no such attributes.
    """
    try:
        name, attributes, saved = (settings[k] for k in ("name", "attributes", "scheduler"))
        made = copy.copy(present) if type(present).__name__ == name else create(name)
        assign(made, attributes)
        if saved is None:
            made.lr_scheduler = None
        else:
            kind, values = saved
            made.lr_scheduler = _restored_scheduler(present.lr_scheduler, kind, values, assign)
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise FormatError(f"optimizer states: the optimizer cannot be restored: {error}") from error
    made.param_dict = present.param_dict
    return made


def _restored_scheduler(
    present: LRScheduler | None, name: str, attributes: Any, assign: Assign
) -> LRScheduler:
    if present is not None and type(present).__name__ == name:
        made = copy.copy(present)
    elif name in _SCHEDULERS:
        made = object.__new__(_SCHEDULERS[name])
        made.__dict__.update(dict.fromkeys(attributes))
    else:
        raise ParameterError(
            f"the scheduler {name!r} is not hybridnet's own; give one to the optimizer first"
        )
    assign(made, attributes)
    return made


def assign_all(target: Any, attributes: Mapping[str, Any]) -> None:
    """Sets attributes that an object has already; a file cannot bring in others.

    Raises:
        ParameterError: there are others.
    """
    unknown = attributes.keys() - vars(target).keys()
    if unknown:
        raise ParameterError(f"{type(target).__name__} has no attributes {sorted(unknown)}")
    vars(target).update(attributes)


def assign_known(target: Any, attributes: Mapping[str, Any]) -> None:
    """Sets those attributes that an object has already; some of MXNet's mean nothing here."""
    known = vars(target).keys()
    vars(target).update({name: one for name, one in attributes.items() if name in known})
