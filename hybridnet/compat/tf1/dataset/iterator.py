"""`Iterator`: the elements of a dataset as tensors of a graph, the next ones in each run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, final

import numpy as np

from hybridnet.engine import RLock

from ..dtypes import string
from ..errors import FailedPreconditionError, InvalidArgumentError, OpError, OutOfRangeError
from ..graph.tensor import Operation, Tensor
from ..graph.values import convert_to_tensor, identity
from ..nest import pack_sequence_as
from ..operations.scripts import host_call
from .element import Array, Spec, Specified, as_array

__all__ = ["Iterator", "make_initializable_iterator", "make_one_shot_iterator"]


class _Source(Protocol):
    """A dataset, as an iterator sees it."""

    spec: Spec
    inputs: tuple[Tensor, ...]
    elements: Callable[[Sequence[Array]], Any]


@final
class _Pass:
    """The position of an iterator in its dataset: one for all sessions of its graph."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._elements: Any = None

    def begin(self, source: _Source, arrays: Sequence[Array]) -> None:
        """Starts a pass over a dataset."""
        with self._lock:
            self._elements = iter(source.elements(list(arrays)))

    def next(self, source: _Source | None, arrays: Sequence[Array]) -> list[Array]:
        """Returns the next element; starts a pass over `source` if there was none.

        Raises:
            OutOfRangeError: there is none.
            FailedPreconditionError: no pass was started.
        """
        with self._lock:
            if self._elements is None:
                if source is None:
                    raise FailedPreconditionError(
                        "the iterator has not been initialized: run its initializer"
                    )
                self._elements = iter(source.elements(list(arrays)))
            try:
                return [as_array(one) for one in next(self._elements)]
            except StopIteration:
                raise OutOfRangeError("End of sequence") from None
            except OpError:
                raise
            except (TypeError, ValueError) as error:
                text = f"{type(error).__name__}: {error}"
                raise InvalidArgumentError(text) from error


@final
class Iterator(Specified):
    """The elements of a dataset as tensors.

    Args (for the inside: users have `Dataset.make_one_shot_iterator`, and `from_structure`):
        spec: what is known of an element.
        once: the dataset, where no initializer starts a pass.
    """

    def __init__(self, spec: Spec, once: _Source | None = None) -> None:
        self.spec = spec
        self._once = once
        self._pass = _Pass()
        self._initializer: Operation | None = None
        self._handle: Tensor | None = None

    @staticmethod
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Returns an iterator for any dataset of such elements; see `make_initializer`.

        Args:
            output_types: the dtypes of an element, nested as it is.
            output_shapes: the shapes, nested likewise, as far as they are known.
            shared_name, output_classes: without meaning here.
        """
        return Iterator(Spec.of(output_types, output_shapes))

    @staticmethod
    def from_string_handle(
        string_handle: Any,
        output_types: Any,
        output_shapes: Any = None,
        output_classes: Any = None,
    ) -> Iterator:
        """Returns an iterator that in each run is the one whose handle is given.

        Args:
            string_handle: a tensor of one string: the value of an iterator's `string_handle`.
            output_types: the dtypes of an element, nested as it is.
            output_shapes: the shapes, nested likewise, as far as they are known.
            output_classes: without meaning here.
        """
        made = Iterator(Spec.of(output_types, output_shapes))
        made._handle = convert_to_tensor(string_handle, string)
        return made

    def string_handle(self, name: str | None = None) -> Tensor:
        """Returns the string that `from_string_handle` takes for this iterator, as a tensor.

        It holds for all sessions of this process.
        """
        if self._handle is not None:
            return identity(self._handle, name=name)
        inputs = () if self._once is None else self._once.inputs
        key = f"iterator-{next(_NUMBERS)}"

        def handle(*arrays: Array) -> list[Array]:
            _OPEN[key] = _Opened(self, arrays)
            return [np.array(key.encode(), object)]

        made: Tensor = host_call(
            "IteratorToStringHandle", handle, inputs, [string], [()], name=name
        )
        return made

    @property
    def initializer(self) -> Operation:
        """The Operation that starts a pass.

        Raises:
            ValueError: `make_initializer` makes it, or it starts by itself.
        """
        if self._initializer is None:
            raise ValueError(
                "Iterator does not have an initializer: it starts by itself, or "
                "`iterator.make_initializer(dataset)` makes one"
            )
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """Returns the Operation that starts a pass over a dataset.

        Args:
            dataset: whose elements are those of the iterator.

        Raises:
            TypeError: its elements have other dtypes.
        """
        own = [one.dtype for one in self.spec.kinds]
        given = [one.dtype for one in dataset.spec.kinds]
        if own != given:
            raise TypeError(f"Expected output types {own} but got dataset with {given}.")
        held = self._pass

        def begin(*arrays: Array) -> list[Array]:
            held.begin(dataset, arrays)
            return []

        made: Operation = host_call("MakeIterator", begin, dataset.inputs, [], [], name=name)
        return made

    def get_next(self, name: str | None = None) -> Any:
        """Returns the next element, nested: all that one run asks of this is one element.

        Raises (in a run):
            OutOfRangeError: the pass is over.
        """
        inputs: Sequence[Tensor] = () if self._once is None else self._once.inputs
        if self._handle is not None:
            inputs = (self._handle,)
        kinds = self.spec.kinds
        dims = [one.shape._dims for one in kinds]
        made = host_call(
            "IteratorGetNext",
            self._next if self._handle is None else self._next_of_handle,
            inputs,
            [one.dtype for one in kinds],
            dims,
            name=name,
        )
        return pack_sequence_as(self.spec.structure, made if isinstance(made, tuple) else [made])

    def _next(self, *arrays: Array) -> list[Array]:
        return self._pass.next(self._once, arrays)

    def _next_of_handle(self, handle: Array) -> list[Array]:
        key = as_array(handle).item()
        opened = _OPEN.get(key.decode() if isinstance(key, bytes) else key)
        if opened is None:
            raise InvalidArgumentError(
                f"the handle of an iterator must be the value of its string_handle(), got {key!r}"
            )
        own = [one.dtype for one in self.spec.kinds]
        given = [one.dtype for one in opened.iterator.spec.kinds]
        if own != given:
            raise InvalidArgumentError(
                f"the iterator of a handle must have elements of {own}, got one with {given}"
            )
        return opened.iterator._next(*opened.arrays)


@dataclass(frozen=True)
class _Opened:
    """An iterator whose handle was asked for, and the values that its dataset is made of."""

    iterator: Iterator
    arrays: Sequence[Array]


_NUMBERS: Final = itertools.count()
#: What handles mean.
_OPEN: Final[dict[str, _Opened]] = {}


def make_one_shot_iterator(dataset: Any) -> Iterator:
    """Returns an iterator over one pass of a dataset, that need not be started."""
    return Iterator(dataset.spec, dataset)


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """Returns an iterator over a dataset whose `initializer` starts a pass.

    Args:
        dataset: the dataset.
        shared_name: without meaning here.
    """
    made = Iterator(dataset.spec)
    made._initializer = made.make_initializer(dataset)
    return made
