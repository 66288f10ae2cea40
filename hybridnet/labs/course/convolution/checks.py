"""Lab 12: what is to hold of a convolution, tried on small layers and timed on one of LeNet's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np
from hypothesis import strategies as st

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.lazy import jax

from ...checking import Check, Wrong
from .layers import LAYERS, ConvolutionLayer
from .timing import FIRST, by_xla, medians, operands_of, step

#: How far a result may be off: small whole numbers are compared, so that no rounding comes near.
_NEAR: Final = 0.25
#: Of large ones, as a share of the greatest.
_SHARE: Final = 1e-4
#: Equations of a program: some, and some for each element of the window.
_SOME: Final = 40
_EACH: Final = 12
#: A training step's time, as a share of that of XLA's; measured again where it is more, since what
#: else runs on the machine takes room in its caches.
_FASTER: Final = 0.8
_ATTEMPTS: Final = 3

_SMALL: Final = st.sampled_from(LAYERS)
_FEWER: Final = st.sampled_from(LAYERS[::2])  # to compile gradients takes twice as long
_TYPED: Final = st.builds(
    lambda layer, dtype: replace(layer, dtype=dtype),
    st.sampled_from(LAYERS[:12]),
    st.sampled_from(("float16", "float64", "float32")),
)
#: With many of all that nobody may loop over.
_LARGE: Final = st.sampled_from(
    [
        ConvolutionLayer((64, 8, 12, 10), (16, 8, *kernel), stride, pad)
        for kernel in ((1, 1), (2, 3), (3, 3))
        for stride, pad in (((1, 1), (0, 0)), ((2, 1), (1, 0)))
    ]
)


@contextmanager
def _on_cpu() -> Iterator[None]:
    """A block in which JAX computes on the CPU, and keeps float64."""
    with jax.default_device(jax.local_devices(backend="cpu")[0]), jax.enable_x64(True):
        yield


@contextmanager
def _traced() -> Iterator[None]:
    """A block in which a part that asks for numbers while its program is built is told so."""
    errors = jax.errors
    kinds = (
        errors.TracerArrayConversionError,
        errors.ConcretizationTypeError,
        errors.TracerIntegerConversionError,
    )
    try:
        yield
    except kinds as error:
        text = str(error).splitlines()[0]
        raise Wrong("untraced", error=f"{type(error).__name__}: {text}") from error


def _type_of(part: Any, layer: ConvolutionLayer) -> Any:
    """Returns shape and dtype of the part's result, which is not computed."""
    types = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in layer.operands]
    with _traced():
        try:
            found = jax.eval_shape(partial(part.convolution, **layer.window), *types)
        except TypeError as error:
            if "not a valid JAX type" in str(error):
                raise Wrong("no_array", answer=str(error).splitlines()[0]) from error
            raise
    if not isinstance(found, jax.ShapeDtypeStruct):
        raise Wrong("no_array", answer=repr(found))
    return found


def _has_its_shape(part: Any, layer: ConvolutionLayer) -> None:
    with _on_cpu():
        found = _type_of(part, layer)
        if found.shape != layer.result:
            raise Wrong("shape", found=found.shape, wanted=layer.result)


def _keeps_the_dtype(part: Any, layer: ConvolutionLayer) -> None:
    with _on_cpu():
        found = _type_of(part, layer)
        if found.dtype != np.dtype(layer.dtype):
            raise Wrong("dtype", found=found.dtype.name, wanted=layer.dtype)


def _has_its_values(part: Any, layer: ConvolutionLayer) -> None:
    with _on_cpu(), _traced():
        found = jax.jit(partial(part.convolution, **layer.window))(*layer.operands)
        place = _differing(found, layer.convolved)
    if place is not None:
        own, wanted = (f"{float(x[place]):g}" for x in (np.asarray(found), layer.convolved))
        raise Wrong("value", place=place, found=own, wanted=wanted)


def _has_its_gradients(part: Any, layer: ConvolutionLayer) -> None:
    with _on_cpu(), _traced():
        found = step(part.convolution, layer)(*layer.operands, layer.result_gradient)[1:]
    for name, own, wanted in zip(("data", "weight"), found, layer.gradients, strict=True):
        place = _differing(own, wanted)
        if place is not None:
            numbers = (f"{float(x[place]):g}" for x in (np.asarray(own), wanted))
            values = dict(zip(("found", "wanted"), numbers, strict=True))
            raise Wrong(f"{name}_gradient", place=place, **values)


def _differing(found: Any, wanted: NumpyArray) -> tuple[int, ...] | None:
    """Returns the first place where the numbers are not the same."""
    is_near = np.abs(np.asarray(found, "float64") - wanted) <= _NEAR
    if is_near.all():
        return None
    return tuple(int(index) for index in np.argwhere(~is_near)[0])


def _is_one_program(part: Any, layer: ConvolutionLayer) -> None:
    """The window may be looped over, but neither images nor places, channels nor filters."""
    types = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in layer.operands]
    with _on_cpu(), _traced():
        made = jax.make_jaxpr(partial(part.convolution, **layer.window))(*types)
    count, elements = _equations(made.jaxpr), layer.weight[2] * layer.weight[3]
    most = _SOME + _EACH * elements
    if count > most:
        raise Wrong("equations", count=count, most=most, elements=elements)


def _equations(jaxpr: Any) -> int:
    """Returns how many equations there are, those of inner ones among them."""
    count = 0
    for equation in jaxpr.eqns:
        count += 1
        for value in equation.params.values():
            for one in value if isinstance(value, (tuple, list)) else (value,):
                inner = getattr(one, "jaxpr", one)
                count += _equations(inner) if hasattr(inner, "eqns") else 0
    return count


def _is_right_where_it_is_large(part: Any) -> None:
    """So that what is timed is a convolution."""
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        operands = operands_of(FIRST)
        own, wanted = (step(one, FIRST)(*operands) for one in (part.convolution, by_xla))
    for name, x, y in zip(("result", "data", "weight"), own, wanted, strict=True):
        off = float(np.abs(np.asarray(x) - np.asarray(y)).max() / np.abs(np.asarray(y)).max())
        if not off <= _SHARE:
            raise Wrong(f"large_{name}", off=f"{off:.2g}", most=f"{_SHARE:g}")


def _is_faster(part: Any) -> None:
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        operands = operands_of(FIRST)
        programs = {
            name: partial(step(one, FIRST), *operands)
            for name, one in (("xla", by_xla), ("own", part.convolution))
        }
        for _ in range(_ATTEMPTS):
            times = medians(programs)
            if times["own"] <= _FASTER * times["xla"]:
                return
    own, xla = (f"{times[name] * 1e3:.1f}" for name in ("own", "xla"))
    ratio = f"{times['own'] / times['xla']:.2f}"
    raise Wrong("slow", own=own, xla=xla, ratio=ratio, most=_FASTER)


CHECKS: Final = (
    Check("shape", _has_its_shape, _SMALL),
    Check("dtype", _keeps_the_dtype, _TYPED),
    Check("values", _has_its_values, _SMALL),
    Check("gradients", _has_its_gradients, _FEWER),
    Check("one_program", _is_one_program, _LARGE),
    Check("large", _is_right_where_it_is_large),
    Check("faster", _is_faster),
)
