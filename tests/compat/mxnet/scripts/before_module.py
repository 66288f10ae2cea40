"""Training as before `Module`: executors by hand, an updater, and states of it that come back."""

from collections.abc import Mapping  # as Python had it then

import mxnet as mx
import numpy as np
from mxnet.executor_manager import DataParallelExecutorManager, _split_input_slice
from mxnet.ndarray.ndarray import zeros
from mxnet.optimizer.optimizer import ccSGD
from mxnet.symbol.symbol import Variable

rng = np.random.RandomState(0)
x = rng.randn(64, 4).astype(np.float32)
y = (x.sum(1) > 0).astype(np.float32)
batches = mx.io.NDArrayIter(x, y, 16)

net = mx.sym.FullyConnected(Variable("data"), num_hidden=2, name="fc")
net = mx.sym.SoftmaxOutput(net, name="softmax")
names = net.list_arguments()
params = [name for name in names if name not in ("data", "softmax_label")]
devices = [mx.cpu(0), mx.cpu(1)]
manager = DataParallelExecutorManager(net, devices, batches, names, params, [])
weights = {"fc_weight": mx.nd.full((2, 4), 0.1), "fc_bias": zeros(2)}
print(isinstance(weights, Mapping), _split_input_slice(16, [1, 1]) == manager.slices)
manager.set_params(weights, {})

metric = mx.metric.create("acc")
update = mx.optimizer.get_updater(ccSGD(learning_rate=0.5, momentum=0.9, rescale_grad=1.0 / 16))
for _ in range(4):
    batches.reset()
    metric.reset()
    for batch in batches:
        manager.load_data_batch(batch)
        manager.forward(is_train=True)
        manager.backward()
        manager.update_metric(metric, batch.label)
        pairs = manager.param_arrays, manager.grad_arrays
        for number, (copies, grads) in enumerate(zip(*pairs, strict=True)):
            total = sum(grad.as_in_context(devices[0]) for grad in grads)
            update(number, total, copies[0])
            copies[0].copyto(copies[1])
    states = update.get_states(dump_optimizer=True)
    update = mx.optimizer.get_updater(mx.optimizer.create("adam"))
    update.set_states(states)
manager.copy_to(weights, {})
print(type(update.optimizer).__name__, round(metric.get()[1], 4))
print([round(float(number), 3) for number in weights["fc_weight"].asnumpy()[1]])
