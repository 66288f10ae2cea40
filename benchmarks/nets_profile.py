"""The time of each operator of hybridnet's programs for a work, compiled and timed alone.

The operators are those that the passes leave of the programs that one turn runs, on their real
shapes, with the lowering that the rules choose. For inference, what follows from the weights alone
is made before, as hybridnet does when it has seen them often enough. Alone, an operator is not
fused with others and makes all its outputs; so the sum is more than the program takes, and an
operator whose time stands out alone is the one to look at. FLOP are XLA's count for what is
lowered. Times are the least of several, of the clock and of the processors, all threads together:
twice the clock's on two cores that both work all the time.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from works.catalog import INFERENCE, contestants_of

import hybridnet as hn
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph.evaluate import infer_types
from hybridnet.ops.core.call import Call, Types
from hybridnet.passes import PassContext, optimize
from hybridnet.passes.context import TOLERANCE
from hybridnet.passes.pipeline import PIPELINE
from hybridnet.runtime.graphs.graph_call import GraphCall
from hybridnet.runtime.programs.compiling import compile_code, lower
from hybridnet.runtime.segments.code import Code
from hybridnet.runtime.specialize.specializing import specialize

_GRADIENT = "_backward_"
#: Seconds that an operator is timed for, and how often at least.
_SECONDS, _LEAST = 0.3, 5
#: Inputs that are shown.
_SHOWN = 6


@dataclass(frozen=True)
class Part:
    """An operator on inputs of some types.

    Attributes:
        call: the operator.
        types: of its inputs.
        constant: the inputs, by number, that stay the same from run to run.
    """

    call: Call
    types: Types
    constant: tuple[int, ...] = ()

    @property
    def shown(self) -> str:
        """Inputs, and the parameters that tell convolutions and the like apart."""
        shapes = ["x".join(map(str, type.shape)) or "-" for type in self.types]
        if len(shapes) > _SHOWN:
            shapes = [*shapes[:_SHOWN], f"and {len(shapes) - _SHOWN} more"]
        attrs = getattr(self.call, "attrs", {})
        told = [f"{name}={attrs[name]}" for name in ("kernel", "stride", "pad") if attrs.get(name)]
        return " ".join([*shapes, *told])


@dataclass(frozen=True)
class Timed:
    """A part, how often a turn runs it, what one run takes, and its GFLOP."""

    part: Part
    count: int
    milliseconds: float
    cpu_milliseconds: float
    gigaflop: float

    @property
    def total(self) -> float:
        """The milliseconds of all runs in a turn."""
        return self.count * self.milliseconds


def parts_of(code: Code) -> Iterator[Part]:
    """Yields the operators of a program, those of graphs in it as the passes leave them."""
    types: list[TensorType] = []
    for call, operands in code.instructions:
        given = tuple(types[i] if i >= 0 else code.input_types[~i] for i in operands)
        yield from _parts(call, given)
        types.extend(call.infer(given))


def _parts(call: Call, types: Types) -> Iterator[Part]:
    if not isinstance(call, GraphCall):
        yield Part(call, types)
        return
    graph = call.lowered("cpu")
    known = infer_types(graph, types)
    for node in graph.nodes:
        if node.call is not None:
            given = tuple(known[edge.node][edge.index] for edge in node.inputs)
            yield from _parts(node.call, given)


def inference_parts_of(code: Code, data_shape: Sequence[int]) -> Iterator[Part]:
    """Yields the operators of inference that depend on the data, with constant weights.

    Args:
        code: a program that consists of one graph.
        data_shape: of the data; inputs of other shapes are weights.
    """
    ((graph_call, _),) = code.instructions
    assert isinstance(graph_call, GraphCall)
    context = PassContext(graph_call.input_types, "cpu", tolerance=TOLERANCE)
    graph, _ = optimize(graph_call.graph, context, [stage.name for stage in PIPELINE])
    types = infer_types(graph, graph_call.input_types)
    constants = {node for node in graph.inputs if types[node][0].shape != tuple(data_shape)}
    for node in graph.nodes:
        if node.call is None:
            continue
        if all(edge.node in constants for edge in node.inputs):
            constants.add(node)
            continue
        given = tuple(types[edge.node][edge.index] for edge in node.inputs)
        constant = tuple(i for i, edge in enumerate(node.inputs) if edge.node in constants)
        yield Part(node.call, given, constant)


def _program(code: Code, part: Part, inputs: Sequence[Any]) -> Any:
    """Compiles a part; what follows from its constant inputs is made."""
    whole = compile_code(code)
    if not part.constant:
        return whole
    made = specialize(code, whole, part.constant, lambda *_: None)
    return made if made is not None and made.prepare(inputs) else whole


def _array(type: TensorType, random: np.random.Generator) -> Any:
    """Random numbers around 1, or zeros where they are no fractions: labels, states."""
    if type.dtype.kind != "f":
        return jax.device_put(np.zeros(type.shape, type.dtype))
    return jax.device_put((random.normal(1, 0.1, type.shape)).astype(type.dtype))


def timed(part: Part, count: int) -> Timed:
    """Compiles and times a part."""
    operands = tuple(~i for i in range(len(part.types)))
    outputs = tuple(range(part.call.num_outputs))
    # What it overwrites is given away, as in the program, and the next run takes what came of it.
    overwritten = part.call.mutates
    code = Code(hn.cpu(), ((part.call, operands),), part.types, outputs, tuple(overwritten))
    random = np.random.default_rng(0)
    with jax.enable_x64(True):
        arrays = [_array(type, random) for type in part.types]
        arrays.append(jax.device_put(np.full(part.call.num_scalars, 0.01)))
        analysis = jax.jit(lower(code)).lower(*arrays).cost_analysis() or {}
    program = _program(code, part, arrays[:-1])

    def run() -> None:
        made = jax.block_until_ready(program(*arrays))
        for given, result in overwritten.items():
            arrays[given] = made[result]

    run()
    taken: list[tuple[float, float]] = []
    started = time.perf_counter()
    while len(taken) < _LEAST or time.perf_counter() - started < _SECONDS:
        before, worked = time.perf_counter(), time.process_time()
        run()
        taken.append((time.perf_counter() - before, time.process_time() - worked))
    clock, cpu = (1e3 * min(times) for times in zip(*taken, strict=True))
    return Timed(part, count, clock, cpu, float(analysis.get("flops", 0)) / 1e9)


def profile(work: str) -> None:
    """Prints the operators of a work, those that take most first, forward and gradient apart."""
    runner = contestants_of(work)["hybridnet"]()
    runner.warm_up()
    with hn.runtime.explaining() as explanation:
        runner.turn(1)
    codes = [launch.code for launch in explanation]
    counts: Counter[Part] = Counter()
    for code in codes:
        net = INFERENCE.get(work)
        counts.update(parts_of(code) if net is None else inference_parts_of(code, net().data_shape))
    rows = sorted(
        (timed(part, count) for part, count in counts.items()), key=lambda row: -row.total
    )
    whole = 1e3 * min(runner.turn(1) for _ in range(_LEAST))
    alone = sum(row.total for row in rows)
    print(f"{work}: {len(codes)} programs a turn, {whole:.2f} ms; its operators alone {alone:.2f}")
    gradients = [row for row in rows if row.part.call.name.startswith(_GRADIENT)]
    _show("forward, and updates", [row for row in rows if row not in gradients])
    _show("gradient", gradients)


def _show(title: str, rows: Sequence[Timed]) -> None:
    if not rows:
        return
    print(f"\n{title}: {sum(row.total for row in rows):.2f} ms")
    print(f"{'ms':>9} {'times':>5} {'ms each':>9} {'CPU ms':>9} {'GFLOP/s':>8}  operator")
    for row in rows:
        speed = row.gigaflop / row.milliseconds * 1e3
        name = row.part.call.name.removeprefix(_GRADIENT)
        print(
            f"{row.total:9.3f} {row.count:5} {row.milliseconds:9.3f} {row.cpu_milliseconds:9.3f}"
            f" {speed:8.1f}  {name} {row.part.shown}"
        )
