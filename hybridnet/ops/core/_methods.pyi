# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from typing import Any, Literal, Self

from hybridnet.base.array_types import DTypeLike, Places, Real, Sizes, Switch, Whole, Wholes
from hybridnet.base.context import Context
from hybridnet.ops.core.handle import Operand

class OperatorMethods(Operand):
    """The methods that apply an operator."""

    def abs(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Absolute value.

        Args:
            data: an array of any shape.
        """

    def arccos(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Inverse cosine, from 0 to pi.

        Args:
            data: an array of any shape.
        """

    def arccosh(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Inverse hyperbolic cosine, of numbers from 1 on.

        Args:
            data: an array of any shape.
        """

    def arcsin(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Inverse sine, from -pi/2 to pi/2.

        Args:
            data: an array of any shape.
        """

    def arcsinh(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Inverse hyperbolic sine.

        Args:
            data: an array of any shape.
        """

    def arctan(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Inverse tangent, from -pi/2 to pi/2.

        Args:
            data: an array of any shape.
        """

    def arctanh(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Inverse hyperbolic tangent, of numbers from -1 to 1.

        Args:
            data: an array of any shape.
        """

    def argmax(
        self,
        axis: Whole | None = None,
        keepdims: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Position of the largest element.

        Positions have the dtype of `data`, as in MXNet; of equal elements the first counts.

        Args:
            data: an array of any shape.
            axis: the axis; None for the position in the flattened array.
            keepdims: keep the axis with size 1.
        """

    def argmax_channel(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Position of the largest element along axis 1, in the dtype of `data`.

        Args:
            data: an array of any shape.
        """

    def argmin(
        self,
        axis: Whole | None = None,
        keepdims: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Position of the smallest element.

        Positions have the dtype of `data`, as in MXNet; of equal elements the first counts.

        Args:
            data: an array of any shape.
            axis: the axis; None for the position in the flattened array.
            keepdims: keep the axis with size 1.
        """

    def argsort(
        self,
        axis: Whole | None = -1,
        is_ascend: Switch = True,
        dtype: DTypeLike = "float32",
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """The positions of the elements in order.

        Args:
            data: an array of any shape.
            axis: sort along this axis; None for the flattened array.
            is_ascend: the smallest first; otherwise the largest.
            dtype: the dtype of the positions.
        """

    def broadcast_axes(
        self, axis: Sizes = (), size: Sizes = (), *, out: Self | Any = None, name: str | Any = None
    ) -> Self:
        """Copies along some axes, which must have size 1.

        Args:
            data: an array of any shape.
            axis: the axes.
            size: the new size of each of them.
        """

    def broadcast_like(
        self,
        rhs: Operand,
        lhs_axes: Wholes = None,
        rhs_axes: Wholes = None,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Copies `lhs` along axes of size 1 until it has the shape of `rhs`.

        Args:
            lhs: an array of any shape.
            rhs: only its shape counts.
            lhs_axes: broadcast these axes only.
            rhs_axes: the axes of `rhs` that have their new sizes.
        """

    def broadcast_to(
        self, shape: Sizes = (), *, out: Self | Any = None, name: str | Any = None
    ) -> Self:
        """Copies along axes of size 1 until the array has this shape; 0 keeps a dimension as it is.

        Args:
            data: an array of any shape.
            shape: of the result.
        """

    def cbrt(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Cube root, of negative numbers too.

        Args:
            data: an array of any shape.
        """

    def ceil(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Smallest whole number not below the element.

        Args:
            data: an array of any shape.
        """

    def clip(
        self, a_min: Real, a_max: Real, *, out: Self | Any = None, name: str | Any = None
    ) -> Self:
        """Limits each element to the range from `a_min` to `a_max`.

        The gradient is 1 inside the range, both ends included, and 0 outside.

        Args:
            data: an array of any shape.
        """

    def cos(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Cosine, of radians.

        Args:
            data: an array of any shape.
        """

    def cosh(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Hyperbolic cosine.

        Args:
            data: an array of any shape.
        """

    def degrees(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Radians to degrees.

        Args:
            data: an array of any shape.
        """

    def depth_to_space(
        self, block_size: Whole, *, out: Self | Any = None, name: str | Any = None
    ) -> Self:
        """Lays channels out as square blocks: (N, C b b, H, W) becomes (N, C, H b, W b).

        Args:
            data: an array of any shape.
        """

    def diag(
        self,
        k: Whole = 0,
        axis1: Whole = 0,
        axis2: Whole = 1,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """The diagonal of each matrix, or, of a vector, the matrix with it as diagonal.

        Args:
            data: an array of any shape.
            k: which diagonal: above (positive) or below (negative) the main one.
            axis1: the axis of the rows.
            axis2: the axis of the columns; the diagonal becomes the last axis of the result.
        """

    def exp(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """e to the power of the element.

        Args:
            data: an array of any shape.
        """

    def expm1(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """exp(x) - 1, exact for small x.

        Args:
            data: an array of any shape.
        """

    def fix(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Nearest whole number towards zero.

        Args:
            data: an array of any shape.
        """

    def flip(self, axis: Sizes, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Reverses the order of the elements along some axes.

        Args:
            data: an array of any shape.
        """

    def floor(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Largest whole number not above the element.

        Args:
            data: an array of any shape.
        """

    def log(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Natural logarithm.

        Args:
            data: an array of any shape.
        """

    def log10(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Logarithm to base 10.

        Args:
            data: an array of any shape.
        """

    def log1p(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """log(1 + x), exact for small x.

        Args:
            data: an array of any shape.
        """

    def log2(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Logarithm to base 2.

        Args:
            data: an array of any shape.
        """

    def log_softmax(
        self,
        axis: Whole = -1,
        temperature: Real | None = None,
        dtype: DTypeLike = None,
        use_length: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Computes ``x - log(sum(exp(x)))`` along an axis, without overflow.

        Args:
            data: any shape, floating point.
            axis: the axis along which the exponentials of the result sum to 1.
            temperature: what the data are divided by first; default 1.
            dtype: of the result; default that of `data`.
            use_length: without meaning, as in MXNet.

        Returns:
            The shape of `data`. Narrow floats are computed in float32.
        """

    def max(
        self,
        axis: Wholes = None,
        keepdims: Switch = False,
        exclude: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Largest element over axes; the gradient goes to every element that equals it.

        Args:
            data: the array.
            axis: an axis or several; None or () for all.
            keepdims: keep the reduced axes with size 1.
            exclude: reduce over all axes but the given ones.
        """

    def min(
        self,
        axis: Wholes = None,
        keepdims: Switch = False,
        exclude: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Smallest element over axes; the gradient goes to every element that equals it.

        Args:
            data: the array.
            axis: an axis or several; None or () for all.
            keepdims: keep the reduced axes with size 1.
            exclude: reduce over all axes but the given ones.
        """

    def nanprod(
        self,
        axis: Wholes = None,
        keepdims: Switch = False,
        exclude: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Product over axes, with NaN counted as 1.

        Args:
            data: the array.
            axis: an axis or several; None or () for all.
            keepdims: keep the reduced axes with size 1.
            exclude: reduce over all axes but the given ones.
        """

    def nansum(
        self,
        axis: Wholes = None,
        keepdims: Switch = False,
        exclude: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Sum over axes, with NaN counted as 0.

        Args:
            data: the array.
            axis: an axis or several; None or () for all.
            keepdims: keep the reduced axes with size 1.
            exclude: reduce over all axes but the given ones.
        """

    def norm(
        self,
        ord: Literal[1, 2] | Whole = 2,
        axis: Wholes = None,
        out_dtype: DTypeLike = None,
        keepdims: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Norm over axes: the sum of absolute values, or the root of the sum of squares.

        Args:
            data: an array of any shape.
            ord: 1 or 2.
            axis: an axis or several; None for all.
            out_dtype: the dtype of the result; None for that of `data`.
            keepdims: keep the reduced axes with size 1.
        """

    def one_hot(
        self,
        depth: Whole,
        on_value: Real = 1.0,
        off_value: Real = 0.0,
        dtype: DTypeLike = "float32",
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """A vector for each position, with `on_value` there and `off_value` elsewhere.

        Args:
            indices: positions, of any shape; one outside gives a vector without `on_value`.
            depth: the length of the vectors, which become the last axis.
            on_value: the value at the position.
            off_value: the value elsewhere.
            dtype: the element type of the result.
        """

    def ones_like(
        self,
        ctx: str | Context = "",
        dtype: DTypeLike = None,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Ones of the same shape and dtype.

        Args:
            data: an array of any shape.
            ctx: without meaning, as in MXNet; use as_in_context.
            dtype: without meaning, too; use astype.
        """

    def pad(
        self,
        mode: Literal["constant", "edge", "reflect"] | str,
        pad_width: Sizes,
        constant_value: Real = 0.0,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Widens the array at its borders. Any dimension can be padded; MXNet pads all but two.

        Args:
            data: an array of any shape.
            mode: fill with a constant, with the border elements, or with a reflection about them.
            pad_width: how much before and after, for each dimension in turn.
            constant_value: the constant.
        """

    def pick(
        self,
        index: Operand,
        axis: Whole | None = -1,
        keepdims: Switch = False,
        mode: Literal["clip", "wrap"] | str = "clip",
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """One element along an axis for each place of the others: ``data[i, index[i]]``.

        Args:
            data: an array of any shape.
            index: positions; the shape of `data` without the axis, or with size 1 there.
            keepdims: keep the axis with size 1.
            mode: positions outside are clipped or wrap around.
        """

    def prod(
        self,
        axis: Wholes = None,
        keepdims: Switch = False,
        exclude: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Product over axes.

        Args:
            data: the array.
            axis: an axis or several; None or () for all.
            keepdims: keep the reduced axes with size 1.
            exclude: reduce over all axes but the given ones.
        """

    def radians(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Degrees to radians.

        Args:
            data: an array of any shape.
        """

    def rcbrt(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """1 over the cube root.

        Args:
            data: an array of any shape.
        """

    def reciprocal(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """1 over the element.

        Args:
            data: an array of any shape.
        """

    def relu(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """The larger of the element and 0.

        Args:
            data: an array of any shape.
        """

    def repeat(
        self,
        repeats: Whole,
        axis: Whole | None = None,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Repeats each element, in place.

        Args:
            data: an array of any shape.
            repeats: how often.
            axis: the axis; None for the flattened array.
        """

    def reshape_like(
        self,
        rhs: Operand,
        lhs_begin: Whole | None = None,
        lhs_end: Whole | None = None,
        rhs_begin: Whole | None = None,
        rhs_end: Whole | None = None,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """`lhs` in the shape of `rhs`.

        Args:
            lhs: an array of any shape.
            rhs: only its shape counts.
            lhs_begin: the first dimension of `lhs` that is replaced; None for 0.
            lhs_end: the dimension of `lhs` after the last that is replaced; None for all.
            rhs_begin: the first dimension of `rhs` that is taken; None for 0.
            rhs_end: the dimension of `rhs` after the last that is taken; None for all.
        """

    def rint(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Nearest whole number; halves go to the lower one.

        Args:
            data: an array of any shape.
        """

    def round(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Nearest whole number; halves go away from zero.

        Args:
            data: an array of any shape.
        """

    def rsqrt(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """1 over the square root.

        Args:
            data: an array of any shape.
        """

    def shape_array(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """The shape as an int64 array.

        Args:
            data: an array of any shape.
        """

    def sigmoid(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """1 / (1 + exp(-x)).

        Args:
            data: an array of any shape.
        """

    def sign(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """-1, 0 or 1, as the element is negative, zero (of either sign) or positive.

        Args:
            data: an array of any shape.
        """

    def sin(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Sine, of radians.

        Args:
            data: an array of any shape.
        """

    def sinh(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Hyperbolic sine.

        Args:
            data: an array of any shape.
        """

    def size_array(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """The number of elements as an int64 array of one element.

        Args:
            data: an array of any shape.
        """

    def slice(
        self,
        begin: Places,
        end: Places,
        step: Places = (),
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """A region of the array, as Python's ``data[begin0:end0:step0, begin1:end1:step1]``.

        Args:
            data: an array of any shape.
            begin: where each slice begins; None for its natural begin, negative from the end.
            end: where each slice ends, not included.
            step: the step of each slice, may be negative; empty for 1.
        """

    def slice_axis(
        self,
        axis: Whole,
        begin: Whole,
        end: Whole | None,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """The part of the array from `begin` up to, not including, `end` along one axis.

        Args:
            data: an array of any shape.
            begin: the first position, negative from the end.
            end: the position after the last, negative from the end; None for the end.
        """

    def slice_like(
        self,
        shape_like: Operand,
        axes: Sizes = (),
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """The leading part of `data` that has the size of `shape_like` along some axes.

        Args:
            data: an array of any shape.
            shape_like: only its shape counts.
            axes: the axes; empty for all.
        """

    def softmax(
        self,
        length: Operand | Any = None,
        axis: Whole = -1,
        temperature: Real | None = None,
        dtype: DTypeLike = None,
        use_length: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Computes ``exp(x) / sum(exp(x))`` along an axis.

        Args:
            data: any shape, floating point.
            length: how many elements from the front of each row along `axis` count, the others giving
                0; the shape of `data` without that axis. Taken with use_length=True alone.
            axis: the axis along which the result sums to 1.
            temperature: what the data are divided by first; default 1.
            dtype: of the result; default that of `data`.
            use_length: whether `length` is given.

        Returns:
            The shape of `data`. Narrow floats are computed in float32.
        """

    def softmin(
        self,
        length: Operand | Any = None,
        axis: Whole = -1,
        temperature: Real | None = None,
        dtype: DTypeLike = None,
        use_length: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Computes ``exp(-x) / sum(exp(-x))`` along an axis.

        Args:
            data: any shape, floating point.
            length: how many elements from the front of each row along `axis` count, the others giving
                0; the shape of `data` without that axis. Taken with use_length=True alone.
            axis: the axis along which the result sums to 1.
            temperature: what the data are divided by first; default 1.
            dtype: of the result; default that of `data`.
            use_length: whether `length` is given.

        Returns:
            The shape of `data`. Narrow floats are computed in float32.
        """

    def sort(
        self,
        axis: Whole | None = -1,
        is_ascend: Switch = True,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """The elements in order.

        Args:
            data: an array of any shape.
            axis: sort along this axis; None for the flattened array.
            is_ascend: the smallest first; otherwise the largest.
        """

    def space_to_depth(
        self, block_size: Whole, *, out: Self | Any = None, name: str | Any = None
    ) -> Self:
        """Lays square blocks out as channels: (N, C, H b, W b) becomes (N, C b b, H, W).

        Args:
            data: an array of any shape.
        """

    def split(
        self,
        num_outputs: Whole,
        axis: Whole = 1,
        squeeze_axis: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Any:
        """Splits the array into equal parts along an axis.

        Args:
            data: an array of any shape.
            num_outputs: how many parts.
            squeeze_axis: remove the axis, which must then have size 1 in the parts.
        """

    def sqrt(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Square root.

        Args:
            data: an array of any shape.
        """

    def square(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """The element times itself.

        Args:
            data: an array of any shape.
        """

    def sum(
        self,
        axis: Wholes = None,
        keepdims: Switch = False,
        exclude: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Sum over axes.

        Args:
            data: the array.
            axis: an axis or several; None or () for all.
            keepdims: keep the reduced axes with size 1.
            exclude: reduce over all axes but the given ones.
        """

    def swapaxes(
        self, dim1: Whole = 0, dim2: Whole = 0, *, out: Self | Any = None, name: str | Any = None
    ) -> Self:
        """Exchanges two axes.

        Args:
            data: an array of any shape.
        """

    def take(
        self,
        indices: Operand,
        axis: Whole = 0,
        mode: Literal["raise", "clip", "wrap"] | str = "clip",
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Slices of `a` at the given positions along an axis.

        Args:
            indices: positions, of any shape, which replaces the axis in the result.
            mode: what happens to positions outside: "clip" to the nearest, "wrap" around, or "raise":
                an error, at once or where a value is next read. Until then the result is NaN there
                (of integers, the least of the dtype).
        """

    def tan(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Tangent, of radians.

        Args:
            data: an array of any shape.
        """

    def tanh(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Hyperbolic tangent.

        Args:
            data: an array of any shape.
        """

    def tile(self, reps: Sizes, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """Repeats the whole array, `reps` times along each axis; `reps` is aligned at the right.

        Args:
            data: an array of any shape.
        """

    def topk(
        self,
        axis: Whole | None = -1,
        k: Whole = 1,
        ret_typ: Literal["both", "indices", "mask", "value"] | str = "indices",
        is_ascend: Switch = False,
        dtype: DTypeLike = "float32",
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Any:
        """The largest elements along an axis, in order.

        Args:
            data: an array of any shape.
            axis: the axis; None for the flattened array.
            k: how many; less than 1 for all.
            ret_typ: what is returned: the positions ("indices"), the elements ("value"), the elements
                and then the positions ("both"), or an array like `data` with 1 where an element is
                among them and 0 elsewhere ("mask").
            is_ascend: the smallest elements instead.
            dtype: the dtype of the positions.
        """

    def trunc(self, *, out: Self | Any = None, name: str | Any = None) -> Self:
        """The element without its fraction.

        Args:
            data: an array of any shape.
        """

    def zeros_like(
        self,
        ctx: str | Context = "",
        dtype: DTypeLike = None,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Zeros of the same shape and dtype.

        Args:
            data: an array of any shape.
            ctx: without meaning, as in MXNet; use as_in_context.
            dtype: without meaning, too; use astype.
        """

    def mean(
        self,
        axis: Wholes = None,
        keepdims: Switch = False,
        exclude: Switch = False,
        *,
        out: Self | Any = None,
        name: str | Any = None,
    ) -> Self:
        """Mean over axes; of integers, without the fraction.

        Args:
            data: the array.
            axis: an axis or several; None or () for all.
            keepdims: keep the reduced axes with size 1.
            exclude: reduce over all axes but the given ones.
        """
