"""The first values of a module's parameters: given ones, or those of an initializer."""

from __future__ import annotations

from collections.abc import Mapping

from hybridnet.base.errors import MXNetError
from hybridnet.initializer import InitDesc
from hybridnet.initializer.base import Filler
from hybridnet.ndarray import NDArray

__all__ = ["fill_values"]


def fill_values(
    held: Mapping[str, NDArray],
    given: Mapping[str, NDArray] | None,
    attrs: Mapping[str, Mapping[str, str]],
    initializer: Filler | None,
    allow_missing: bool,
) -> None:
    """Fills arrays with given values, and where there are none by an initializer.

    The arrays are filled in the order of their names, so that with a seed all get the same random
    numbers again.

    Args:
        held: the arrays, by the name of the parameter.
        given: the values that are known, by name; None if there are none.
        attrs: the attributes of the symbol's variables, by name; the initializer reads them.
        initializer: fills what is not given; None leaves it as it is.
        allow_missing: whether `given` may lack a name.

    Raises:
        MXNetError: `given` lacks a name and may not.
    """
    for name, value in sorted(held.items()):
        if given is not None and name in given:
            if given[name] is not value:
                given[name].copyto(value)
            continue
        if given is not None and not allow_missing:
            raise MXNetError(
                f"init_params: needs a value for {name!r}, got only "
                f"{', '.join(given) or 'none'}; allow_missing=True does without"
            )
        if initializer is not None:
            initializer(InitDesc(name, attrs.get(name)), value)
