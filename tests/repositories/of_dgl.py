"""DGL on its MXNet backend: layers of `dgl.nn.mxnet`, and messages, on a random graph."""

import os

os.environ["DGLBACKEND"] = "mxnet"
import dgl
import dgl.function as fn
import mxnet as mx
import numpy as np
from dgl.nn.mxnet import GATConv, GraphConv, SAGEConv
from drive import STEPS, begin, losses, main
from mxnet import autograd, gluon

DRAWN = np.random.RandomState(2)
NODES, KINDS = 40, 3
EDGES = DRAWN.randint(0, NODES, 120), DRAWN.randint(0, NODES, 120)
X = DRAWN.normal(size=(NODES, 8)).astype("float32")
Y = DRAWN.randint(0, KINDS, NODES).astype("float32")


class Two(gluon.Block):
    """Two layers of a kind, for the classes of nodes."""

    def __init__(self, make, heads=1):
        super().__init__(prefix="net_")
        self.first, self.second, self.heads = make(8, 12), make(12 * heads, KINDS), heads

    def forward(self, graph, x):
        x = mx.nd.tanh(self.first(graph, x))
        x = self.second(graph, x.reshape((NODES, -1)))
        return x.mean(axis=1) if self.heads > 1 else x


class Messages(gluon.Block):
    """Sums over neighbours by DGL's own functions, a maximum, and a softmax of edges."""

    def __init__(self):
        super().__init__(prefix="messages_")
        self.first = gluon.nn.Dense(12, in_units=8, prefix="first_")
        self.last = gluon.nn.Dense(KINDS, in_units=24, prefix="last_")

    def forward(self, graph, x):
        with graph.local_scope():
            graph.ndata["h"] = mx.nd.tanh(self.first(x))
            graph.apply_edges(fn.u_dot_v("h", "h", "score"))
            graph.edata["share"] = dgl.ops.edge_softmax(graph, graph.edata["score"])
            graph.update_all(fn.u_mul_e("h", "share", "m"), fn.sum("m", "sum"))
            graph.update_all(fn.copy_u("h", "m"), fn.max("m", "most"))
            return self.last(mx.nd.concat(graph.ndata["sum"], graph.ndata["most"], dim=1))


def networks():
    return {
        "GraphConv": Two(GraphConv),
        "GATConv": Two(lambda inside, out: GATConv(inside, out, num_heads=2), heads=2),
        "SAGEConv": Two(lambda inside, out: SAGEConv(inside, out, "mean")),
        "messages": Messages(),
    }


def graph():
    return dgl.add_self_loop(dgl.graph(EDGES, num_nodes=NODES))


def train(folder):
    everything, arrays = {}, {}
    for name, net in networks().items():
        net.initialize()
        x, y = mx.nd.array(X), mx.nd.array(Y)
        net(graph(), x)
        begin(net.collect_params().values(), scale=0.4)
        criterion = gluon.loss.SoftmaxCrossEntropyLoss()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.02})
        with losses() as seen:
            for _ in range(STEPS):
                with autograd.record():
                    loss = criterion(net(graph(), x), y).mean()
                loss.backward()
                trainer.step(1)
        everything[name] = seen
        net.save_parameters(str(folder / f"{name}.params"))
        arrays[name] = net(graph(), x).asnumpy()
    dgl.save_graphs(str(folder / "graph.bin"), [graph()])
    return everything, {**arrays, "edges": graph().edges()[0].asnumpy()}


def read(folder):
    arrays = {}
    for name, net in networks().items():
        net.initialize()
        net(graph(), mx.nd.array(X))
        net.load_parameters(str(folder / f"{name}.params"))
        arrays[name] = net(graph(), mx.nd.array(X)).asnumpy()
    (saved,), _ = dgl.load_graphs(str(folder / "graph.bin"))
    return {**arrays, "edges": saved.edges()[0].asnumpy()}


if __name__ == "__main__":
    main(train, read)
