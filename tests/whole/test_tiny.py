"""The shortest look at everything: run this first."""

import numpy as np

import hybridnet as hn
from hybridnet import autograd, gluon, nd, sym

X1, X2 = 3.0, 2.0
#: f = (e^x1 + x2)(x2 + 1) and its gradient, worked out by hand with NumPy's exponential.
VALUE = (np.exp(X1) + X2) * (X2 + 1)
GRADIENT = (np.exp(X1) * (X2 + 1), np.exp(X1) + X2 + X2 + 1)


def test_eager():
    x1, x2 = nd.array([X1]), nd.array([X2])
    x1.attach_grad()
    x2.attach_grad()
    with autograd.record():
        f = (nd.exp(x1) + x2) * (x2 + 1)
    f.backward()
    np.testing.assert_allclose(f.asscalar(), VALUE, rtol=1e-6)
    np.testing.assert_allclose([x1.grad.asscalar(), x2.grad.asscalar()], GRADIENT, rtol=1e-6)


def test_symbolic():
    x1, x2 = sym.var("x1"), sym.var("x2")
    executor = ((sym.exp(x1) + x2) * (x2 + 1)).simple_bind(hn.cpu(), x1=(1,), x2=(1,))
    (f,) = executor.forward(is_train=True, x1=nd.array([X1]), x2=nd.array([X2]))
    executor.backward()
    np.testing.assert_allclose(f.asscalar(), VALUE, rtol=1e-6)
    found = [executor.grad_dict[name].asscalar() for name in ("x1", "x2")]
    np.testing.assert_allclose(found, GRADIENT, rtol=1e-6)


def test_traced():
    x1, x2 = nd.array([X1]), nd.array([X2])
    x1.attach_grad()
    x2.attach_grad()

    @hn.function
    def step(x1, x2):
        with autograd.record():
            f = (nd.exp(x1) + x2) * (x2 + 1)
        f.backward()
        return f

    for _ in range(2):
        np.testing.assert_allclose(step(x1, x2).asscalar(), VALUE, rtol=1e-6)
    np.testing.assert_allclose([x1.grad.asscalar(), x2.grad.asscalar()], GRADIENT, rtol=1e-6)


def test_a_network_learns():
    hn.random.seed(0)
    net = gluon.nn.Dense(1)
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    x = nd.random.uniform(-1, 1, shape=(64, 3))
    y = (x * nd.array([[1.0, -2.0, 0.5]])).sum(axis=1) + 0.25
    for _ in range(60):
        with autograd.record():
            loss = gluon.loss.L2Loss()(net(x), y)
        loss.backward()
        trainer.step(64)
    np.testing.assert_allclose(net.weight.data().asnumpy(), [[1, -2, 0.5]], atol=1e-2)
    np.testing.assert_allclose(net.bias.data().asnumpy(), [0.25], atol=1e-2)
