"""A factorization machine on rows of twenty thousand features, of which each has twelve."""

import logging

import mxnet as mx
import numpy as np

logging.basicConfig(level=logging.DEBUG)
FEATURES, ROWS, STORED, BATCH = 20000, 256, 12, 64

rng = np.random.RandomState(0)
columns = np.sort(rng.randint(0, FEATURES, (ROWS, STORED)), axis=1)
label = ((columns < FEATURES // 2).sum(1) > STORED // 2).astype(np.float32)
# A feature of each half that many rows share.
columns[:, 0] = np.where(label > 0, 7, 8)
indptr = np.arange(0, ROWS * STORED + 1, STORED)
rows = mx.nd.sparse.csr_matrix(
    (np.ones(ROWS * STORED, np.float32), columns.ravel(), indptr), shape=(ROWS, FEATURES)
)
batches = mx.io.NDArrayIter(
    rows, label, BATCH, label_name="softmax_label", last_batch_handle="discard"
)

x = mx.sym.var("data", stype="csr")
w = mx.sym.var("w", shape=(FEATURES, 1), init=mx.init.Constant(0.01))
v = mx.sym.var("v", shape=(FEATURES, 4), init=mx.init.Constant(0.1))
bias = mx.sym.var("bias", shape=(1,), init=mx.init.Zero())
linear = mx.sym.broadcast_add(mx.sym.dot(x, w), bias)
pairs = mx.sym.square(mx.sym.dot(x, v)).sum(axis=1, keepdims=True)
alone = mx.sym.dot(mx.sym.square(x), mx.sym.square(v)).sum(axis=1, keepdims=True)
out = mx.sym.LogisticRegressionOutput(linear + 0.5 * (pairs - alone), mx.sym.var("softmax_label"))

module = mx.mod.Module(out, data_names=["data"], label_names=["softmax_label"])
module.bind(batches.provide_data, batches.provide_label)
module.init_params()
module.init_optimizer(
    optimizer="adagrad", optimizer_params={"learning_rate": 0.1, "rescale_grad": 1.0 / BATCH}
)
metric = mx.metric.CustomMetric(
    lambda y, p: float(((p.ravel() > 0.5) == (y > 0.5)).mean()), name="acc"
)
for _ in range(6):
    batches.reset()
    metric.reset()
    for batch in batches:
        module.forward(batch, is_train=True)
        module.backward()
        module.update()
        module.update_metric(metric, batch.label)
weight = module.get_params()[0]["w"]
print("learned" if metric.get()[1] == 1 else metric.get(), batch.data[0].stype)
print([round(float(number), 3) for number in weight.asnumpy()[7:9, 0]])
