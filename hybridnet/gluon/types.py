"""The types that signatures of blocks are written in."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    from hybridnet.ndarray import NDArray
    from hybridnet.symbol import Symbol

    from ._parameter_dict import ParameterDict

__all__ = ["ActivationLike", "BlockNames", "Data", "Operators", "StateInfo"]

#: What a hybrid block computes on: all of it are arrays, or all of it are symbols.
Data = TypeVar("Data", "NDArray", "Symbol")
_Data_co = TypeVar("_Data_co", "NDArray", "Symbol", covariant=True)

#: The name of an activation, or a function or block that is called.
ActivationLike: TypeAlias = str | Callable[..., Any]


class _Functions(Protocol[_Data_co]):
    """A module with a function for each operator whose name begins in a certain way."""

    def __getattr__(self, name: str, /) -> Callable[..., _Data_co]:
        """Returns the function of an operator; several results are unpacked as one array is."""


class Operators(_Functions[_Data_co], Protocol[_Data_co]):
    """`nd` or `sym`: the F of `hybrid_forward`, with a function for each operator."""

    @property
    def contrib(self) -> _Functions[_Data_co]:
        """Operators whose names begin with ``_contrib_``: `contrib`."""

    @property
    def image(self) -> _Functions[_Data_co]:
        """Operators on images: `image`."""

    @property
    def linalg(self) -> _Functions[_Data_co]:
        """Operators of linear algebra: `linalg`."""

    @property
    def random(self) -> _Functions[_Data_co]:
        """Operators that draw random numbers: `random`."""


class StateInfo(TypedDict):
    """The description of a recurrent cell's state: its shape, and the names of its axes ('NC')."""

    shape: tuple[int, ...]
    __layout__: str


class BlockNames(TypedDict, total=False):
    """The keyword arguments that every block takes; see `Block`."""

    prefix: str | None
    params: ParameterDict | None
