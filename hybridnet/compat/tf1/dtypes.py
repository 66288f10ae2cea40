"""`DType`: TensorFlow's element types, over NumPy's."""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from hybridnet.base import BFLOAT16

__all__ = [
    "DType", "as_dtype", "bfloat16", "bool", "double", "float16", "float32", "float64", "half",
    "int8", "int16", "int32", "int64", "string", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip

_REF: Final = "_ref"


@final
class DType:
    """An element type. Made once for each; compared with names and NumPy's dtypes, too.

    Attributes:
        name: 'float32'; 'float32_ref' is that of a variable.
        base_dtype: the type without the mark of a variable.
        as_numpy_dtype: the NumPy scalar type; `object` for strings.
        is_floating: whether values have fractions.
        is_integer: whether values are whole numbers; `bool` is not.
        is_unsigned: whether values are whole numbers from 0 on.
        is_bool: whether values are truth values.
        is_numpy_compatible: whether NumPy has the type; it has all.
        size: bytes of an element; 1 for strings.
    """

    __slots__ = (
        "as_numpy_dtype", "base_dtype", "is_bool", "is_floating", "is_integer",
        "is_numpy_compatible", "is_unsigned", "name", "numpy", "size",
    )  # fmt: skip

    def __init__(self, name: str, numpy: Any) -> None:
        self.name = name
        self.base_dtype = self
        self.numpy: np.dtype[Any] = np.dtype(numpy)
        self.as_numpy_dtype = object if name.startswith("string") else self.numpy.type
        kind = self.numpy.kind
        self.is_floating = kind == "f" or self.numpy == BFLOAT16
        self.is_integer, self.is_unsigned = kind in "iu", kind == "u"
        self.is_bool, self.is_numpy_compatible = kind == "b", True
        self.size = 1 if self.as_numpy_dtype is object else self.numpy.itemsize

    @property
    def limits(self) -> tuple[Any, Any]:
        """The smallest and the largest value."""
        return self.min, self.max

    @property
    def min(self) -> Any:
        """The smallest value."""
        return _limits(self).min

    @property
    def max(self) -> Any:
        """The largest value."""
        return _limits(self).max

    def is_compatible_with(self, other: Any) -> Any:
        """Whether a value of the other type can be used as one of this: a variable can."""
        other = as_dtype(other)
        return self is other or self is other.base_dtype or self.base_dtype is other

    def __eq__(self, other: object) -> Any:
        if other is None or isinstance(other, DType):
            return self is other
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> Any:
        return as_dtype, (self.name,)

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self.name}"


_BY_NAME: Final[dict[str, DType]] = {}
_REFS: Final[dict[DType, DType]] = {}


def _made(name: str, numpy: Any) -> DType:
    made = _BY_NAME[name] = DType(name, numpy)
    ref = _REFS[made] = _BY_NAME[name + _REF] = DType(name + _REF, numpy)
    ref.base_dtype = made
    return made


# `bool` hides Python's in this module, as it does in TensorFlow.
float16 = half = _made("float16", np.float16)
float32 = _made("float32", np.float32)
float64 = double = _made("float64", np.float64)
bfloat16 = _made("bfloat16", BFLOAT16)
int8 = _made("int8", np.int8)
int16 = _made("int16", np.int16)
int32 = _made("int32", np.int32)
int64 = _made("int64", np.int64)
uint8 = _made("uint8", np.uint8)
uint16 = _made("uint16", np.uint16)
uint32 = _made("uint32", np.uint32)
uint64 = _made("uint64", np.uint64)
string = _made("string", np.object_)
_python_bool = bool
bool = _made("bool", np.bool_)

_BY_TYPE: Final[dict[Any, DType]] = {
    **{one.numpy: one for one in _REFS},
    **{one.numpy.type: one for one in _REFS if one is not string},
    float: float32,
    int: int32,
    _python_bool: bool,
    str: string,
    bytes: string,
    object: string,
    "double": float64,
    "float": float32,
    "half": float16,
    **{_BY_NAME[name]: _BY_NAME[name] for name in _BY_NAME},
}


def as_dtype(type_value: Any) -> DType:
    """Returns the type meant by a name, a NumPy dtype or scalar type, or a Python type.

    Raises:
        TypeError: there is none.
    """
    if type(type_value) is DType:
        return type_value
    if type(type_value) is str and type_value in _BY_NAME:
        return _BY_NAME[type_value]
    try:
        return _BY_TYPE[type_value]
    except (KeyError, TypeError):
        pass
    try:
        numpy = np.dtype(type_value)
    except TypeError:
        numpy = None
    if numpy is not None and numpy.kind in "SU":
        return string
    if numpy in _BY_TYPE:
        return _BY_TYPE[numpy]
    raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.")


def ref_of(dtype: DType) -> DType:
    """Returns the type of a variable whose values have a type."""
    return _REFS[dtype.base_dtype]


def _limits(dtype: DType) -> Any:
    if dtype.is_integer:
        return np.iinfo(dtype.numpy)
    if dtype.is_floating and dtype.base_dtype is not bfloat16:
        return np.finfo(dtype.numpy)
    raise TypeError(f"Cannot find the limits of {dtype}.")
