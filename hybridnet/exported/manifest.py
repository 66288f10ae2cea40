"""The manifest of an exported file, in JSON: what its program takes and gives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import DType
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import FormatError, MXNetError

FORMAT: Final = "hybridnet.exported"
VERSION: Final = 1
# Nested deeper than any result; deeper structures in a file are refused, not followed.
_DEPTH: Final = 64
# The longest expression for a size, such as "n0 + 2".
_EXPRESSION: Final = 1000
_PLAIN: Final = (bool, int, float, str, type(None))


@final
@dataclass(frozen=True)
class Argument:
    """An array that the program takes.

    Attributes:
        name: of an argument, as in messages; of a parameter, of its part of the file.
        shape: the dimensions; a name for one of any size, the same name for the same size.
        dtype: of the elements.
    """

    name: str
    shape: tuple[int | str, ...]
    dtype: str


@final
@dataclass(frozen=True)
class Manifest:
    """The description of a file.

    Attributes:
        name: of the function.
        platforms: those that it was exported for, as JAX names them.
        parameters: what the program takes first; kept in the file.
        inputs: what it takes then.
        structure: of the inputs, as `pack` writes it.
        results: the structure of the results; further outputs are new values of parameters.
        outputs: what the program gives; sizes may be computed from those of the inputs.
        num_results: how many outputs are results.
        updates: for each further output the parameter that it replaces for the next call.
        random: those of the parameters, by number, that are states of random generators.
        calling_convention: the version of JAX's for such programs.
        digest: SHA-256 of the program, as hexadecimal digits.
        made_by: the versions of hybridnet and JAX.
    """

    name: str
    platforms: tuple[str, ...]
    parameters: tuple[Argument, ...]
    inputs: tuple[Argument, ...]
    structure: Any
    results: Any
    outputs: tuple[Argument, ...]
    num_results: int
    updates: tuple[int, ...]
    random: tuple[int, ...]
    calling_convention: int
    digest: str
    made_by: str

    def to_json(self) -> bytes:
        """Returns it as it stands in a file."""
        fields = {"format": FORMAT, "version": VERSION, **asdict(self)}
        return json.dumps(fields, indent=1).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Manifest:
        """Reads it.

        Raises:
            FormatError: it is none, is of a later version, or contradicts itself.
        """
        try:
            fields = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"the manifest is no JSON: {error}") from error
        if not isinstance(fields, dict) or fields.pop("format", None) != FORMAT:
            raise FormatError("the manifest is not that of a function exported by hybridnet")
        version = fields.pop("version", None)
        if version != VERSION:
            raise FormatError(
                f"it is of version {version!r} of the format, and this hybridnet reads version "
                f"{VERSION}; export it again, or install the hybridnet that wrote it"
            )
        try:
            for key in ("parameters", "inputs", "outputs"):
                fields[key] = tuple(_argument(entry, key == "outputs") for entry in fields[key])
            for key in ("platforms", "updates", "random"):
                fields[key] = tuple(fields[key])
            made = cls(**fields)
            made._check()
        except (TypeError, ValueError, KeyError, AttributeError, MXNetError) as error:
            raise FormatError(f"the manifest is damaged: {error}") from error
        return made

    def _check(self) -> None:
        numbers = (*self.updates, *self.random)
        if not all(type(i) is int and 0 <= i < len(self.parameters) for i in numbers):
            raise ValueError(f"updates {self.updates} or random {self.random} of no parameter")
        if self.num_results != len(self.outputs) - len(self.updates):
            raise ValueError(f"{self.num_results!r} of {len(self.outputs)} outputs are results")
        if type(self.calling_convention) is not int:
            raise ValueError(f"calling convention {self.calling_convention!r}")
        if not all(type(text) is str for text in (*self.platforms, self.name, self.digest)):
            raise ValueError("platforms, name and digest must be text")
        names = [param.name for param in self.parameters]
        if len(set(names)) != len(names):
            raise ValueError("two parameters have one name")
        for param in self.parameters:
            if not all(type(size) is int for size in param.shape):
                raise ValueError(f"parameter {param.name!r} of shape {param.shape}")
        unpack(self.structure, [None] * len(self.inputs))
        unpack(self.results, [None] * self.num_results)


def element_type(name: str) -> DType:
    """Returns the dtype of a name; that of random states, which users do not see, is one too."""
    return np.dtype(np.uint32) if name == "uint32" else as_dtype(name)


def _argument(fields: Any, computed: bool) -> Argument:
    name, shape, dtype = fields["name"], tuple(fields["shape"]), fields["dtype"]
    sizes = all(
        size >= 0
        if type(size) is int
        else type(size) is str and (size.isidentifier() or (computed and len(size) < _EXPRESSION))
        for size in shape
    )
    if type(name) is not str or not sizes or len(shape) > 32:
        raise ValueError(f"array {name!r} of shape {shape}")
    element_type(dtype)
    return Argument(name, shape, dtype)


def pack(structure: Any, numbers: Any) -> Any:
    """Returns nested lists, tuples and dicts in a form that JSON has.

    Args:
        structure: what is nested.
        numbers: returns the number of an array, and None for anything else.

    Raises:
        MXNetError: a leaf is neither an array nor a plain value, or a key is no text.
    """
    number = numbers(structure)
    if number is not None:
        return {"array": number}
    if isinstance(structure, (list, tuple)):
        kind = "list" if isinstance(structure, list) else "tuple"
        return {kind: [pack(item, numbers) for item in structure]}
    if isinstance(structure, dict):
        if not all(type(key) is str for key in structure):
            raise MXNetError(f"hn.export: keys of dicts must be text, got {list(structure)}")
        return {"dict": {key: pack(item, numbers) for key, item in structure.items()}}
    if isinstance(structure, np.generic):
        structure = structure.item()
    if type(structure) not in _PLAIN:
        raise MXNetError(
            "hn.export: a function must return arrays, numbers, text, None, or nested lists, "
            f"tuples and dicts of them, got {type(structure).__name__}"
        )
    return {"value": structure}


def packed_arguments(args: Sequence[object]) -> tuple[Any, list[Any]]:
    """Returns the structure of arguments, packed, and the arrays in it, in order.

    Whatever has a shape and a dtype is an array: NDArrays, NumPy arrays, `hn.TensorSpec`.
    """
    arrays: list[Any] = []

    def number(leaf: object) -> int | None:
        if not (hasattr(leaf, "shape") and hasattr(leaf, "dtype")) or isinstance(leaf, np.generic):
            return None
        arrays.append(leaf)
        return len(arrays) - 1

    return pack(tuple(args), number), arrays


def unpack(packed: object, arrays: Sequence[object], depth: int = 0) -> Any:
    """Puts a structure together again.

    Raises:
        ValueError: it is none that `pack` returns, or names an array that is not there.
    """
    if depth > _DEPTH or not isinstance(packed, dict) or len(packed) != 1:
        raise ValueError(f"structure {packed!r:.60}")
    ((kind, inside),) = packed.items()
    if kind == "array":
        if type(inside) is not int or not 0 <= inside < len(arrays):
            raise ValueError(f"array {inside!r} of {len(arrays)}")
        return arrays[inside]
    if kind == "value" and type(inside) in _PLAIN:
        return inside
    if kind in ("list", "tuple") and isinstance(inside, list):
        made = [unpack(item, arrays, depth + 1) for item in inside]
        return made if kind == "list" else tuple(made)
    if kind == "dict" and isinstance(inside, dict):
        return {key: unpack(item, arrays, depth + 1) for key, item in inside.items()}
    raise ValueError(f"structure {packed!r:.60}")
