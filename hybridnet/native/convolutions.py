"""Convolutions of NumPy arrays by oneDNN, at once: by its C interface, with nothing compiled first.

Code that runs once does not wait for a compiler, neither XLA's nor C++'s. A convolution that NumPy
would make of a product for each element of the kernel is a kernel of oneDNN here, which takes a
third of the time, and a millisecond to be made ready once for each description.

Activations have their channels last, (batch, *spatial, channel); weights are (filter, channel of a
group, *kernel); all are float32.
"""

from __future__ import annotations

import atexit
import ctypes
import os
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from hybridnet.base import config
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import MXNetError
from hybridnet.base.locks import free_in_children
from hybridnet.base.processor import num_threads
from hybridnet.engine import RLock

from . import onednn_library

# As many kernels are kept ready, those that were used last.
_KEPT_KERNELS: Final = 512
# Bytes of a line of the processor's cache.
_LINE: Final = 64

# oneDNN's numbers (dnnl_types.h, dnnl_common_types.h).
_CPU: Final = 1
_IN_ORDER: Final = 1
_F32: Final = 3
_ANY: Final = 1
_DIRECT: Final = 1
_TRAINING: Final = 64
_INFERENCE: Final = 96
_WEIGHTS_MD: Final = 131
_DIFF_WEIGHTS_MD: Final = 132
_SRC, _DST, _WEIGHTS = 1, 17, 33
_DIFF_SRC, _DIFF_DST, _DIFF_WEIGHTS = 129, 145, 161


