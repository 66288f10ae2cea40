"""MXFusion: a Gaussian process by its module, and a Bayesian network by variational inference."""

import mxnet as mx
import numpy as np
from drive import STEPS, losses, main, nudged
from mxfusion import Model, Variable
from mxfusion.common import config
from mxfusion.components.distributions import Normal
from mxfusion.components.distributions.gp.kernels import RBF
from mxfusion.components.functions import MXFusionGluonFunction
from mxfusion.components.functions.operators import broadcast_to
from mxfusion.components.variables import PositiveTransformation
from mxfusion.inference import (
    MAP,
    GradBasedInference,
    ModulePredictionAlgorithm,
    StochasticVariationalInference,
    TransferInference,
    create_Gaussian_meanfield,
)
from mxfusion.modules.gp_modules import GPRegression

DRAWN = np.random.RandomState(5)
X = DRAWN.uniform(-3, 3, (20, 1))
Y = np.sin(X) + DRAWN.normal(size=(20, 1)) * 0.05
GRID = np.linspace(-4, 4, 9)[:, None]


def array(value):
    return mx.nd.array(value, dtype="float64")


def process():
    model = Model()
    model.N = Variable()
    model.X = Variable(shape=(model.N, 1))
    model.noise = Variable(shape=(1,), transformation=PositiveTransformation(), initial_value=0.01)
    model.kernel = RBF(input_dim=1, variance=1, lengthscale=float(nudged(np.ones(1))[0]))
    model.Y = GPRegression.define_variable(
        X=model.X, kernel=model.kernel, noise_var=model.noise, shape=(model.N, 1)
    )
    model.Y.factor.gp_log_pdf.jitter = 1e-6
    return model, GradBasedInference(MAP(model=model, observed=[model.X, model.Y]))


def predict(model, inference):
    transfer = TransferInference(
        ModulePredictionAlgorithm(model=model, observed=[model.X], target_variables=[model.Y]),
        infr_params=inference.params,
    )
    mean, variance = transfer.run(X=array(GRID))[0]
    return {"mean": mean.asnumpy(), "variance": variance.asnumpy()}


def variational():
    """The mean and variance of a normal variable: nothing is drawn but by NumPy."""

    class Drawn:
        @staticmethod
        def sample_normal(loc=0, scale=1, shape=None, dtype=None, out=None, ctx=None, F=None):
            return array(loc + scale * np.random.normal(size=shape))

    net = mx.gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(mx.gluon.nn.Dense(5, activation="tanh", in_units=1, flatten=False))
        net.add(mx.gluon.nn.Dense(1, in_units=5, flatten=False))
    net.initialize()
    model = Model()
    model.N = Variable()
    model.f = MXFusionGluonFunction(net, num_outputs=1, broadcastable=False)
    model.x = Variable(shape=(model.N, 1))
    model.v = Variable(shape=(1,), transformation=PositiveTransformation(), initial_value=0.01)
    model.r = model.f(model.x)
    drawn = np.random.RandomState(11)
    for variable in model.r.factor.parameters.values():
        mean, variance = (broadcast_to(array([each]), variable.shape) for each in (0, 3))
        variable.set_prior(Normal(mean=mean, variance=variance, rand_gen=Drawn))
    variance = broadcast_to(model.v, (model.N, 1))
    model.y = Normal.define_variable(mean=model.r, variance=variance, shape=(model.N, 1))
    observed = [model.y, model.x]
    guide = create_Gaussian_meanfield(model=model, observed=observed)
    for variable in model.r.factor.parameters.values():
        guide[variable].factor._rand_gen = Drawn
    inference = GradBasedInference(
        StochasticVariationalInference(
            num_samples=3, model=model, posterior=guide, observed=observed
        )
    )
    inference.initialize(y=Y.shape, x=X.shape)
    for variable in model.r.factor.parameters.values():
        shape = variable.shape
        inference.params[guide[variable].factor.mean] = array(
            nudged(drawn.normal(size=shape) * 0.3)
        )
        inference.params[guide[variable].factor.variance] = array(np.ones(shape) * 1e-4)
    with losses() as seen:
        inference.run(max_iter=STEPS, learning_rate=1e-2, y=array(Y), x=array(X))
    return seen


def train(folder):
    config.DEFAULT_DTYPE = "float64"
    model, inference = process()
    with losses() as seen:
        inference.run(X=array(X), Y=array(Y), max_iter=STEPS, learning_rate=0.05)
    inference.save(str(folder / "process.zip"))
    return {"process": seen, "network": variational()}, predict(model, inference)


def read(folder):
    config.DEFAULT_DTYPE = "float64"
    model, inference = process()
    inference.initialize(X=X.shape, Y=Y.shape)
    inference.load(str(folder / "process.zip"))
    return predict(model, inference)


if __name__ == "__main__":
    main(train, read)
