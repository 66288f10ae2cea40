"""`PassContext`: what a pass is told beside the graph."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, final
from weakref import WeakKeyDictionary

from hybridnet.base.errors import ParameterError
from hybridnet.graph import STATE, Graph, Node, infer_types
from hybridnet.ops.core import Call, Types

if TYPE_CHECKING:
    from .rule import Rule

#: By how much results may change, relatively, unless a program says otherwise.
TOLERANCE: Final = 1e-5


@final
@dataclass(frozen=True, eq=False)
class PassContext:
    """The facts that a pass is told beside the graph.

    Attributes:
        input_types: of the graph's inputs, in their order.
        platform: where the graph will run: 'cpu', 'gpu' or 'tpu'.
        train: whether gradients will be taken of the result. (Whether a call is in a training pass
            it says itself: ``call.train``.)
        unsafe: whether rules are applied too that are not exact in floating point, or differ at
            zero, infinity or NaN.
        tolerance: by how much results may change, relatively; 0 allows exact rules only.
        keep: names of nodes that must be there afterwards under these names, with the values that
            they had.
        fired: how often each rule has fired, by name; passes count in it, for the report.
    """

    input_types: Types
    platform: str = "cpu"
    train: bool = False
    unsafe: bool = False
    tolerance: float = TOLERANCE
    keep: frozenset[str] = frozenset()
    fired: Counter[str] = field(default_factory=Counter)
    _types: WeakKeyDictionary[Graph, dict[Node, Types]] = field(
        default_factory=WeakKeyDictionary, repr=False
    )

    def types(self, graph: Graph) -> dict[Node, Types]:
        """Returns the types of all nodes of a graph, inferred once for each graph.

        Raises:
            ShapeError, DTypeError: an operator's requirement is not met; the message names the
                node.
        """
        found = self._types.get(graph)
        if found is None:
            if len(graph.inputs) != len(self.input_types):
                raise ParameterError(
                    f"passes: input_types must hold a type for each of the graph's "
                    f"{len(graph.inputs)} inputs, got {len(self.input_types)}"
                )
            found = self._types[graph] = infer_types(graph, self.input_types, infer=infer)
        return found

    def learn(self, graph: Graph, types: dict[Node, Types]) -> None:
        """Notes the types of all nodes of a graph; there may be others among them."""
        self._types[graph] = types

    def allows(self, rule: Rule) -> bool:
        """Whether a rule may be applied."""
        return rule.exact or self.unsafe or rule.tolerance <= self.tolerance


def infer(call: Call, types: Types) -> Types:
    """Returns the types of a call's outputs, whether or not its random state is an input yet."""
    if call.takes_state and not (types and types[-1] is STATE):
        types = (*types, STATE)
    return call.infer(types)