class ConvolutionSpec(NamedTuple):
    """The specification of a convolution: the shapes and sizes that it works on.

    Attributes:
        source: (batch, *spatial, channel).
        destination: (batch, *spatial, filter).
        kernel: its sizes.
        strides: of the windows, along each spatial axis.
        dilation: the distance of the kernel's elements, likewise; 1: they touch.
        before, after: zeros put around the source, likewise; not below 0.
        groups: in how many groups channels and filters are.
    """

    source: tuple[int, ...]
    destination: tuple[int, ...]
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    groups: int

    @property
    def weights(self) -> tuple[int, ...]:
        """The shape of the weights."""
        return (self.destination[-1], self.source[-1] // self.groups, *self.kernel)


def forward(spec: ConvolutionSpec, data: NumpyArray, weights: NumpyArray) -> NumpyArray | None:
    """Returns the convolution; None where oneDNN is not there, or has no kernel for it."""
    return _run(_FORWARD, spec, {_SRC: data, _WEIGHTS: weights})


def data_gradient(
    spec: ConvolutionSpec, weights: NumpyArray, gradient: NumpyArray
) -> NumpyArray | None:
    """Returns the gradient of the data from that of the result; None as in `forward`."""
    return _run(_DATA_GRADIENT, spec, {_WEIGHTS: weights, _DIFF_DST: gradient})


def weight_gradient(
    spec: ConvolutionSpec, data: NumpyArray, gradient: NumpyArray
) -> NumpyArray | None:
    """Returns the gradient of the weights from that of the result; None as in `forward`."""
    return _run(_WEIGHT_GRADIENT, spec, {_SRC: data, _DIFF_DST: gradient})


# -- the library -----------------------------------------------------------------------------------


def use_threads(number: int) -> None:
    """Lets what is called from now on compute with this many threads."""
    global _threads
    _threads = number


class _NoKernelError(Exception):
    """oneDNN has no kernel for this."""


class _Argument(ctypes.Structure):
    _fields_ = (("argument", ctypes.c_int), ("memory", ctypes.c_void_p))


@final
class _Library:
    """The library, its engine for processors and a stream, and what it is asked for."""

    def __init__(self, file: ctypes.CDLL) -> None:
        self.file = file
        for name in ("dnnl_primitive_desc_query_md", "dnnl_memory_desc_get_size"):
            getattr(file, name).restype = ctypes.c_void_p if "query" in name else ctypes.c_size_t
        self.engine = self.new("engine_create", _CPU, ctypes.c_size_t(0))
        self.stream = self.new("stream_create", self.engine, _IN_ORDER)

    def new(self, what: str, *arguments: Any) -> ctypes.c_void_p:
        """Returns what a function of this name makes, which `drop` gives back."""
        made = ctypes.c_void_p()
        if getattr(self.file, f"dnnl_{what}")(ctypes.byref(made), *arguments):
            raise _NoKernelError(what)
        return made

    def do(self, what: str, *arguments: Any) -> None:
        """Calls a function of this name, which must succeed."""
        status = getattr(self.file, f"dnnl_{what}")(*arguments)
        if status:
            raise MXNetError(f"oneDNN's dnnl_{what} failed with status {status}")

    def drop(self, kind: str, things: Sequence[ctypes.c_void_p]) -> None:
        """Gives back what `new` has made."""
        for thing in things:
            getattr(self.file, f"dnnl_{kind}_destroy")(thing)

    def layout(self, shape: Sequence[int], strides: Sequence[int] | None) -> ctypes.c_void_p:
        """Describes an array; without strides its order in memory is left to the kernel."""
        if strides is None:
            tagged = len(shape), _numbers(shape), _F32, _ANY
            return self.new("memory_desc_create_with_tag", *tagged)
        stepped = len(shape), _numbers(shape), _F32, _numbers(strides)
        return self.new("memory_desc_create_with_strides", *stepped)

    def execute(self, primitive: ctypes.c_void_p, arguments: dict[int, ctypes.c_void_p]) -> None:
        """Executes a primitive, and waits for it."""
        given = (_Argument * len(arguments))(*[_Argument(*one) for one in arguments.items()])
        self.do("primitive_execute", primitive, self.stream, len(given), given)
        self.do("stream_wait", self.stream)


def _numbers(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * len(values))(*values)


# oneDNN computes one thing at a time: a kernel has memory of its own for what is in between.
_lock: Final = free_in_children(RLock())
# By what they compute, and with how many threads.
_kernels: Final[OrderedDict[tuple[str, ConvolutionSpec, int], _Kernel | None]] = OrderedDict()
# With how many threads they compute; 0: as many as there may be.
_threads = 0
_library: _Library | None = None  # once somebody has asked
_closed = False  # nobody may ask any more


def _usable() -> bool:
    """Whether there is a library to call; loads it. The lock is held."""
    global _library
    if not config.onednn():
        return False
    if _library is None and not _closed:
        file = onednn_library.load()
        if file is None:
            _leave()
            return False
        _library = _Library(file)
        atexit.register(_close)
        if hasattr(os, "register_at_fork"):
            # A child has none of the threads that would compute.
            os.register_at_fork(after_in_child=_leave)
    return not _closed


def _leave() -> None:
    global _closed
    _closed = True


def _close() -> None:
    """Waits for what computes: the library takes its things down after this."""
    with _lock:
        _leave()


# -- kernels ---------------------------------------------------------------------------------------

_FORWARD: Final = "forward"
_DATA_GRADIENT: Final = "gradient of the data"
_WEIGHT_GRADIENT: Final = "gradient of the weights"


def _run(kind: str, spec: ConvolutionSpec, arrays: dict[int, NumpyArray]) -> NumpyArray | None:
    if _closed:  # in a forked child another thread may have the lock for good
        return None
    with _lock:
        if not _usable():
            return None
        assert _library is not None
        threads = _threads or num_threads()
        # The number belongs to this thread. What else calls oneDNN here makes the same of a
        # description as other threads do: the order of packed weights goes by the number.
        _library.file.omp_set_num_threads(threads)
        try:
            kernel = _kernel(_library, kind, spec, threads)
            return None if kernel is None else kernel.run(arrays)
        finally:
            _library.file.omp_set_num_threads(num_threads())


def _kernel(library: _Library, kind: str, spec: ConvolutionSpec, threads: int) -> _Kernel | None:
    """Returns what computes this, made ready now if it is not; None where oneDNN has nothing."""
    key = kind, spec, threads
    if key not in _kernels:
        try:
            _kernels[key] = _Kernel(library, kind, spec)
        except _NoKernelError:
            _kernels[key] = None
        while len(_kernels) > _KEPT_KERNELS:
            _, oldest = _kernels.popitem(last=False)
            if oldest is not None:
                oldest.drop()
    _kernels.move_to_end(key)
    return _kernels[key]


@final
class _Kernel:
    """A convolution or one of its gradients, made ready; and how weights come into its order."""

    def __init__(self, library: _Library, kind: str, spec: ConvolutionSpec) -> None:
        self._library = library
        self._memories: dict[int, ctypes.c_void_p] = {}
        self._primitives: list[ctypes.c_void_p] = []
        # Weights as they are given, where the kernel has them in another order.
        self._given: ctypes.c_void_p | None = None
        self._result = {_FORWARD: _DST, _DATA_GRADIENT: _DIFF_SRC}.get(kind, _DIFF_WEIGHTS)
        self._shape = {_DST: spec.destination, _DIFF_SRC: spec.source}.get(
            self._result, spec.weights
        )
        self._weights = _DIFF_WEIGHTS if kind == _WEIGHT_GRADIENT else _WEIGHTS
        layouts: list[ctypes.c_void_p] = []
        plans: list[ctypes.c_void_p] = []
        try:
            self._make(kind, spec, layouts, plans)
        except _NoKernelError:
            self.drop()
            raise
        finally:
            library.drop("primitive_desc", plans)
            library.drop("memory_desc", layouts)

    def _make(
        self,
        kind: str,
        spec: ConvolutionSpec,
        layouts: list[ctypes.c_void_p],
        plans: list[ctypes.c_void_p],
    ) -> None:
        new, engine = self._library.new, self._library.engine

        def layout(shape: Sequence[int], strides: Sequence[int] | None = None) -> ctypes.c_void_p:
            layouts.append(self._library.layout(shape, strides))
            return layouts[-1]

        source = layout(*_channels_second(spec.source))
        result = layout(*_channels_second(spec.destination))
        grouped = _grouped(spec)
        given = layout(grouped, _steps(grouped))
        free = layout(grouped)
        along = [
            _numbers(spec.strides),
            _numbers([one - 1 for one in spec.dilation]),  # oneDNN counts what is left out
            _numbers(spec.before),
            _numbers(spec.after),
        ]
        method = ctypes.c_int(_DIRECT)
        use = ctypes.c_int(_INFERENCE if kind == _FORWARD else _TRAINING)
        make = "convolution_{}_primitive_desc_create"
        forwards = (use, method, source, free, None, result)
        plans.append(new(make.format("forward"), engine, *forwards, *along, None))
        query = _WEIGHTS_MD
        if kind == _DATA_GRADIENT:
            back = (make.format("backward_data"), engine, method, source, free, result)
            plans.append(new(*back, *along, plans[0], None))
        elif kind == _WEIGHT_GRADIENT:
            query = _DIFF_WEIGHTS_MD
            backs = (make.format("backward_weights"), engine, method, source, free, None, result)
            plans.append(new(*backs, *along, plans[0], None))
        chosen = plans[-1]
        own = ctypes.c_void_p(
            self._library.file.dnnl_primitive_desc_query_md(chosen, ctypes.c_int(query), 0)
        )
        self._own_size = self._library.file.dnnl_memory_desc_get_size(own) // 4
        self._primitives.append(new("primitive_create", chosen))
        ends = {
            _FORWARD: {_SRC: source, _DST: result},
            _DATA_GRADIENT: {_DIFF_SRC: source, _DIFF_DST: result},
            _WEIGHT_GRADIENT: {_SRC: source, _DIFF_DST: result},
        }[kind]
        for argument, what in {**ends, self._weights: own}.items():
            self._memories[argument] = new("memory_create", what, engine, None)
        if not self._library.file.dnnl_memory_desc_equal(own, given):
            self._given = new("memory_create", given, engine, None)
            ways = (own, given) if kind == _WEIGHT_GRADIENT else (given, own)
            turn = new("reorder_primitive_desc_create", ways[0], engine, ways[1], engine, None)
            plans.append(turn)
            self._primitives.append(new("primitive_create", turn))

    def run(self, arrays: dict[int, NumpyArray]) -> NumpyArray:
        """Returns the result; the arrays are in the order of the module's docstring."""
        library, memories = self._library, self._memories
        result = np.empty(self._shape, np.float32)
        arrays = {argument: np.ascontiguousarray(one) for argument, one in arrays.items()}
        arrays[self._result] = result
        for argument, array in arrays.items():
            self._at(memories[argument], array)
        if self._given is None:
            library.execute(self._primitives[0], memories)
            return result
        turned = _aligned(self._own_size)
        self._at(self._given, arrays[self._weights])
        self._at(memories[self._weights], turned)
        own = memories[self._weights]
        if self._weights == self._result:
            library.execute(self._primitives[0], memories)
            library.execute(self._primitives[1], {_SRC: own, _DST: self._given})
        else:
            library.execute(self._primitives[1], {_SRC: self._given, _DST: own})
            library.execute(self._primitives[0], memories)
        return result

    def _at(self, memory: ctypes.c_void_p, array: NumpyArray) -> None:
        self._library.do("memory_set_data_handle", memory, ctypes.c_void_p(array.ctypes.data))

    def drop(self) -> None:
        """Gives back what oneDNN keeps for it."""
        self._library.drop("memory", [*self._memories.values()])
        if self._given is not None:
            self._library.drop("memory", [self._given])
        self._library.drop("primitive", self._primitives)


def _aligned(size: int) -> NumpyArray:
    """Returns memory that begins at a line of the processor's cache, as kernels want their own."""
    made = np.empty(size + _LINE // 4, np.float32)
    skipped = -made.ctypes.data % _LINE // 4
    return made[skipped : skipped + size]


def _steps(shape: Sequence[int]) -> list[int]:
    """Returns how far the elements of a contiguous array lie apart, along each axis."""
    steps = [1]
    for size in reversed(shape[1:]):
        steps.insert(0, steps[0] * size)
    return steps


def _channels_second(shape: Sequence[int]) -> tuple[list[int], list[int]]:
    """Returns shape and strides of activations in the order that oneDNN names their axes in."""
    steps = _steps(shape)
    order = [0, len(shape) - 1, *range(1, len(shape) - 1)]
    return [shape[axis] for axis in order], [steps[axis] for axis in order]


def _grouped(spec: ConvolutionSpec) -> list[int]:
    filters, channels, *kernel = spec.weights
    if spec.groups == 1:
        return [filters, channels, *kernel]
    return [spec.groups, filters // spec.groups, channels, *kernel]
