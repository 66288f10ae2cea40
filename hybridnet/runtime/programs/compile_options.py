"""Compile options of XLA that are worth a choice, by platform, and the rule that makes one.

XLA:CPU hands parts of a program to a library of kernels (YNNPACK). What it takes (single
convolutions, products, whole chains with what is around them) decides the speed of a network more
than anything else, in both directions, and differently in each version of JAX.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import chain
from typing import Any, Final

from hybridnet.base import config
from hybridnet.base.interrupts import is_from_signal
from hybridnet.base.lazy import jax, jax_core
from hybridnet.ops.core import Site

from ..observe.program_log import log
from .recipe import Options

_FUSION: Final = "xla_cpu_experimental_ynn_fusion_type"
_TYPES: Final = (
    "LIBRARY_FUSION_TYPE_DOT",
    "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT",
    "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION",
    "LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION",
    "",  # nothing
)
_NO_OPTIONS: Final[Options] = {}
_EACH_PRODUCT: Final[Options] = {_FUSION: "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT"}
_PRODUCTS: Final[Options] = {_FUSION: "LIBRARY_FUSION_TYPE_DOT"}
# Training a convolutional network: the library's convolutions take up to four times as long for
# the gradients as XLA's own. CPU milliseconds, library / own, channels last, jax 0.10.2 and 0.12:
# weight gradients of 64 filters of 3x3 on (32, 32, 32, 64) 78 / 35 and 71 / 30, of AlexNet's second
# layer 148 / 58. LeNet's step 51 / 31, and 54 without any library. Groups are lowered to sums of
# slices, which the library would repeat for every product if it took them along.
_CONVOLUTIONS: Final = frozenset({"Convolution", "Deconvolution"})
# Some builds of XLA hold oneDNN's convolutions and products beside their own.
_ONEDNN: Final[Options] = {
    _FUSION: "",
    "xla_cpu_use_onednn": True,
    "xla_cpu_experimental_onednn_custom_call": True,
}

# XLA:CPU copies what is overwritten and also read by something that need not come first, such as a
# weight and the gradient of its layer's input. With this it orders the two instead. Share of the
# time of a training step, jax 0.10.2 and 0.12: AlexNet 0.89 and 0.88 (256 MB of copies), three
# dense layers 0.97 and 0.96, ResNet-18 0.93 (45 MB); two LSTM layers, which are loops, 1.05 and
# 1.04, and no copy less that counts. Three small dense layers (64-128-128-10, 104 KB): 0.97.
_ORDERED: Final[Options] = {"xla_cpu_copy_insertion_use_region_analysis": True}
# Where all that is overwritten is less than this, its copies take no time that could be told.
_MIN_OVERWRITTEN_BYTES: Final = 1 << 14
_LOOPS: Final = frozenset({"scan", "while"})

# The temporary memory of a run is asked for in blocks of some such size, not as one: glibc's heaps
# of threads other than the first hold 64 MiB, and what fits into none is mapped anew, and cleared
# by the kernel, at each run (`hybridnet.base.allocator`). XLA warns of arrays that are larger, and
# cannot write a program with several blocks to disk.
_BLOCKS: Final = "xla_multiheap_size_constraint_per_heap"
_BLOCK_BYTES: Final = 24 << 20
_MAX_BLOCK_BYTES: Final = 60 << 20

# What XLA leaves out of a program of thousands of small operators, which would take it minutes. An
# LSTM with its gradient, jax 0.10.2 on two busy cores: of 160 steps, 7,200 equations, 94 s instead
# of 382, to run 224 ms instead of 384; of 40 steps, 1,800 equations, 4 s instead of 22, but 26 ms
# instead of 11. Large arrays need the fusions: a step of ResNet-18, 10,500 equations, whose results
# have 353 KB each on average, takes 0.77 s without them, and 0.45 with.
_HURRIED: Final[Options] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}
_MANY_EQUATIONS: Final = 4000
# Bytes of arrays for each equation: on average, the size of a result.
_SMALL_BYTES: Final = 128 << 10

# What XLA leaves out on GPUs of a program that somebody waits for: to compile and time several
# kernels for each fusion and product, one program at a time on a device. Products go to cuBLAS.
# (An H100, JAX 0.11.2: programs of one or two operators took 51 ms each, 15 to 35 of them without
# the autotuners, as compiled for one without a device; public reports of the fusion autotuner say
# minutes. The gain on a card has not been measured.)
_UNTUNED: Final[Options] = {
    "xla_gpu_experimental_enable_fusion_autotuner": False,
    "xla_gpu_enable_triton_gemm": False,
    "xla_gpu_autotune_level": 0,
}

_CANDIDATES: Final[dict[str, tuple[Options, ...]]] = {
    "cpu": (_NO_OPTIONS, *({_FUSION: kind} for kind in _TYPES), _ONEDNN),
}


def candidates(platform: str) -> list[Options]:
    """Returns the options worth trying on a platform that this JAX knows; XLA's own come first."""
    return [x for x in _CANDIDATES.get(platform, (_NO_OPTIONS,)) if _are_known(platform, x)]


def options_for(platform: str, sites: Iterable[Site]) -> Options:
    """Returns what the rule says for a program.

    Args:
        platform: where it will run.
        sites: what `hybridnet.ops.core.alternatives` was asked about while it was traced.
    """
    if platform != "cpu" or config.tuning() == "off":
        return _NO_OPTIONS
    gradients = [
        site for site in sites if site.wanted is not None and site.call.name in _CONVOLUTIONS
    ]
    if not gradients:
        return _NO_OPTIONS
    grouped = any(site.attrs["num_group"] > 1 for site in gradients)
    options = _EACH_PRODUCT if grouped else _PRODUCTS
    return options if _are_known(platform, options) else _NO_OPTIONS


