"""`Save` and `Restore` as nodes of a graph: host tasks, with control edges and a place like others.

saved = checkpoint.Save({"w": w, "b": b}, "run/model", step=step)      # symbols
w, b = checkpoint.Restore("run/model-100", {"w": (3, 4), "b": (4,)})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final

import numpy as np

from hybridnet import engine
from hybridnet.base.dtype import as_dtype, is_integer
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.graph import Edge, Node
from hybridnet.name import NameManager
from hybridnet.ops.core import MAKERS, Arrays, Call, HostOnlyCall, Scalars, Types
from hybridnet.symbol import Symbol, scope_attributes, user_attributes

from .faults import missing_names
from .index import PathLike, file_of
from .reader import variable_types
from .saver import path_of
from .tensor_file import check_types
from .writing import BYTES, push_restore, push_save

_REFUSAL = (
    "{name}: works on files, which is done on the host and cannot be inside a loop or branch "
    "(foreach, while_loop, cond) that runs as one program; take it out of there"
)


class _HostCall(HostOnlyCall):
    """A call that runs on the host, and has no gradient."""

    refusal, fault = _REFUSAL, MXNetError
    on_host = True
    one_dtype = False
    __slots__ = ()

    @property
    def no_gradient(self) -> str:
        """Values in a file are no function of anything."""
        return f"{self.name} works on files"


@final
class SaveCall(_HostCall):
    """Writes its inputs to a checkpoint; its output is the bytes of the file.

    Args:
        prefix: folder and name of the checkpoint.
        names: of the inputs; one more, if `has_step`, is the number after the name.
        has_step: whether there is one.
    """

    __slots__ = ("has_step", "names", "prefix")
    name = "Save"

    def __init__(self, prefix: str, names: tuple[str, ...], has_step: bool) -> None:
        self.prefix = prefix
        self.names = names
        self.has_step = has_step
        super().__init__()

    @property
    def parameters(self) -> Mapping[str, Any]:
        """As it was made."""
        return {"prefix": self.prefix, "names": self.names, "has_step": self.has_step}

    def infer(self, types: Types) -> Types:
        """The bytes of the file are an int64 of no dimensions.

        Raises:
            ParameterError: the number of inputs is wrong.
            ShapeError, DTypeError: the step is no whole number, or an input cannot be in a file.
        """
        if len(types) != len(self.names) + self.has_step:
            raise ParameterError(
                f"{self!r}: needs {len(self.names) + self.has_step} inputs, got {len(types)}"
            )
        check_types(dict(zip(self.names, types, strict=False)))
        if self.has_step and (types[-1].size != 1 or not is_integer(types[-1].dtype)):
            raise ShapeError(f"{self!r}: step must be one whole number, got {types[-1]}")
        return (BYTES,)

    def run_on_host(self, ctx: Any, values: Arrays, scalars: Scalars, record: Any) -> list[Any]:
        """Writes the file as a task of the engine, while the program goes on."""

        def path(*step: Any) -> Path:
            return path_of(self.prefix, np.asarray(step[0]).reshape(()) if step else None)

        count = len(self.names)
        named = dict(zip(self.names, values, strict=False))
        return [push_save(named, path_of(self.prefix).parent, path, values[count:], ctx=ctx)]

    def __repr__(self) -> str:
        return f"Save({self.prefix!r})"


@final
class RestoreCall(_HostCall):
    """Reads arrays from a checkpoint, when it runs.

    Args:
        checkpoint: which.
        names: of the arrays.
        types: of them; the file must have these.
    """

    __slots__ = ("checkpoint", "names", "types")
    name = "Restore"

    def __init__(self, checkpoint: str, names: tuple[str, ...], types: Types) -> None:
        self.checkpoint = checkpoint
        self.names = names
        self.types = types
        super().__init__(len(names))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """As it was made, with shapes and dtypes for types."""
        types = tuple((each.shape, each.dtype.name) for each in self.types)
        return {"checkpoint": self.checkpoint, "names": self.names, "types": types}

    def infer(self, types: Types) -> Types:
        """The types are those it was made with."""
        return self.types

    def run_on_host(self, ctx: Any, values: Arrays, scalars: Scalars, record: Any) -> list[Any]:
        """Reads the file as a task of the engine."""
        return push_restore(file_of(self.checkpoint), self.names, self.types, ctx)

    def __repr__(self) -> str:
        return f"Restore({self.checkpoint!r})"


def _read_restore(checkpoint: str, names: tuple[str, ...], types: Sequence[Any]) -> RestoreCall:
    """Makes a call from what is written of it."""
    return RestoreCall(checkpoint, names, tuple(_type(pair) for pair in types))


MAKERS.update(Save=SaveCall, Restore=_read_restore)


def Save(
    values: Mapping[str, Symbol], prefix: PathLike, step: Symbol | None = None, name: str = ""
) -> Symbol:
    """Returns a node that writes values to a checkpoint whenever it runs.

    It runs as a task of the engine, so that what follows does not wait for it; reading its output
    does. The index of the folder and the number of files are the affair of `Saver`.

    Args:
        values: symbols of one output each, by the names in the file.
        prefix: folder and name of the checkpoint.
        step: a whole number that comes after the name.
        name: of the node.

    Returns:
        The bytes of the file, int64 of shape ().

    Raises:
        ParameterError: something is no symbol of one output.
    """
    inputs = [_edge(key, value) for key, value in values.items()]
    if step is not None:
        inputs.append(_edge("step", step))
    call = SaveCall(str(path_of(prefix)), tuple(values), step is not None)
    return _node(call, inputs, name)


def Restore(
    checkpoint: PathLike, values: Mapping[str, Any] | Sequence[str] | None = None, name: str = ""
) -> Symbol:
    """Returns a node that reads values from a checkpoint whenever it runs.

    Args:
        checkpoint: which; with the suffix of its file or without.
        values: shapes, or pairs of shape and dtype (default float32), by name. Where only names are
            given, the shapes and dtypes are those in the file, which must be there then; None reads
            all it has.
        name: of the node.

    Returns:
        A symbol with an output for each name.

    Raises:
        ParameterError: the file has no such variable.
        FormatError: the file is damaged.
        OSError: it cannot be read.
    """
    if isinstance(values, Mapping):
        types = {key: _type(text) for key, text in values.items()}
    else:
        found = variable_types(checkpoint)
        chosen = list(found) if values is None else list(values)
        absent = [key for key in chosen if key not in found]
        if absent:
            raise ParameterError(missing_names(file_of(checkpoint), absent, list(found)))
        types = {key: found[key] for key in chosen}
    call = RestoreCall(str(file_of(checkpoint)), tuple(types), tuple(types.values()))
    return _node(call, [], name)


def _type(given: Any) -> TensorType:
    shape, dtype = given if len(given) == 2 and isinstance(given[0], Sequence) else (given, None)
    return tensor_type(tuple(shape), as_dtype(np.float32 if dtype is None else dtype))


def _edge(name: str, value: Any) -> Edge:
    if not isinstance(value, Symbol) or len(value) != 1:
        raise ParameterError(f"Save: {name!r} must be a Symbol of one output, got {value!r}")
    return value.edges[0]


def _node(call: Call, inputs: Sequence[Edge], name: str) -> Symbol:
    attrs = user_attributes(call.name, scope_attributes({}))
    named = NameManager.current.get(name or None, call.name.lower())
    node = Node(call, tuple(inputs), named, (), attrs, engine.caller_origin(2))
    return Symbol([Edge(node, index) for index in range(call.num_visible)])
