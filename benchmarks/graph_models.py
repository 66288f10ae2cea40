"""One process of ``graph.py``: a network bound, run for the first time, and run again and again.

    python benchmarks/graph_models.py lenet on     # prints seconds of the processor: first, step

Seconds are those that the processors worked, all threads together: that tells two programs apart on
a machine that is busy with other things too.
"""

from __future__ import annotations

import sys
import time
from contextlib import nullcontext

import numpy as np

from hybridnet import cpu, nd, passes, sym

BATCH_SIZE = 64
STEPS = 60


def mlp() -> tuple[sym.Symbol, tuple[int, ...]]:
    x = sym.var("data")
    for number, width in enumerate((128, 128)):
        x = sym.FullyConnected(x, num_hidden=width, name=f"fc{number}")
        x = sym.Activation(x, act_type="relu")
    x = sym.FullyConnected(x, num_hidden=10, name="scores")
    return sym.SoftmaxOutput(x, name="softmax"), (BATCH_SIZE, 64)


def lenet() -> tuple[sym.Symbol, tuple[int, ...]]:
    x = sym.var("data")
    for number, filters in enumerate((20, 50)):
        x = sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{number}")
        x = sym.Activation(x, act_type="tanh")
        x = sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2))
    x = sym.FullyConnected(sym.Flatten(x), num_hidden=500, name="fc")
    x = sym.FullyConnected(sym.Activation(x, act_type="tanh"), num_hidden=10, name="scores")
    return sym.SoftmaxOutput(x, name="softmax"), (BATCH_SIZE, 1, 28, 28)


NETWORKS = {"mlp": mlp, "lenet": lenet}


def main() -> None:
    network, switch = sys.argv[1:]
    generator = np.random.default_rng(0)
    (nd.ones((2,)) + 1).asnumpy()  # JAX is loaded
    with nullcontext() if switch == "on" else passes.off():
        symbol, shape = NETWORKS[network]()
        start = time.process_time()
        executor = symbol.simple_bind(cpu(), data=shape)
        for array in executor.arg_dict.values():
            array[:] = nd.array(generator.normal(size=array.shape) * 0.1)
        first = None
        times = []
        for _ in range(STEPS):
            begin = time.process_time()
            executor.forward(is_train=True)
            executor.backward()
            nd.waitall()
            end = time.process_time()
            first = first or end - start
            times.append(end - begin)
    print(first, float(np.median(times[STEPS // 2 :])))


if __name__ == "__main__":
    main()
