"""Compile options of XLA that are worth a choice, by platform, and the rule that makes one.

XLA:CPU hands parts of a program to a library of kernels (YNNPACK). What it takes (single
convolutions, products, whole chains with what is around them) decides the speed of a network more
than anything else, in both directions, and differently in each version of JAX.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from hybridnet.base.lazy import jax

from .program_log import log
from .recipe import Options

__all__ = ["candidates", "is_known", "options_for"]

_FUSION: Final = "xla_cpu_experimental_ynn_fusion_type"
_TYPES: Final = (
    "LIBRARY_FUSION_TYPE_INDIVIDUAL_CONVOLUTION",
    "LIBRARY_FUSION_TYPE_DOT",
    "",  # nothing
)
_NONE: Final[Options] = {}
# Some builds of XLA hold oneDNN's convolutions and products beside their own.
_ONEDNN: Final[Options] = {
    _FUSION: "",
    "xla_cpu_use_onednn": True,
    "xla_cpu_experimental_onednn_custom_call": True,
}

_CANDIDATES: Final[dict[str, tuple[Options, ...]]] = {
    "cpu": (_NONE, *({_FUSION: one} for one in _TYPES), _ONEDNN),
}


def candidates(platform: str) -> list[Options]:
    """Returns the options worth trying on a platform that this JAX knows; XLA's own come first."""
    return [one for one in _CANDIDATES.get(platform, (_NONE,)) if _are_known(platform, one)]


def options_for(platform: str, traced: Any) -> Options:
    """Returns what the rule says for a program.

    Args:
        platform: where it will run.
        traced: the program, as `jax.stages.Traced`.
    """
    return _NONE


def _are_known(platform: str, options: Options) -> bool:
    return all(is_known(platform, name, value) for name, value in options.items())


@cache
def is_known(platform: str, name: str, value: Any) -> bool:
    """Whether the installed JAX knows a compile option; asks by compiling a program of nothing."""
    traced = jax.jit(lambda: 0).trace()
    try:
        traced.lower(lowering_platforms=(platform,)).compile(compiler_options={name: value})
    except Exception as error:  # jaxlib has no class of its own for this
        log.info("compile option %s=%s is left out: %s", name, value, str(error).splitlines()[0])
        return False
    return True
