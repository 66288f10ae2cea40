"""`export`: writes a function, block or symbol to a file that needs only NumPy and JAX to run."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.autograd import pause
from hybridnet.base.context import current_context
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.lazy import jax
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph import ControlCall, Graph, evaluate, structure_of
from hybridnet.ndarray import NDArray, array
from hybridnet.passes import PassContext, optimize
from hybridnet.runtime.recording import Value
from hybridnet.symbol import Symbol
from hybridnet.tracing import TensorSpec, flatten, unflatten

from .archive import Archive, named, write
from .manifest import Argument, Manifest, packed_arguments
from .program import arguments_of, check_sizes, stable_hlo
from .tracing import Traced, symbol_function, traced

#: JAX's names of platforms, and what lowerings call them.
PLATFORMS: Final = {"cpu": "cpu", "cuda": "gpu", "rocm": "gpu", "tpu": "tpu"}
# Two sizes for each axis of any size, at which traces are compared: unlike each other and unlike
# what sizes in programs usually are, and large enough for any kernel.
_SIZES: Final = (
    (202, 318, 430, 554, 662, 786, 898, 1018),
    (274, 386, 502, 614, 734, 842, 958, 1082),
)
#: A shape with a name in the place of a size that may be any.
_Dims = tuple[int | str, ...]


def export(
    model: object,
    path: str | os.PathLike[str],
    *example_args: object,
    platforms: Sequence[str] = ("cpu", "cuda"),
    params: Mapping[str, NDArray] | None = None,
    batch: bool | None = None,
    train_mode: bool = False,
) -> None:
    """Writes a model to a file, with its parameters, for `hn.load` or for JAX alone.

    The program is StableHLO, for all `platforms` at once, whatever this machine has. Arrays that
    the model overwrites (what a training step changes, states of random generators) go on from call
    to call of what is loaded.

    Args:
        model: a function over arrays, an `hn.function`, a block, or a symbol.
        path: of the file, which appears whole or not at all.
        example_args: its arguments: for each an array, an `hn.TensorSpec`, or nested lists, tuples
            and dicts of them; of an `hn.function` with an input signature none. A size of None in a
            spec may be any when the program runs; sizes of None at the same axis are equal.
        platforms: 'cpu', 'cuda', 'rocm' or 'tpu'.
        params: for a symbol, the values of its parameters by name; the others are arguments.
        batch: whether the first axis of example arrays may be of any size; None: if it can.
        train_mode: whether operators behave as in training (dropout drops).

    Raises:
        ParameterError: an argument is of another kind.
        MXNetError: the model does what an exported program cannot do: it runs Python code, or
            computes something from a size that is to be open.
    """
    _check_platforms(platforms)
    function, name = _function_of(model, params)
    if not example_args:
        # That of an `hn.function`; nothing where it has none.
        example_args = tuple(getattr(getattr(model, "read", None), "specs", ()))
    leaves, tree = flatten(tuple(example_args))
    specs = [_spec(leaf, number) for number, leaf in enumerate(leaves)]
    real = [array(x) if isinstance(x, np.ndarray) else x for x in leaves]
    real = [x if isinstance(x, NDArray) else None for x in real]
    _complete(model, real, tree)
    dims, is_open = _dims(specs, real, batch)

    trace = functools.partial(_trace, function, specs, real, dims, tree, train_mode)
    made: Traced | None = None
    program: Any = None
    if is_open:
        try:
            made, program = _for_any_size(trace, platforms, _inputs(dims, specs))
        except Exception as error:  # JAX raises many kinds for a size that it cannot tell
            if batch is True or any(not spec.is_exact for spec in specs):
                first = (str(error).splitlines() or [type(error).__name__])[0]  # XLA shows programs
                raise MXNetError(
                    f"hn.export: {name} cannot be exported for any size: {first}; give all sizes"
                ) from error
    if made is None:
        dims = [tuple(size for size in spec.shape or () if size is not None) for spec in specs]
        made, program = _for_these_sizes(trace, platforms, _inputs(dims, specs))
    data = bytes(program.mlir_module_serialized)
    hosts = [param.asnumpy() for param in made.parameters]
    manifest = Manifest(
        name=name,
        platforms=tuple(platforms),
        parameters=named("parameter", hosts),
        inputs=_inputs(dims, specs),
        structure=packed_arguments(example_args)[0],
        results=made.results,
        outputs=arguments_of(program),
        num_results=made.num_results,
        updates=made.updates,
        random=made.random,
        calling_convention=program.calling_convention_version,
        digest=hashlib.sha256(data).hexdigest(),
        made_by=f"jax {jax.__version__}",
    )
    write(path, Archive(manifest, data, hosts))


def _for_any_size(
    trace: Callable[..., Traced], platforms: Sequence[str], inputs: tuple[Argument, ...]
) -> tuple[Traced, jax.export.Exported]:
    """Returns a trace and a program whose open sizes may be any when it runs.

    Raises:
        Exception: of whatever kind, where the program depends on a size that is open.
    """
    made, other = trace(_SIZES[0]), trace(_SIZES[1])
    graphs = _open_graphs(made, other, platforms)
    program = _exported(made, graphs, platforms, inputs)
    check_sizes(program, made.types)
    return made, program


def _for_these_sizes(
    trace: Callable[..., Traced], platforms: Sequence[str], inputs: tuple[Argument, ...]
) -> tuple[Traced, jax.export.Exported]:
    """Returns a trace and a program for the sizes of the example arguments."""
    made = trace(None)
    graphs = {platform: _optimized(made, PLATFORMS[platform]) for platform in platforms}
    return made, _exported(made, graphs, platforms, inputs)


def _inputs(dims: Sequence[_Dims], specs: Sequence[TensorSpec]) -> tuple[Argument, ...]:
    return tuple(
        Argument(f"input{number}", shape, spec.dtype.name)
        for number, (shape, spec) in enumerate(zip(dims, specs, strict=True))
    )


def _check_platforms(platforms: Sequence[str]) -> None:
    unknown = [platform for platform in platforms if platform not in PLATFORMS]
    if isinstance(platforms, str) or not platforms or unknown:
        raise ParameterError(
            f"hn.export: platforms must be some of {', '.join(PLATFORMS)}, got {platforms!r}"
        )


def _function_of(
    model: object, params: Mapping[str, NDArray] | None
) -> tuple[Callable[..., Any], str]:
    """Returns what is traced, and its name."""
    if isinstance(model, Symbol):
        return symbol_function(model, params or {}), model.name or "symbol"
    if params is not None:
        raise ParameterError("hn.export: params are for symbols; a block has its own")
    if not callable(model):
        raise ParameterError(
            "hn.export: needs a function, a block or a symbol, got " + type(model).__name__
        )
    return model, str(getattr(model, "name", None) or getattr(model, "__name__", "function"))


def _spec(x: object, number: int) -> TensorSpec:
    if isinstance(x, TensorSpec):
        if x.shape is None:
            raise ParameterError(f"hn.export: example {number} must have a known rank, got {x}")
        return x
    if isinstance(x, (NDArray, np.ndarray)):
        return TensorSpec.from_array(x)
    raise ParameterError(
        "hn.export: examples must be arrays, hn.TensorSpec, or nested lists, tuples and dicts of "
        f"them, got {type(x).__name__}: {x!r:.40}; fix other arguments, as in lambda x: f(x, 3)"
    )


def _dims(
    specs: Sequence[TensorSpec], real: Sequence[NDArray | None], batch: bool | None
) -> tuple[list[_Dims], bool]:
    """Returns the shapes of the arguments, with names for open sizes; and whether there are any."""
    shapes = [spec.shape or () for spec in specs]
    firsts = {shape[0] if shape else None for shape in shapes}
    by_itself = all(None not in shape for shape in shapes) and batch is not False
    opens = by_itself and len(firsts) == 1 and None not in firsts
    found: list[_Dims] = []
    for shape in shapes:
        sizes: list[int | str] = [f"n{i}" if s is None else s for i, s in enumerate(shape)]
        if opens:
            sizes[0] = "n0"
        found.append(tuple(sizes))
    return found, any(type(size) is str for shape in found for size in shape)


def _trace(
    function: Callable[..., object],
    specs: Sequence[TensorSpec],
    real: Sequence[NDArray | None],
    dims: Sequence[_Dims],
    tree: object,
    train: bool,
    sizes: Sequence[int] | None,
) -> Traced:
    """Traces the function, with these sizes for axes of any size; None: with those given."""
    ctx = next((value.context for value in real if value is not None), current_context())
    arrays = []
    for spec, shape in zip(specs, dims, strict=True):
        exact: Sequence[Any] = spec.shape or ()
        if sizes is not None:
            exact = [sizes[int(size[1:])] if isinstance(size, str) else size for size in shape]
        kind = tensor_type(tuple(exact), spec.dtype)
        arrays.append(NDArray.from_value(Value(kind), ctx))
    return traced(function, arrays, tree, train)


def _complete(model: Any, real: Sequence[NDArray | None], tree: Any) -> None:
    """Makes a block find the shapes that its parameters lack, from example arrays."""
    collect = getattr(model, "collect_params", None)
    deferred = callable(collect) and any(param.is_deferred for param in collect().values())
    if deferred and None not in real:
        with pause():
            model(*unflatten(tree, real))


def _open_graphs(made: Traced, other: Traced, platforms: Sequence[str]) -> dict[str, Graph]:
    """Returns the graph for each platform, in which no operator depends on an open size.

    Raises:
        MXNetError: one does.
    """
    if structure_of(made.graph) != structure_of(other.graph) or made.results != other.results:
        raise MXNetError(
            "what it computes depends on that size: an operator has it as a parameter (reshape, "
            "slicing, zeros), which can be written as -1 or 0 in reshape"
        )
    for node in made.graph.nodes:
        if isinstance(node.call, ControlCall):
            raise MXNetError(f"loops and branches over arrays ({node.title}) need all sizes")
    found = {}
    for platform in platforms:
        graphs = [_optimized(each, PLATFORMS[platform]) for each in (made, other)]
        same = structure_of(graphs[0]) == structure_of(graphs[1])
        found[platform] = graphs[0] if same else made.graph
    return found


def _optimized(made: Traced, platform: str) -> Graph:
    return optimize(made.graph, PassContext(made.types, platform, tolerance=0))[0]


def _exported(
    made: Traced, graphs: Mapping[str, Graph], platforms: Sequence[str], inputs: Sequence[Argument]
) -> jax.export.Exported:
    """Returns the program, a `jax.export.Exported`."""

    def branch(platform: str) -> Callable[..., tuple[jax.Array, ...]]:
        return lambda *operands: tuple(evaluate(graphs[platform], PLATFORMS[platform], operands))

    def program(*operands: jax.Array) -> tuple[jax.Array, ...]:
        if len(platforms) == 1:
            return branch(platforms[0])(*operands)
        branches = {platform: branch(platform) for platform in platforms}
        outputs: tuple[jax.Array, ...] = jax.lax.platform_dependent(*operands, **branches)
        return outputs

    kept = named("parameter", made.types[: len(made.parameters)])
    return stable_hlo(program, platforms, (*kept, *inputs))
