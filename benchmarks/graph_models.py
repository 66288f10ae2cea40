"""One process of ``graph.py``: a network with the passes and without, by turns, in one process.

    python benchmarks/graph_models.py ResNet-50 infer 1 64 on,off     # prints numbers as JSON

For each switch the symbol is bound, compiled and run once; then steps are taken by turns. Seconds
are those that the processors worked, all threads together, which tells two programs apart on a
machine that is busy with other things too; and those of the clock.

With "xla" among the switches, inference is also computed as XLA does it when every operator is
taken as it is written, channels first: no pass, and none of the lowerings that suit a CPU.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import jax
import networks
import numpy as np

from hybridnet import cpu, nd, passes, sym
from hybridnet.graph.evaluate import evaluate
from hybridnet.graph.transform import prepare

#: Steps are taken by turns for so long, in seconds of the clock, and at least and at most so often.
_SECONDS = 10.0
_STEPS = (5, 200)


def mlp() -> sym.Symbol:
    x = sym.var("data")
    for number, width in enumerate((128, 128)):
        x = sym.FullyConnected(x, num_hidden=width, name=f"fc{number}")
        x = sym.Activation(x, act_type="relu")
    x = sym.FullyConnected(x, num_hidden=10, name="scores")
    return sym.SoftmaxOutput(x, name="softmax")


def lenet() -> sym.Symbol:
    x = sym.var("data")
    for number, filters in enumerate((20, 50)):
        x = sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{number}")
        x = sym.Activation(x, act_type="tanh")
        x = sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2))
    x = sym.FullyConnected(sym.Flatten(x), num_hidden=500, name="fc")
    x = sym.FullyConnected(sym.Activation(x, act_type="tanh"), num_hidden=10, name="scores")
    return sym.SoftmaxOutput(x, name="softmax")


NETWORKS: dict[str, Callable[[], Any]] = {"MLP": mlp, "LeNet": lenet, **networks.NETWORKS}


def shape_of(network: str, batch: int, size: int) -> tuple[int, ...]:
    """Returns the shape of the data; size is that of images, and not asked of small networks."""
    if network == "MLP":
        return batch, 64
    return (batch, 1, 28, 28) if network == "LeNet" else (batch, 3, size, size)


def values_of(symbol: sym.Symbol, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Returns a value for every argument and auxiliary state."""
    generator = np.random.default_rng(0)
    arguments, _, states = symbol.infer_shape(data=shape)
    found = {}
    for name, wanted in zip(symbol.list_arguments(), arguments, strict=True):
        fan_in = max(1, int(np.prod(wanted[1:])))
        found[name] = (generator.normal(size=wanted) / np.sqrt(fan_in)).astype(np.float32)
    found["data"] = generator.normal(size=shape).astype(np.float32)
    for name, wanted in zip(symbol.list_auxiliary_states(), states, strict=True):
        found[name] = generator.uniform(0.5, 1.5, size=wanted).astype(np.float32)
    return found


def bound(network: str, mode: str, shape: tuple[int, ...], switch: str) -> Callable[[], Any]:
    """Returns a step of a network: forward, and in training backward."""
    symbol = NETWORKS[network]()
    values = values_of(symbol, shape)
    if switch == "xla":
        graph = prepare(symbol.graph, train=False).graph
        program = jax.jit(lambda *arrays: evaluate(graph, "gpu", arrays))
        arrays = [jax.device_put(values[node.name]) for node in graph.inputs]
        return lambda: jax.block_until_ready(program(*arrays))
    with nullcontext() if switch == "on" else passes.off():
        request = {
            name: "null" if name in ("data", "softmax_label") else "write" for name in values
        }
        training = mode == "train"
        executor = symbol.simple_bind(cpu(), grad_req=request if training else "null", data=shape)
    for name, array in {**executor.arg_dict, **executor.aux_dict}.items():
        array[:] = nd.array(values[name])
    nd.waitall()

    def step() -> Any:
        with nullcontext() if switch == "on" else passes.off():
            outputs = executor.forward(is_train=training)
            if training:
                executor.backward()
        nd.waitall()
        return [output.asnumpy() for output in outputs]

    return step


def changes(network: str, mode: str, shape: tuple[int, ...]) -> tuple[dict[str, int], float]:
    """Returns the rules that fire over a network's graphs, and the seconds that the passes take.

    Where none fires, the programs with the passes and without are the same.
    """
    symbol = NETWORKS[network]()
    training = mode == "train"
    executor = symbol.simple_bind(cpu(), grad_req="write" if training else "null", data=shape)
    run = executor._run(training)
    fired: dict[str, int] = {}
    start = time.process_time()
    for call in [run.call, *([run.backward()[0]] if training else [])]:
        context = passes.PassContext(call.input_types, "cpu", tolerance=0)
        fired |= passes.optimize(call.graph, context)[1].fired
    return fired, time.process_time() - start


def timed(step: Callable[[], Any]) -> tuple[float, float]:
    """Returns the seconds of the processors, and of the clock, that a step takes."""
    clock, worked = time.perf_counter(), time.process_time()
    step()
    return time.process_time() - worked, time.perf_counter() - clock


def main() -> None:
    network, mode, batch, size, listed = sys.argv[1:]
    shape = shape_of(network, int(batch), int(size))
    for mode_before in ("infer", "train"):  # JAX is loaded, and has compiled the like
        bound("LeNet", mode_before, (2, 1, 28, 28), "off")()
    steps, first = {}, {}
    for switch in listed.split(","):

        def begin(switch: str = switch) -> None:
            steps[switch] = bound(network, mode, shape, switch)
            steps[switch]()

        first[switch] = timed(begin)
    for _ in range(2):  # programs are hot, memory is there
        for step in steps.values():
            step()
    taken: dict[str, list[tuple[float, float]]] = {switch: [] for switch in steps}
    start = time.perf_counter()
    fewest, most = _STEPS
    while (count := len(taken[switch])) < most and (
        count < fewest or time.perf_counter() - start < _SECONDS
    ):
        for switch in sorted(steps, reverse=count % 2 == 0):
            taken[switch].append(timed(steps[switch]))
    fired, seconds = changes(network, mode, shape)
    print(json.dumps({"first": first, "steps": taken, "fired": fired, "passes": seconds}))


if __name__ == "__main__":
    main()
