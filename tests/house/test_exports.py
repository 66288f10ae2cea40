"""Every public name exists, is documented, and is where MXNet's programs look for it."""

import importlib
import inspect

import pytest

import hybridnet as hn

MODULES = (
    "hybridnet",
    "hybridnet.attribute",
    "hybridnet.autograd",
    "hybridnet.base.context",
    "hybridnet.checkpoint",
    "hybridnet.context",
    "hybridnet.compat_report",
    "hybridnet.engine",
    "hybridnet.executor",
    "hybridnet.gluon",
    "hybridnet.gluon.loss",
    "hybridnet.gluon.nn",
    "hybridnet.gluon.utils",
    "hybridnet.initializer",
    "hybridnet.io",
    "hybridnet.kv",
    "hybridnet.kvstore",
    "hybridnet.lr_scheduler",
    "hybridnet.metric",
    "hybridnet.model",
    "hybridnet.name",
    "hybridnet.ndarray",
    "hybridnet.ndarray.contrib",
    "hybridnet.ndarray.image",
    "hybridnet.ndarray.linalg",
    "hybridnet.ndarray.random",
    "hybridnet.ndarray.sparse",
    "hybridnet.numpy",
    "hybridnet.numpy.linalg",
    "hybridnet.numpy.random",
    "hybridnet.numpy_extension",
    "hybridnet.numpy_extension.random",
    "hybridnet.operator",
    "hybridnet.optimizer",
    "hybridnet.passes",
    "hybridnet.profiler",
    "hybridnet.random",
    "hybridnet.runtime",
    "hybridnet.session",
    "hybridnet.symbol",
    "hybridnet.symbol.contrib",
    "hybridnet.symbol.image",
    "hybridnet.symbol.linalg",
    "hybridnet.test_utils",
    "hybridnet.tracing",
    "hybridnet.util",
    "hybridnet.visualization",
)

#: What programs written for MXNet 1.9 say after ``import mxnet as mx``.
MXNET_NAMES = [
    "mx.nd.array",
    "mx.nd.zeros",
    "mx.nd.NDArray",
    "mx.nd.save",
    "mx.nd.load",
    "mx.nd.waitall",
    "mx.nd.random.uniform",
    "mx.nd.FullyConnected",
    "mx.nd.Convolution",
    "mx.nd.softmax",
    "mx.nd.sgd_mom_update",
    "mx.nd.Custom",
    "mx.nd.RNN",
    "mx.nd.contrib.foreach",
    "mx.sym.Custom",
    "mx.sym.contrib.while_loop",
    "mx.operator.CustomOp",
    "mx.operator.register",
    "mx.sym.Variable",
    "mx.sym.var",
    "mx.sym.Group",
    "mx.sym.load",
    "mx.sym.load_json",
    "mx.symbol.Symbol",
    "mx.autograd.record",
    "mx.autograd.Function",
    "mx.gluon.nn.Dense",
    "mx.gluon.Trainer",
    "mx.gluon.loss.L2Loss",
    "mx.gluon.Parameter",
    "mx.gluon.utils.split_and_load",
    "mx.init.Xavier",
    "mx.initializer.Normal",
    "mx.optimizer.SGD",
    "mx.optimizer.create",
    "mx.lr_scheduler.FactorScheduler",
    "mx.metric.Accuracy",
    "mx.metric.create",
    "mx.kv.create",
    "mx.kvstore.create",
    "mx.io.NDArrayIter",
    "mx.io.MNISTIter",
    "mx.io.DataBatch",
    "mx.model.save_checkpoint",
    "mx.model.load_checkpoint",
    "mx.viz.plot_network",
    "mx.viz.print_summary",
    "mx.cpu",
    "mx.gpu",
    "mx.Context",
    "mx.current_context",
    "mx.num_gpus",
    "mx.random.seed",
    "mx.AttrScope",
    "mx.name.NameManager",
    "mx.name.Prefix",
    "mx.attribute.AttrScope",
    "mx.executor.Executor",
    "mx.profiler.set_config",
    "mx.profiler.set_state",
    "mx.profiler.dump",
    "mx.profiler.Domain",
    "mx.profiler.Task",
    "mx.profiler.Frame",
    "mx.profiler.Event",
    "mx.profiler.Counter",
    "mx.profiler.Marker",
    "mx.profiler.set_kvstore_handle",
    "mx.engine.bulk",
    "mx.engine.set_bulk_size",
    "mx.base.MXNetError",
    "mx.waitall",
]


@pytest.mark.parametrize("name", MODULES)
def test_public_names_exist_and_are_documented(name):
    module = importlib.import_module(name)
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__)
    for public in module.__all__:
        value = getattr(module, public)
        if inspect.ismodule(value) or inspect.isclass(value) or inspect.isroutine(value):
            assert inspect.getdoc(value), f"{name}.{public} has no documentation"


@pytest.mark.parametrize("name", MODULES)
def test_public_classes_document_their_methods(name):
    module = importlib.import_module(name)
    for public in module.__all__:
        value = getattr(module, public)
        if not inspect.isclass(value) or not value.__module__.startswith("hybridnet"):
            continue
        for method, function in vars(value).items():
            if inspect.isfunction(function) and not method.startswith("_"):
                assert inspect.getdoc(getattr(value, method)), f"{name}.{public}.{method}"


@pytest.mark.parametrize("path", MXNET_NAMES)
def test_names_of_mxnet_are_where_its_programs_look(path):
    value = hn
    for part in path.split(".")[1:]:
        value = getattr(value, part)


def test_function_is_the_decorator_even_after_its_package_was_imported():
    importlib.import_module("hybridnet.tracing")
    assert callable(hn.function)
