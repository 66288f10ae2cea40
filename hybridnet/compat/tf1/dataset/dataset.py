"""`Dataset`: elements made one after the other, and what other datasets are made of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, count, islice
from typing import Any, final

import numpy as np

from hybridnet.engine import RLock

from ..dtypes import as_dtype, int64, string
from ..graph import Tensor, TensorShape, get_default_graph, known_numbers
from ..nest import flatten, pack_sequence_as
from .element import (
    Array,
    Component,
    Given,
    Spec,
    Specified,
    as_array,
    as_tuples,
    given_value,
    number_of,
    parts_like,
)
from .iterator import Iterator as GraphIterator
from .iterator import make_initializable_iterator, make_one_shot_iterator
from .traced import Traced

__all__ = ["Dataset"]

#: What makes the elements, from the arrays of the tensors that the dataset is made of.
Made = Callable[[Sequence[Array]], Iterator[list[Array]]]


@final
class Dataset(Specified):
    """Elements, each an array or a nest of arrays, that are made when they are asked for.

    Args (for the inside: users begin with `from_tensor_slices` and its kin):
        spec: what is known of an element.
        inputs: the tensors that tell what it is made of.
        made: makes the elements.
    """

    def __init__(self, spec: Spec, inputs: Sequence[Tensor], made: Made) -> None:
        self.spec = spec
        self.inputs = tuple(inputs)
        self.elements = made

    def __repr__(self) -> str:
        return f"<Dataset shapes: {self.output_shapes}, types: {self.output_types}>"

    # -- beginning ---------------------------------------------------------------------------

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """Returns a dataset of one element.

        Args:
            tensors: the element: arrays, or tensors that a run tells, nested.
            name: without meaning here, as in all methods.
        """
        return _begun(tensors, lambda kind: kind, lambda arrays: iter([list(arrays)]))

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Returns a dataset with an element for each row of some arrays.

        Args:
            tensors: arrays, or tensors that a run tells, nested, with as many rows.

        Raises:
            ValueError: there is nothing, or something has no rows.
        """

        def rows(arrays: Sequence[Array]) -> Iterator[list[Array]]:
            lengths = {len(one) for one in arrays}
            if len(lengths) > 1:
                raise ValueError(
                    f"from_tensor_slices: all must have the same number of rows, got {lengths}"
                )
            return ([as_array(one[i]) for one in arrays] for i in range(lengths.pop()))

        def row(kind: Component) -> Component:
            if kind.shape.ndims == 0:
                raise ValueError("from_tensor_slices: a single number has no rows")
            return Component(kind.dtype, kind.shape[1:] if kind.shape.ndims else kind.shape)

        return _begun(tensors, row, rows)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Returns a dataset of what a Python function yields.

        Args:
            generator: returns something to iterate over; called for each pass.
            output_types: the dtypes of an element, nested as it is.
            output_shapes: the shapes, as far as they are known.
            args: arrays, or tensors that a run tells, that `generator` gets.
            output_signature: must be None.

        Raises:
            TypeError: `generator` is not callable, or the dtypes are missing.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        if output_types is None or output_signature is not None:
            raise TypeError("from_generator: output_types must be given, and no output_signature")
        spec = Spec.of(output_types, output_shapes)
        types = [one.dtype for one in spec.kinds]
        given = [given_value(one)[0] for one in args or ()]
        inputs, values = _placed(given)

        def yielded(arrays: Sequence[Array]) -> Iterator[list[Array]]:
            for element in generator(*values(arrays)):
                leaves = parts_like(output_types, element)
                yield [
                    as_array(x) if t is string else np.asarray(x, t.numpy)
                    for x, t in zip(leaves, types, strict=True)
                ]

        return Dataset(spec, inputs, yielded)

    @staticmethod
    def range(*args: Any, **kwargs: Any) -> Dataset:
        """Returns a dataset of numbers, int64: ``range(stop)``, ``range(start, stop, step)``."""
        known = [known_numbers(one) for one in args]
        pairs = zip(args, known, strict=True)
        given = [given_value(one if n is None else np.int64(n))[0] for one, n in pairs]
        inputs, values = _placed(given)
        kind = as_dtype(kwargs.get("output_type", int64)).base_dtype
        spec = Spec(0, (Component(kind, TensorShape([])),))

        def numbers(arrays: Sequence[Array]) -> Iterator[list[Array]]:
            bounds = (int(one) for one in values(arrays))
            return ([np.asarray(one, kind.numpy)] for one in range(*bounds))

        return Dataset(spec, inputs, numbers)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """Returns a dataset whose elements are nests of those of others; it ends with the first."""
        nest = args[0] if datasets is None and len(args) == 1 else datasets or args
        parts: list[Dataset] = flatten(nest)
        kinds = [kind for one in parts for kind in one.spec.kinds]
        structure = pack_sequence_as(nest, [one.spec.structure for one in parts])

        def zipped(arrays: Sequence[Array]) -> Iterator[list[Array]]:
            sources = []
            for one, own in zip(parts, _shared(parts, arrays), strict=True):
                sources.append(one.elements(own))
            return (list(chain(*several)) for several in zip(*sources, strict=False))

        inputs = [tensor for one in parts for tensor in one.inputs]
        return Dataset(Spec(structure, tuple(kinds)), inputs, zipped)

    # -- other datasets ----------------------------------------------------------------------

    def _changed(self, change: Callable[[Iterator[list[Array]]], Any], spec: Any = None) -> Dataset:
        """Returns a dataset whose elements are made of this one's."""
        source = self.elements
        return Dataset(spec or self.spec, self.inputs, lambda arrays: change(source(arrays)))

    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Returns a dataset whose elements are several of this one's, stacked.

        Args:
            batch_size: how many.
            drop_remainder: whether the last ones are left out if there are fewer.
            num_parallel_calls, deterministic: without meaning here.
        """
        size = number_of("batch_size", batch_size)
        return self._batched(size, bool(drop_remainder), np.stack, lambda shape: shape)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """As `batch`, of elements whose sizes differ, which are padded at their ends.

        Args:
            batch_size, drop_remainder: as for `batch`.
            padded_shapes: to which sizes; None: those of the greatest in the batch.
            padding_values: with what; default 0.
        """
        kinds = self.spec.kinds
        shapes: list[Any] = [one.shape for one in kinds]
        if padded_shapes is not None:
            shapes = [TensorShape(one) for one in parts_like(self.spec.structure, padded_shapes)]
        values = [0] * len(kinds) if padding_values is None else flatten(padding_values)
        number = iter(count())

        def padded(arrays: Sequence[Array]) -> Array:
            place = next(number) % len(kinds)
            return _padded(arrays, shapes[place].as_list(), values[place])

        targets = iter(shapes)
        size = number_of("batch_size", batch_size)
        return self._batched(size, bool(drop_remainder), padded, lambda _: next(targets))

    def _batched(
        self, size: int, whole: bool, join: Callable[..., Array], shape: Callable[[Any], Any]
    ) -> Dataset:
        if size < 1:
            raise ValueError(f"batch_size must be at least 1, got {size}")

        def batches(source: Iterator[list[Array]]) -> Iterator[list[Array]]:
            while rows := list(islice(source, size)):
                if len(rows) == size or not whole:
                    yield [join(column) for column in zip(*rows, strict=True)]

        def stacked(one: TensorShape) -> Any:
            own = shape(one)
            return None if own.ndims is None else [size if whole else None, *own.as_list()]

        return self._changed(batches, self.spec.shaped(stacked))

    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        synchronous: bool | None = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Returns a dataset of what a function makes of the elements.

        Args:
            map_func: gets the parts of a tuple as arguments, anything else as one; returns a tensor
                or a nest. It is called once, in a graph of its own.
            num_parallel_calls: without meaning here, and so the rest.
        """
        made = Traced(map_func, self.spec, get_default_graph().seed)
        return self._changed(lambda source: (made(one) for one in source), made.spec)

    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """Returns a dataset of the elements of which a function says that they stay."""
        holds = Traced(predicate, self.spec, get_default_graph().seed)
        return self._changed(lambda source: (one for one in source if bool(holds(one)[0])))

    def _inner(self, map_func: Callable[..., Any]) -> tuple[Dataset, Traced]:
        """Returns the dataset that a function makes of an element, and what gives its inputs.

        Raises:
            TypeError: the function returns something else.
        """
        found: list[Dataset] = []

        def inputs_of(*parts: Any) -> tuple[Tensor, ...]:
            made = map_func(*parts)
            if not isinstance(made, Dataset):
                raise TypeError(f"The `map_func` argument must return a `Dataset`, got {made!r}")
            found.append(made)
            return made.inputs

        traced = Traced(inputs_of, self.spec, get_default_graph().seed)
        return found[0], traced

    def flat_map(self, map_func: Callable[..., Dataset], name: str | None = None) -> Dataset:
        """Returns a dataset of the elements of the datasets that a function makes of elements.

        Args:
            map_func: gets the parts of a tuple as arguments, anything else as one; returns a
                dataset. It is called once, in a graph of its own.
        """
        inner, traced = self._inner(map_func)

        def flattened(source: Iterator[list[Array]]) -> Iterator[list[Array]]:
            return chain.from_iterable(inner.elements(traced(one)) for one in source)

        return self._changed(flattened, inner.spec)

    def interleave(
        self,
        map_func: Callable[..., Dataset],
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """Returns a dataset of the elements of datasets that a function makes, by turns.

        Args:
            map_func: as for `flat_map`.
            cycle_length: how many of the datasets are open at a time; default 1.
            block_length: how many elements of one are taken before the next's turn; default 1.
            num_parallel_calls: without meaning here, and so the rest.
        """
        inner, traced = self._inner(map_func)
        slots = 1 if cycle_length is None else max(1, number_of("cycle_length", cycle_length))
        block = 1 if block_length is None else number_of("block_length", block_length)

        def by_turns(source: Iterator[list[Array]]) -> Iterator[list[Array]]:
            opened: list[Iterator[list[Array]] | None] = [None] * slots
            slot = 0
            while True:
                if opened[slot] is None:
                    element = next(source, None)
                    if element is not None:
                        opened[slot] = inner.elements(traced(element))
                    elif all(one is None for one in opened):
                        return
                current = opened[slot]
                if current is not None:
                    taken = list(islice(current, block))
                    yield from taken
                    if len(taken) < block:
                        opened[slot] = None
                slot = (slot + 1) % slots

        return self._changed(by_turns, inner.spec)

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """Returns a dataset with all elements several times; without end by default, or of -1."""
        times = -1 if count is None else number_of("count", count)
        source = self.elements

        def again(arrays: Sequence[Array]) -> Iterator[list[Array]]:
            turn = 0
            while turn != times:
                empty = True
                for element in source(arrays):
                    empty = False
                    yield element
                if empty and times < 0:
                    return
                turn += 1

        return Dataset(self.spec, self.inputs, again)

    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: bool | None = True,
        name: str | None = None,
    ) -> Dataset:
        """Returns a dataset of the elements in another order.

        Args:
            buffer_size: from how many of the next each is drawn.
            seed: makes the order; default the graph's, or any.
            reshuffle_each_iteration: whether each pass has an order of its own.
        """
        size = number_of("buffer_size", buffer_size)
        if size < 1:
            raise ValueError(f"buffer_size must be greater than 0, got {size}")
        begun = get_default_graph().seed if seed is None else number_of("seed", seed)
        whole = np.random.default_rng(begun)
        first = int(whole.integers(2**62))

        def mixed(source: Iterator[list[Array]]) -> Iterator[list[Array]]:
            again = reshuffle_each_iteration is None or reshuffle_each_iteration
            random = np.random.default_rng(int(whole.integers(2**62)) if again else first)
            held = list(islice(source, size))
            for element in source:
                place = int(random.integers(len(held)))
                chosen, held[place] = held[place], element
                yield chosen
            for place in random.permutation(len(held)):
                yield held[place]

        return self._changed(mixed)

    def take(self, count: Any, name: str | None = None) -> Dataset:
        """Returns a dataset of the first elements; of -1 all."""
        size = number_of("count", count)
        return self._changed(lambda source: source if size < 0 else islice(source, size))

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """Returns a dataset without the first elements; of -1 without all."""
        size = number_of("count", count)
        return self._changed(lambda source: islice(source, size if size >= 0 else 2**62, None))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Returns a dataset of every `num_shards`-th element, from the one of number `index`."""
        step, first = number_of("num_shards", num_shards), number_of("index", index)
        if not 0 <= first < step:
            raise ValueError(f"index must be from 0 to {step - 1}, got {first}")
        return self._changed(lambda source: islice(source, first, None, step))

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """Returns a dataset of this one's elements, and then another's."""
        parts = (self, dataset)
        if self.output_types != dataset.output_types:
            raise TypeError(
                f"both must have the same types, got {self.output_types} and {dataset.output_types}"
            )
        kinds = [
            Component(one.dtype, _common(one.shape, other.shape))
            for one, other in zip(self.spec.kinds, dataset.spec.kinds, strict=True)
        ]

        def joined(arrays: Sequence[Array]) -> Iterator[list[Array]]:
            own = _shared(parts, arrays)
            return chain(*(one.elements(mine) for one, mine in zip(parts, own, strict=True)))

        inputs = [*self.inputs, *dataset.inputs]
        return Dataset(Spec(self.spec.structure, tuple(kinds)), inputs, joined)

    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Returns a dataset of pairs: a number, int64, and the element."""
        begun = number_of("start", start)
        return Dataset.zip((Dataset.range(begun, 2**62), self))

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Returns the dataset: elements are made when they are asked for."""
        return self

    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Returns a dataset that keeps its elements from a first whole pass for the others.

        Args:
            filename: must be empty: they are kept in memory.
        """
        if filename:
            raise NotImplementedError("cache: elements are kept in memory; leave filename out")
        source, lock = self.elements, RLock()
        kept: list[list[Array]] = []
        done: list[bool] = []

        def cached(arrays: Sequence[Array]) -> Iterator[list[Array]]:
            if done:
                yield from kept
                return
            seen = []
            for element in source(arrays):
                seen.append(element)
                yield element
            with lock:
                if not done:
                    kept.extend(seen)
                    done.append(True)

        return Dataset(self.spec, self.inputs, cached)

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Returns what a function makes of the dataset."""
        return transformation_func(self)

    # -- iterators ---------------------------------------------------------------------------

    def make_one_shot_iterator(self) -> GraphIterator:
        """Returns an iterator over one pass, that need not be started."""
        return make_one_shot_iterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> GraphIterator:
        """Returns an iterator whose `initializer` starts a pass; `shared_name` has no meaning."""
        return make_initializable_iterator(self, shared_name)


def _begun(tensors: Any, kind: Callable[[Component], Component], elements: Made) -> Dataset:
    """Returns the dataset that is made of arrays and tensors."""
    nest = as_tuples(tensors)
    pairs = [given_value(one) for one in flatten(nest)]
    if not pairs:
        raise ValueError("a dataset must be made of at least one array")
    spec = Spec(nest, tuple(kind(one) for _, one in pairs))
    inputs, values = _placed([one for one, _ in pairs])
    return Dataset(spec, inputs, lambda arrays: elements(values(arrays)))


def _placed(
    given: Sequence[Given],
) -> tuple[list[Tensor], Callable[[Sequence[Array]], list[Array]]]:
    """Returns the tensors among what is given, and what puts their arrays in their places."""
    inputs = [one.tensor for one in given if one.tensor is not None]

    def values(arrays: Sequence[Array]) -> list[Array]:
        told = iter(arrays)
        return [next(told) if one.array is None else one.array for one in given]

    return inputs, values


def _shared(parts: Sequence[Dataset], arrays: Sequence[Array]) -> list[list[Array]]:
    """Returns for each of several datasets the arrays that are its."""
    told = iter(arrays)
    return [list(islice(told, len(one.inputs))) for one in parts]


def _padded(arrays: Sequence[Array], shape: Sequence[int | None], value: Any) -> Array:
    sizes = [max(column) for column in zip(*(one.shape for one in arrays), strict=True)]
    sizes = [one if one is not None else own for one, own in zip(shape, sizes, strict=True)]
    made = np.full((len(arrays), *sizes), value, arrays[0].dtype)
    for number, one in enumerate(arrays):
        part = made[number : number + 1]  # a view, of single numbers too
        part[(slice(None), *(slice(size) for size in one.shape))] = one
    return made


def _common(one: TensorShape, other: TensorShape) -> TensorShape:
    if one.ndims is None or one.ndims != other.ndims:
        return TensorShape(None)
    pairs = zip(one.as_list(), other.as_list(), strict=True)
    return TensorShape([a if a == b else None for a, b in pairs])
