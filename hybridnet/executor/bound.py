"""The interface of a symbol to executors. Symbols make these, so they cannot import symbols."""

from __future__ import annotations

from typing import Any, Protocol

from hybridnet.graph import Edge, Graph


class Bound(Protocol):
    """The part of a symbol that an executor uses."""

    @property
    def graph(self) -> Graph:
        """The graph, its inputs in the order of `list_inputs`."""

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The outputs."""

    @property
    def name(self) -> str | None:
        """The name, for messages."""

    def list_inputs(self) -> list[str]:
        """Returns the names of all variables."""

    def optimize(self, **kwargs: Any) -> Any:
        """The symbol after some passes."""

    def list_outputs(self) -> list[str]:
        """Returns the names of the outputs."""

    def get_internals(self) -> Bound:
        """Returns a symbol of the outputs of all nodes."""

    def infer_shape(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Returns the shapes of arguments, outputs and auxiliary states."""

    def infer_type(self, *args: Any, **kwargs: Any) -> tuple[Any, Any, Any]:
        """Returns the dtypes of arguments, outputs and auxiliary states."""
