"""A script in MXNet's words factors a matrix by row-sparse embeddings, on workers and servers."""

import pytest
from launched import launch

pytest.importorskip("zmq")

FACTORS = """
import mxnet as mx
import numpy as np

kv = mx.kv.create("dist_sync")
users, items, size, batch = 60, 40, 4, 30
draw = np.random.RandomState(0)
left, right = draw.randn(users, size), draw.randn(items, size)
who, what = draw.randint(users, size=1200), draw.randint(items, size=1200)
score = (left[who] * right[what]).sum(axis=1).astype("float32")
mine = slice(kv.rank, None, kv.num_workers)
train = mx.io.NDArrayIter(
    {"a": who[mine].astype("float32"), "b": what[mine].astype("float32")},
    {"score": score[mine]}, batch_size=batch,
)

user, item = mx.sym.Variable("a"), mx.sym.Variable("b")
tables = [mx.sym.Variable(name, stype="row_sparse") for name in ("user_weight", "item_weight")]
user = mx.sym.Embedding(user, tables[0], input_dim=users, output_dim=size, sparse_grad=True)
item = mx.sym.Embedding(item, tables[1], input_dim=items, output_dim=size, sparse_grad=True)
product = mx.sym.sum(user * item, axis=1)
net = mx.sym.LinearRegressionOutput(data=product, label=mx.sym.Variable("score"))

module = mx.mod.Module(net, data_names=("a", "b"), label_names=("score",))
module.bind(data_shapes=train.provide_data, label_shapes=train.provide_label)
mx.random.seed(1 + kv.rank)  # worker 0's tables are everybody's
module.init_params(mx.init.Normal(0.3))
module.init_optimizer(kv, "adagrad", {"learning_rate": 0.3, "rescale_grad": 1 / batch / 2})

def row_ids(one):
    return {"user_weight": one.data[0], "item_weight": one.data[1]}

metric = mx.metric.MSE()
errors = []
for epoch in range(8):
    train.reset()
    metric.reset()
    for one in train:
        module.prepare(one, sparse_row_id_fn=row_ids)
        module.forward_backward(one)
        module.update()
        module.update_metric(metric, one.label)
    errors.append(metric.get()[1])
kv._barrier()
every = {"user_weight": mx.nd.arange(users), "item_weight": mx.nd.arange(items)}
module.prepare(one, sparse_row_id_fn=lambda _: every)
weights = module.get_params()[0]
total = sum(float((weights[name].tostype("default") ** 2).sum().asscalar()) for name in every)
print("%.3f %.3f %.6f\\n" % (errors[0], errors[-1], total), end="", flush=True)
"""


@pytest.mark.slow
def test_factors_of_a_matrix_are_learned_by_rows(tmp_path):
    """Rows are pulled for a batch and pushed after it; all workers end with the same tables."""
    path = tmp_path / "factors.py"
    path.write_text(FACTORS)
    code, lines, error = launch(path, "-n", 2, "-s", 2, runner=("-m", "hybridnet", "run"))
    assert code == 0 and len(lines) == 2, error
    (first, last, total), (other, later, same) = (map(float, line.split()) for line in lines)
    assert last < 0.5 * first and later < 0.5 * other, lines
    assert total == same, lines
