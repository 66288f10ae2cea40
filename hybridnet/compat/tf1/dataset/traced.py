"""A user's function of a dataset's elements: a graph of its own, run for each element."""

from __future__ import annotations

from typing import Any, final

from ..graph import Graph, Tensor, convert_to_tensor, placeholder
from ..nest import flatten, pack_sequence_as
from ..session.session import Session
from .element import Array, Component, Spec, as_array, as_tuples

__all__ = ["Traced"]


@final
class Traced:
    """A function as a graph.

    Args:
        function: gets an element: the parts of a tuple as arguments, anything else as one. Returns
            a nest of tensors.
        spec: of the element.
        seed: of the graph that it is used in.

    Attributes:
        spec: of what it returns.

    Raises:
        ValueError: it uses a tensor of another graph.
    """

    def __init__(self, function: Any, spec: Spec, seed: int | None) -> None:
        self._graph = Graph()
        self._graph.seed = seed
        with self._graph.as_default():
            self._inputs = [placeholder(one.dtype, one.shape) for one in spec.kinds]
            given = pack_sequence_as(spec.structure, self._inputs)
            plain = isinstance(given, tuple) and not hasattr(given, "_fields")
            made = as_tuples(function(*given) if plain else function(given))
            made = tuple(made) if isinstance(made, list) else made
            self._outputs = [convert_to_tensor(_plain(one)) for one in flatten(made)]
        self.spec = Spec(
            made, tuple(Component(one.dtype.base_dtype, one.shape) for one in self._outputs)
        )
        self._session: Session | None = None

    def __call__(self, element: list[Array]) -> list[Array]:
        """Returns what it makes of an element."""
        if self._session is None:
            self._session = Session(graph=self._graph)
        feeds: dict[Tensor, Any] = dict(zip(self._inputs, element, strict=True))
        return [as_array(one) for one in self._session.run(self._outputs, feeds)]


def _plain(value: Any) -> Any:
    return value if isinstance(value, Tensor) or hasattr(value, "initializer") else as_array(value)
