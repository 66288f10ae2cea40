"""The fluent methods: ``x.exp()`` is ``nd.exp(x)``, for arrays, symbols and graph edges alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from hybridnet.base.errors import ParameterError

from . import registry
from .handle import Operand, fluent, several

_mean = several("mean")


if TYPE_CHECKING:
    from ._methods import OperatorMethods
else:
    OperatorMethods = Operand


class FluentMethods(OperatorMethods):
    """An operand whose operators can be written as methods."""

    __slots__ = ()

    if not TYPE_CHECKING:
        abs = fluent("abs")
        arccos = fluent("arccos")
        arccosh = fluent("arccosh")
        arcsin = fluent("arcsin")
        arcsinh = fluent("arcsinh")
        arctan = fluent("arctan")
        arctanh = fluent("arctanh")
        argmax = fluent("argmax")
        argmax_channel = fluent("argmax_channel")
        argmin = fluent("argmin")
        argsort = fluent("argsort")
        broadcast_axes = fluent("broadcast_axes")
        broadcast_like = fluent("broadcast_like")
        broadcast_to = fluent("broadcast_to")
        cbrt = fluent("cbrt")
        ceil = fluent("ceil")
        clip = fluent("clip")
        cos = fluent("cos")
        cosh = fluent("cosh")
        degrees = fluent("degrees")
        depth_to_space = fluent("depth_to_space")
        diag = fluent("diag")
        exp = fluent("exp")
        expm1 = fluent("expm1")
        fix = fluent("fix")
        flip = fluent("flip")
        floor = fluent("floor")
        log = fluent("log")
        log10 = fluent("log10")
        log1p = fluent("log1p")
        log2 = fluent("log2")
        log_softmax = fluent("log_softmax")
        max = fluent("max")
        min = fluent("min")
        nanprod = fluent("nanprod")
        nansum = fluent("nansum")
        norm = fluent("norm")
        one_hot = fluent("one_hot")
        ones_like = fluent("ones_like")
        pad = fluent("pad")
        pick = fluent("pick")
        prod = fluent("prod")
        radians = fluent("radians")
        rcbrt = fluent("rcbrt")
        reciprocal = fluent("reciprocal")
        relu = fluent("relu")
        repeat = fluent("repeat")
        reshape_like = fluent("reshape_like")
        rint = fluent("rint")
        round = fluent("round")
        rsqrt = fluent("rsqrt")
        shape_array = fluent("shape_array")
        sigmoid = fluent("sigmoid")
        sign = fluent("sign")
        sin = fluent("sin")
        sinh = fluent("sinh")
        size_array = fluent("size_array")
        slice = fluent("slice")
        slice_axis = fluent("slice_axis")
        slice_like = fluent("slice_like")
        softmax = fluent("softmax")
        softmin = fluent("softmin")
        sort = fluent("sort")
        space_to_depth = fluent("space_to_depth")
        split = several("split")
        sqrt = fluent("sqrt")
        square = fluent("square")
        sum = fluent("sum")
        swapaxes = fluent("swapaxes")
        take = fluent("take")
        tan = fluent("tan")
        tanh = fluent("tanh")
        tile = fluent("tile")
        topk = several("topk")
        trunc = fluent("trunc")
        zeros_like = fluent("zeros_like")

        def mean(self, *args: Any, dtype: Any = None, **kwargs: Any) -> Self:
            """Applies operator `mean` to this; see ``nd.mean`` for the parameters.

            `dtype` is there for ``numpy.mean(x)``, which gives None; another one is refused.
            """
            given = {} if dtype is None else {"dtype": dtype}
            result: Self = _mean(self, *args, **kwargs, **given)
            return result

    def transpose(self, *order: Any, axes: Any = None, **kwargs: Any) -> Self:
        """Returns the transpose.

        Args:
            order: the axes as one tuple or as integers; none to reverse them all.
            axes: the same by name.
            kwargs: what all operators take, as ``name`` of symbols.
        """
        if axes is None:
            axes = order[0] if len(order) == 1 and isinstance(order[0], (tuple, list)) else order
        elif order:
            raise ParameterError("transpose: give axes by position or by name, not both")
        given = {"axes": tuple(axes)} if axes else {}
        result: Self = type(self).apply_operator(
            registry.get("transpose"), (self,), given, **kwargs
        )
        return result

    def __div__(self, other: Any) -> Self:
        result: Self = self / other
        return result

    def split_v2(
        self,
        indices_or_sections: int | Sequence[int],
        axis: int = 0,
        squeeze_axis: bool = False,
    ) -> Any:
        """Splits along an axis: into this many equal parts, or at these positions."""
        if isinstance(indices_or_sections, int):
            cuts = {"indices": (), "sections": indices_or_sections}
        else:
            cuts = {"indices": (0, *indices_or_sections), "sections": 0}
        attrs = {**cuts, "axis": axis, "squeeze_axis": squeeze_axis}
        return type(self).apply_operator(registry.get("_split_v2"), (self,), attrs)

    def expand_dims(self, axis: int, inplace: bool = False, **options: Any) -> Any:
        """Inserts an axis of size 1; `inplace` asks arrays for a view and is nothing to others."""
        attrs = {"axis": axis}
        return type(self).apply_operator(registry.get("expand_dims"), (self,), attrs, **options)

    def flatten(self, inplace: bool = False, **options: Any) -> Any:
        """Joins all axes but the first; `inplace` asks arrays for a view, and nothing of others."""
        return type(self).apply_operator(registry.get("Flatten"), (self,), {}, **options)

    def squeeze(self, axis: Any = None, inplace: bool = False, **options: Any) -> Any:
        """Drops axes of size 1; `inplace` asks arrays for a view, and nothing of others."""
        attrs = {"axis": axis}
        return type(self).apply_operator(registry.get("squeeze"), (self,), attrs, **options)
