"""Methods of arrays that symbols refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from hybridnet.base.errors import NotImplementedForSymbol

#: Method -> what it is called in code, where that is something else.
_METHODS: Final = {
    "__iadd__": "+=",
    "__imul__": "*=",
    "__isub__": "-=",
    "__itruediv__": "/=",
    "as_in_context": None,
    "asnumpy": None,
    "asscalar": None,
    "backward": None,
    "copy": None,
    "detach": None,
    "wait_to_read": None,
}


class ArraysOnly:
    """Methods of arrays that a symbol refuses: it has no values, and is never changed in place.

    Raises:
        NotImplementedForSymbol: whichever is called, as in MXNet.
    """

    __slots__ = ()


def _refusal(name: str, alias: str | None) -> Callable[..., NoReturn]:
    def method(self: Any, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedForSymbol(name, alias, *args)

    method.__name__ = name
    method.__doc__ = "Raises NotImplementedForSymbol: only arrays have it."
    return method


for _name, _alias in _METHODS.items():
    setattr(ArraysOnly, _name, _refusal(_name, _alias))
