"""`variable_scope` and `get_variable`: variables that are shared by name."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

from hybridnet.base import signature_of

from .. import dtypes
from ..dtypes import DType, as_dtype
from ..graph import GraphKeys, Tensor, TensorShape, convert_to_tensor, get_default_graph, name_scope
from ..operations.slicing import slice as cut
from .initial import glorot_uniform_initializer, zeros_initializer
from .partitioned import PartitionedVariable, SliceInfo, partitions_of, slices_of
from .variable import Variable

__all__ = [
    "AUTO_REUSE", "VariableScope", "get_local_variable", "get_variable", "get_variable_scope",
    "no_regularizer", "variable_op_scope", "variable_scope",
]  # fmt: skip


class _Reuse(enum.Enum):
    """The reuse mode of `get_variable`: it returns a variable that exists, or else creates it."""

    AUTO_REUSE = 1

    def __repr__(self) -> str:
        return "<_ReuseMode.AUTO_REUSE: 1>"


AUTO_REUSE: Final = _Reuse.AUTO_REUSE


def no_regularizer(_: Any) -> None:
    """A regularizer that adds nothing, whatever the scopes around say."""
    return


@dataclass(eq=False)
class VariableScope:
    """The settings of a `variable_scope` for the variables made in it.

    Attributes:
        reuse: True: variables must exist; False and None: they must not; AUTO_REUSE: either.
        name: the prefix of the names of variables.
        initializer: the default initializer of variables.
        regularizer: the default regularizer; its value for a new variable is collected as a loss.
        dtype: the default dtype of variables.
        custom_getter: called in the place of `get_variable`, with that as its first argument.
        constraint: the default constraint of new variables.
        original_name_scope: the name scope that was opened with it.
        use_resource, caching_device: without meaning here.
        partitioner: decides into how many parts variables are cut; see `tf.get_variable`.
    """

    reuse: Any = None
    name: str = ""
    initializer: Any = None
    regularizer: Any = None
    dtype: DType = field(default=dtypes.float32)
    custom_getter: Callable[..., Any] | None = None
    constraint: Any = None
    original_name_scope: str = ""
    use_resource: bool | None = None
    caching_device: Any = None
    partitioner: Any = None

    def reuse_variables(self) -> None:
        """Sets `reuse`: `get_variable` only returns variables that exist from now on."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Sets what sets variables unless told otherwise."""
        self.initializer = initializer

    def set_regularizer(self, regularizer: Any) -> None:
        """Sets what is computed of each new variable."""
        self.regularizer = regularizer

    def set_dtype(self, dtype: Any) -> None:
        """Sets the dtype of variables unless told otherwise."""
        self.dtype = as_dtype(dtype)

    def set_partitioner(self, partitioner: Any) -> None:
        """Sets what says into how many parts variables are cut."""
        self.partitioner = partitioner

    def set_custom_getter(self, custom_getter: Any) -> None:
        """Sets what is called in the place of `get_variable`."""
        self.custom_getter = custom_getter

    def get_collection(self, name: Any) -> list[Any]:
        """Returns what is in a collection, of this scope only."""
        return get_default_graph().get_collection(name, f"{self.name}/" if self.name else None)

    def trainable_variables(self) -> list[Any]:
        """Returns the scope's trainable variables."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def global_variables(self) -> list[Any]:
        """Returns the scope's global variables."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def get_variable(self, name: str, *args: Any, **keywords: Any) -> Any:
        """Returns the variable of a name in this scope; see `tf.get_variable`."""
        with variable_scope(self, auxiliary_name_scope=False):
            return get_variable(name, *args, **keywords)

    def local_variables(self) -> list[Any]:
        """Returns the scope's local variables."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)


@dataclass(eq=False)
class _Store:
    """The variables of a graph that were made with `get_variable`, and the scope in force."""

    variables: dict[str, Variable] = field(default_factory=dict)
    partitioned: dict[str, PartitionedVariable] = field(default_factory=dict)
    scope: VariableScope = field(default_factory=VariableScope)
    counts: dict[str, int] = field(default_factory=dict)


def _store() -> _Store:
    found: _Store = get_default_graph().extras.setdefault("variable_scope", _Store())
    return found


def get_variable_scope() -> VariableScope:
    """Returns the scope in force."""
    return _store().scope


@final
class variable_scope:
    """A block whose variables have names that begin with a name, and may be shared.

    Args:
        name_or_scope: a name, which adds to that of the scope in force; or a scope, which takes its
            place.
        default_name: the name where that is None, made unique.
        values: tensors whose graph the block is of.
        reuse: True: variables are shared; AUTO_REUSE: those that are there. A scope inside one
            with True has True.
        auxiliary_name_scope: whether a name scope is opened, too.
        initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource,
            constraint: see `VariableScope`.

    Raises:
        ValueError: neither name is given.
        TypeError: the name is something else.
    """

    def __init__(
        self,
        name_or_scope: Any,
        default_name: str | None = None,
        values: Sequence[Any] | None = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Callable[..., Any] | None = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: bool | None = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        if not (name_or_scope is None or isinstance(name_or_scope, (str, VariableScope))):
            raise TypeError(
                "VariableScope: name_or_scope must be a string or VariableScope, got "
                f"{name_or_scope!r}"
            )
        if reuse not in (None, True, False, AUTO_REUSE):
            raise ValueError("The reuse parameter must be True or False or None.")
        self._given = name_or_scope
        self._default = default_name
        self._values = list(values or ())
        self._reuse = reuse
        self._settings = {
            "initializer": initializer,
            "regularizer": regularizer,
            "dtype": None if dtype is None else as_dtype(dtype),
            "constraint": constraint,
            "partitioner": partitioner,
        }
        self._getter = custom_getter
        self._auxiliary = auxiliary_name_scope
        self._was: VariableScope | None = None
        self._blocks: list[AbstractContextManager[Any]] = []

    def __enter__(self) -> VariableScope:
        store = _store()
        outer = store.scope
        opened = self._given
        if isinstance(opened, VariableScope):
            base, name = opened, opened.name
            short = name.rpartition("/")[2]
        else:
            base = outer
            short = self._unique(store) if opened is None else opened
            name = f"{outer.name}/{short}" if outer.name else short
        scopes: Any = name_scope(short, values=self._values) if short else nullcontext("")
        if not self._auxiliary:
            scopes = nullcontext(get_default_graph().get_name_scope())
        original = scopes.__enter__()
        self._blocks.append(scopes)
        found = {key: value for key, value in self._settings.items() if value is not None}
        if isinstance(opened, VariableScope):
            original = opened.original_name_scope
        made = replace(
            base,
            name=name,
            reuse=self._reuse or base.reuse,
            original_name_scope=original or "",
            custom_getter=_chained(self._getter, base.custom_getter),
            **found,
        )
        self._was, store.scope = outer, made
        store.counts[name] = store.counts.get(name, 0) + 1
        return made

    def __exit__(self, *error: Any) -> None:
        store = _store()
        # What was counted inside a scope counts anew when it is opened again.
        inner = f"{store.scope.name}/"
        for key in [key for key in store.counts if key.startswith(inner)]:
            del store.counts[key]
        assert self._was is not None
        store.scope = self._was
        self._blocks.pop().__exit__(*error)

    def _unique(self, store: _Store) -> str:
        assert self._default is not None
        outer = store.scope.name
        prefix = f"{outer}/" if outer else ""
        made, number = self._default, 0
        while store.counts.get(prefix + made):
            number += 1
            made = f"{self._default}_{number}"
        return made


def variable_op_scope(
    values: Any, name_or_scope: Any, default_name: str | None = None, **settings: Any
) -> variable_scope:
    """An older form of `variable_scope`."""
    return variable_scope(name_or_scope, default_name, values, **settings)


def _chained(
    inner: Callable[..., Any] | None, outer: Callable[..., Any] | None
) -> Callable[..., Any] | None:
    """Returns a getter that asks one, whose getter is the other."""
    if inner is None or outer is None:
        return inner or outer
    first, second = inner, outer

    def both(getter: Callable[..., Any], **keywords: Any) -> Any:
        def rest(name: str, *args: Any, **changed: Any) -> Any:
            return second(getter=getter, name=name, **_by_name(args), **changed)

        return first(getter=rest, **keywords)

    return both


def _by_name(args: Sequence[Any]) -> dict[str, Any]:
    names = ("shape", "dtype", "initializer", "regularizer", "reuse", "trainable", "collections")
    return dict(zip(names, args, strict=False))


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Callable[..., Any] | None = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """Returns the variable of a name, in the `variable_scope` in force; makes it if it is new.

    Args:
        name: the variable's, before which that of the scope comes.
        shape: of it; may be left out where the initializer is a value.
        dtype: of it; default the scope's.
        initializer: what sets it: an initializer (called with shape and dtype), or a value; default
            the scope's, and else `glorot_uniform_initializer`, zeros for whole numbers.
        regularizer: what is computed of it, and collected as a loss; default the scope's.
        partitioner: a function of shape and dtype that says into how many parts the variable is
            cut along each dimension, as `tf.fixed_size_partitioner` makes one; default the scope's.
            Then the result is a `PartitionedVariable`, whose parts are variables of the names
            ``w/part_0``, ``w/part_1``, ...; initializers are called for each part.
        custom_getter: called in the place of this function, with that as its first argument.
        trainable, collections, validate_shape, constraint: as for `tf.Variable`.
        caching_device, use_resource, synchronization, aggregation: without meaning here.

    Raises:
        ValueError: it is there and may not be shared, or it is not there and must be; or it has
            another shape or dtype.
    """
    scope = _store().scope
    full = f"{scope.name}/{name}" if scope.name else name
    getter = _chained(custom_getter, scope.custom_getter)
    keywords = {
        "shape": shape,
        "dtype": dtype or scope.dtype,
        "initializer": scope.initializer if initializer is None else initializer,
        "regularizer": scope.regularizer if regularizer is None else regularizer,
        "reuse": scope.reuse,
        "trainable": trainable,
        "collections": collections,
        "caching_device": caching_device,
        "partitioner": scope.partitioner if partitioner is None else partitioner,
        "validate_shape": validate_shape,
        "use_resource": use_resource,
        "constraint": scope.constraint if constraint is None else constraint,
    }
    with name_scope(None):
        return (
            _got(full, **keywords) if getter is None else getter(getter=_got, name=full, **keywords)
        )


def slot_name(primary: Any, name: str) -> str:
    """Returns the name of a variable that belongs to another one, or to a tensor."""
    scope = get_variable_scope().name
    own = f"{primary.op.name}/{name}"
    return f"{scope}/{own}" if scope else own


def get_local_variable(name: str, *args: Any, **keywords: Any) -> Any:
    """As `get_variable`, for a variable of this process only, that optimizers leave alone."""
    own = {"collections": [GraphKeys.LOCAL_VARIABLES], "trainable": False}
    return get_variable(name, *args, **{**keywords, **own})


def _got(
    name: str,
    shape: Any = None,
    dtype: Any = dtypes.float32,
    initializer: Any = None,
    reuse: Any = None,
    partitioner: Any = None,
    **keywords: Any,
) -> Any:
    """Returns the variable of a full name; see `get_variable`."""
    store, kind = _store(), as_dtype(dtype).base_dtype
    scalar = isinstance(shape, Sequence) and not shape
    if partitioner is not None and not callable(partitioner):
        raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
    again = partitioner is None and reuse is True and name in store.partitioned
    if (partitioner is not None and not scalar) or again:
        if name in store.variables:
            raise ValueError(
                "A partitioner was provided, but an unpartitioned version of the variable was "
                f"found: {name}.  Perhaps a variable of the same name was already created without "
                "partitioning?"
            )
        return _in_parts(name, shape, kind, initializer, reuse, partitioner, keywords)
    if f"{name}/part_0" in store.variables:
        raise ValueError(
            "No partitioner was provided, but a partitioned version of the variable was found: "
            f"{name}/part_0. Perhaps a variable of the same name was already created with "
            "partitioning?"
        )
    return _single(name, shape, kind, initializer, reuse, **keywords)


def _in_parts(
    name: str, shape: Any, dtype: DType, initializer: Any, reuse: Any, partitioner: Any, how: Any
) -> PartitionedVariable:
    """Returns the variable of a full name that is cut into parts; makes it if it is new."""
    store, sizes = _store(), TensorShape(shape)
    value = None if initializer is None or callable(initializer) else initializer
    if isinstance(value, Tensor):
        sizes = sizes.merge_with(value.shape)
        dtype = value.dtype.base_dtype
    partitions = None if partitioner is None else partitions_of(partitioner, sizes, dtype)
    found = store.partitioned.get(name)
    if found is not None:
        return _shared_parts(found, sizes, dtype, partitions, reuse)
    if reuse is True:
        raise ValueError(
            f"PartitionedVariable {name} does not exist, or was not created with "
            "tf.get_variable(). Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in VarScope?"
        )
    assert partitions is not None
    parts = []
    for number, info in enumerate(slices_of(name, sizes, partitions)):
        full, first = f"{name}/part_{number}", initializer
        of: list[int] | None = info.var_shape
        if value is not None:
            with name_scope(f"{full}/PartitionedInitializer"):
                whole = convert_to_tensor(value, dtype)
                first, of = cut(whole, info.var_offset, info.var_shape), None
        made = _single(full, of, dtype, first, reuse, partition_info=info, **how)
        made._save_slice_info = info
        parts.append(made)
    store.partitioned[name] = PartitionedVariable(name, sizes, dtype, parts, partitions)
    return store.partitioned[name]


def _shared_parts(
    found: PartitionedVariable, shape: TensorShape, dtype: DType, partitions: Any, reuse: Any
) -> PartitionedVariable:
    name = found.name
    if reuse is False or reuse is None:
        raise ValueError(
            f"Partitioned variable with name {name} already exists. Did you mean to set "
            "reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
        )
    pairs = {
        "shape": (shape, found.shape, shape.is_compatible_with(found.shape)),
        "dtype": (dtype.name, found.dtype.name, dtype.is_compatible_with(found.dtype)),
        "partitions": (partitions, found.partitions, partitions in (None, found.partitions)),
    }
    for what, (asked, there, same) in pairs.items():
        if not same:
            raise ValueError(
                f"Trying to reuse partitioned variable {name}, but specified {what} {asked} and "
                f"found {what} {there}."
            )
    return found


def _single(
    name: str,
    shape: Any,
    kind: DType,
    initializer: Any,
    reuse: Any,
    regularizer: Any = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    validate_shape: bool = True,
    constraint: Any = None,
    partition_info: SliceInfo | None = None,
    **_: Any,
) -> Variable:
    store = _store()
    found = store.variables.get(name)
    if found is not None:
        return _shared(found, name, shape, kind, reuse)
    if reuse is True:
        raise ValueError(
            f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you "
            "mean to set reuse=tf.AUTO_REUSE in VarScope?"
        )
    value, kind = _initial(name, shape, kind, initializer, partition_info)
    made = Variable(
        value,
        trainable=trainable,
        collections=collections,
        validate_shape=validate_shape,
        name=name,
        dtype=kind,
        constraint=constraint,
    )
    store.variables[name] = made
    if regularizer:
        with name_scope(f"{name}/Regularizer/"):
            loss = regularizer(made)
        if loss is not None:
            get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)
    return made


def _shared(found: Variable, name: str, shape: Any, dtype: DType, reuse: Any) -> Variable:
    if not reuse:
        made = "".join(f" Originally defined at: {line}" for line in found.op.traceback)
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            f"reuse=tf.AUTO_REUSE in VarScope?{made}"
        )
    if shape is not None and not TensorShape(shape).is_compatible_with(found.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {TensorShape(shape)} and found "
            f"shape {found.shape}."
        )
    if not dtype.is_compatible_with(found.dtype):
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{found.dtype.base_dtype.name}."
        )
    return found


def _initial(
    name: str, shape: Any, dtype: DType, initializer: Any, part: SliceInfo | None
) -> tuple[Any, DType]:
    """Returns a variable's initial value (or what makes it) and its dtype."""
    if initializer is None:
        if dtype.is_floating:
            initializer = glorot_uniform_initializer()
        elif dtype.is_integer or dtype.is_bool:
            initializer = zeros_initializer()
        else:
            raise ValueError(f"An initializer for variable {name} of {dtype} is required")
    if isinstance(initializer, type):
        initializer = initializer()
    if not callable(initializer) or isinstance(initializer, Tensor):
        if shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        value = convert_to_tensor(initializer)
        return value, value.dtype.base_dtype
    sizes = TensorShape(shape)
    if shape is None and not signature_of(initializer).parameters:
        value = convert_to_tensor(initializer())
        return value, value.dtype.base_dtype
    if not sizes.is_fully_defined():
        raise ValueError(
            f"Shape of a new variable ({name}) must be fully defined, but instead was {sizes}."
        )
    make = initializer
    return (lambda: _called(make, sizes.as_list(), dtype, part)), dtype


def _called(
    initializer: Callable[..., Any], shape: list[Any], dtype: DType, part: SliceInfo | None
) -> Any:
    wants_part = part is not None and "partition_info" in signature_of(initializer).parameters
    told = {"partition_info": part} if wants_part else {}
    try:
        return initializer(shape, dtype=dtype, **told)
    except TypeError as error:
        if "dtype" not in str(error):
            raise
        return initializer(shape)  # a function of the user's, of the shape alone