class _Thread(threading.local):
    """Whether the programs that a thread makes now do without XLA's autotuners."""

    is_untuned = False


_thread: Final = _Thread()


@contextmanager
def untuned() -> Iterator[None]:
    """A block in which this thread makes programs for GPUs that do without XLA's autotuners."""
    before, _thread.is_untuned = _thread.is_untuned, True
    try:
        yield
    finally:
        _thread.is_untuned = before


def is_untuned() -> bool:
    """Whether this thread is in a block of `untuned`."""
    return _thread.is_untuned


def options_for_waiting(platform: str) -> Options:
    """Returns what a program is compiled with in a block of `untuned`, above all else.

    Args:
        platform: where it will run.
    """
    if platform != "gpu" or not _thread.is_untuned:
        return _NO_OPTIONS
    return _options_untuned(platform)


def options_for_memory(platform: str, overwritten: int, jaxpr: jax_core.Jaxpr) -> Options:
    """Returns what a program is compiled with beside a recipe's options: how it uses memory.

    Args:
        platform: where it will run.
        overwritten: bytes of the inputs whose memory outputs take over.
        jaxpr: the program.
    """
    if platform != "cpu" or config.tuning() == "off":
        return _NO_OPTIONS
    orders = overwritten >= _MIN_OVERWRITTEN_BYTES and not _has_loop(jaxpr)
    return _ORDERED if orders and _are_known(platform, _ORDERED) else _NO_OPTIONS


def options_for_blocks(platform: str, jaxpr: jax_core.Jaxpr) -> Options:
    """Returns what makes a program ask for its temporary memory in blocks, if that is worth it.

    Args:
        platform: where it will run.
        jaxpr: the program.
    """
    if platform != "cpu" or config.tuning() == "off":
        return _NO_OPTIONS
    sizes = [*_sizes(jaxpr)]
    # What XLA makes of an array on its way, padded ones above all, is not twice as large.
    block = max(_BLOCK_BYTES, 2 * max(sizes, default=0))
    is_worth_it = block <= _MAX_BLOCK_BYTES and sum(sizes) > _BLOCK_BYTES
    return (
        {_BLOCKS: block}
        if is_worth_it and is_known(platform, _BLOCKS, _BLOCK_BYTES)
        else _NO_OPTIONS
    )


def options_for_size(platform: str, jaxpr: jax_core.Jaxpr) -> Options:
    """Returns what a program of thousands of small operators is compiled with, above all else.

    Args:
        platform: where it will run.
        jaxpr: the program.
    """
    if platform != "cpu" or len(jaxpr.eqns) < _MANY_EQUATIONS:
        return _NO_OPTIONS
    if sum(_sizes(jaxpr)) >= _SMALL_BYTES * len(jaxpr.eqns):
        return _NO_OPTIONS
    return {name: value for name, value in _HURRIED.items() if is_known(platform, name, value)}


def _has_loop(jaxpr: jax_core.Jaxpr) -> bool:
    return any(
        equation.primitive.name in _LOOPS or any(map(_has_loop, _within(equation)))
        for equation in jaxpr.eqns
    )


def _sizes(jaxpr: Any) -> Iterator[int]:
    """Yields the bytes of each array that a program reads or makes."""
    variables = chain(jaxpr.invars, *(equation.outvars for equation in jaxpr.eqns))
    for variable in variables:
        kind = variable.aval
        if hasattr(kind, "size"):
            yield kind.size * kind.dtype.itemsize
    for equation in jaxpr.eqns:
        for inner in _within(equation):
            yield from _sizes(inner)


def _within(equation: jax_core.JaxprEqn) -> Iterator[Any]:
    """Yields the programs that an equation of one holds."""
    for value in equation.params.values():
        for part in value if isinstance(value, (list, tuple)) else (value,):
            inner = getattr(part, "jaxpr", part)
            if hasattr(inner, "eqns"):
                yield inner


def _are_known(platform: str, options: Options) -> bool:
    return all(is_known(platform, name, value) for name, value in options.items())


@cache
def is_known(platform: str, name: str, value: str | int | bool) -> bool:
    """Whether the installed JAX knows a compile option; asks by compiling a program of nothing."""
    fault = _fault_of(platform, {name: value})
    if fault:
        log.info("compile option %s=%s is left out: %s", name, value, fault)
    return not fault


@cache
def _options_untuned(platform: str) -> Options:
    """Returns those of `_UNTUNED` that this JAX knows; mostly all, of which one program tells."""
    if not _fault_of(platform, _UNTUNED):
        return _UNTUNED
    return {name: value for name, value in _UNTUNED.items() if is_known(platform, name, value)}


def _fault_of(platform: str, options: Options) -> str:
    """Returns what XLA has against compile options; empty if nothing."""
    traced = jax.jit(lambda: 0).trace()
    # A virtual GPU has no platform of its own; XLA knows the options of all platforms on each.
    where: dict[str, Any] = {} if platform == "gpu" else {"lowering_platforms": (platform,)}
    try:
        traced.lower(**where).compile(compiler_options=dict(options))
    except Exception as error:  # jaxlib has no class of its own for this
        if is_from_signal(error):
            raise
        return str(error).splitlines()[0]
    return ""
