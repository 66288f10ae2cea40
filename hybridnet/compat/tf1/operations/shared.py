"""Operations on queues and accumulators, which are on a task of a cluster, or of this graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from hybridnet.clusters import SharedUse, in_container

from ..graph import Operation, Tensor, apply, convert_to_tensor
from ..graph.host_call import Dims
from .scripts import host_call

__all__ = ["SharedRef"]


@final
class SharedRef:
    """A queue or an accumulator, as an Operation of a graph.

    Args:
        kind: the type of the Operation.
        about: what is made; see `SharedUse`.
        shared_name: by which others know it; default the name of the Operation.

    Attributes:
        op: the Operation.
        name: that of the Operation.
    """

    def __init__(
        self, kind: str, about: Mapping[str, Any], shared_name: str | None, name: str
    ) -> None:
        self.op: Operation = apply(kind, "_no_op", (), name=name)
        self.name = self.op.name
        self._name = in_container(self.op.graph.container_name, shared_name or self.name)
        self._about = about

    def use(
        self, method: str, words: Mapping[str, Any], numbers: Mapping[int, str] | None = None
    ) -> SharedUse:
        """Returns what it is asked; see `SharedUse`."""
        return SharedUse(self.op.node, self._name, self._about, method, words, numbers or {})

    def ask(
        self,
        kind: str,
        method: str,
        inputs: Sequence[Tensor] = (),
        dtypes: Sequence[Any] = (),
        dims: Sequence[Dims] | None = None,
        words: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Any:
        """Adds an Operation that asks it something.

        Args:
            kind: the type of the Operation.
            method: what it is asked.
            inputs: with what.
            dtypes: of the outputs.
            dims: of each output what is known of its shape.
            words: how; numbers may be tensors.

        Returns:
            As `host_call`.
        """
        given, known, numbers = list(inputs), dict(words or {}), {}
        for key, value in (words or {}).items():
            if not isinstance(value, (bool, int, str)):
                numbers[len(given)] = key
                given.append(convert_to_tensor(value, name=key))
                del known[key]
        use = self.use(method, known, numbers)
        store = self.op.graph.shared

        def ask(*arrays: Any) -> Sequence[Any]:
            asked = use.asked(arrays)
            store.ask(use, asked)
            return asked.answer.result()

        return host_call(kind, ask, given, dtypes, dims, name=name, use=use)

    def tell(
        self, kind: str, method: str, inputs: Sequence[Tensor], words: Any, name: str | None
    ) -> Operation:
        """As `ask`, where there is no answer: returns the Operation."""
        made: Operation = self.ask(kind, method, inputs, words=words, name=name)
        return made
