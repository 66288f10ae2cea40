"""`import mxnet` after `install()`: whose modules these are, and what is said of missing names."""

import base64
import collections
import fractions
import importlib
import inspect
import io
import json
import multiprocessing.reduction
import pickle
import pydoc
import sys
import time

import numpy as np
import pytest
from helpers import run_script
from places import ORACLE

import hybridnet as hn
from hybridnet.base.unsupported import NotSupportedError
from hybridnet.compat import mxnet as alias
from hybridnet.compat.mxnet.places import PLACES


@pytest.fixture
def mx():
    alias.install()
    yield importlib.import_module("mxnet")
    alias.uninstall()


def test_modules_are_hybridnets_own(mx):
    import mxnet.gluon.nn as nn
    import mxnet.ndarray.ndarray
    from mxnet import nd
    from mxnet.gluon import HybridBlock, Trainer
    from mxnet.io.io import DataBatch

    assert nd is mx.nd is hn.nd and mx.sym is hn.sym and mx.kv.KVStore is hn.kv.KVStore
    assert nn is hn.gluon.nn and HybridBlock is hn.gluon.HybridBlock
    assert Trainer is hn.gluon.Trainer and DataBatch is hn.io.DataBatch
    assert mxnet.ndarray.ndarray.NDArray is hn.nd.NDArray
    assert mx.gluon.nn.conv_layers.Conv2D is nn.Conv2D
    assert (mx.__version__, mx.libinfo.__version__) == ("1.9.1", "1.9.1")
    assert mx.__hybridnet_version__ == hn.__version__
    assert hn.gluon.__spec__.name == "hybridnet.gluon"
    assert {"nd", "gluon", "cpu"} <= set(dir(mx)) & set(mx.__all__)


@pytest.mark.parametrize("name", sorted(PLACES))
def test_mxnets_places_lead_somewhere_or_say_that_they_do_not(mx, name):
    around = name.rpartition(".")[0]
    home = importlib.import_module(f"hybridnet.{PLACES.get(around, around)}".rstrip("."))
    before = {key: value for key, value in vars(home).items() if inspect.isfunction(value)}
    try:
        module = importlib.import_module(f"mxnet.{name}")
    except ModuleNotFoundError as error:
        assert "hybridnet has no such module" in str(error)
    else:
        assert module.__name__.startswith("hybridnet.")
    if home.__name__ != "hybridnet.contrib.onnx2mx":  # where MXNet has modules, too
        after = {key: vars(home)[key] for key in before if key != "__getattr__"}
        assert after == {key: before[key] for key in after}


def test_a_module_of_mxnets_may_be_an_object_here(mx):
    import mxnet.symbol.numpy.random as random
    from mxnet.symbol.numpy.random import normal

    assert random.normal == normal == hn.sym.np.random.normal  # which Python has replaced
    assert isinstance(random.normal(size=(2,)), hn.sym.Symbol)


def test_missing_names_say_what_to_use(mx):
    with pytest.raises(NotSupportedError, match="rtc of MXNet is not supported.*extending.md"):
        _ = mx.rtc
    with pytest.raises(AttributeError, match="hybridnet.gluon has no function 'Blok'.*Block"):
        _ = mx.gluon.Blok
    assert not hasattr(mx, "nothing") and not hasattr(mx.gluon, "nothing")
    for line, said in (
        ("import mxnet.rtc", "rtc of MXNet is not supported"),
        ("from mxnet import tvmop", "tvmop of MXNet is not supported"),
        ("from mxnet import nothing", "mxnet.nothing: hybridnet has no such module or name"),
        ("from mxnet.base import _LIB", "base._LIB of MXNet is not supported"),
        ("from mxnet.gluon import nothing", "mxnet.gluon.nothing: hybridnet has no such"),
        ("from mxnet.metric import nothing", "mxnet.metric.nothing: hybridnet has no such"),
        ("from mxnet.ndarray.contrib import hawkesll", "nd.contrib.hawkesll of MXNet is not"),
        ("import mxnet.metric.nothing", "mxnet.metric.nothing: hybridnet has no such"),
    ):
        with pytest.raises(ImportError, match=said):
            exec(line)
    with pytest.raises(NotSupportedError, match="find_lib_path: hybridnet is Python on JAX"):
        mx.libinfo.find_lib_path()


def test_names_are_located_by_their_path(mx):
    assert pydoc.locate("mxnet.nd.array") is hn.nd.array
    assert pydoc.locate("mxnet.gluon.nn.Dense") is hn.gluon.nn.Dense
    assert pydoc.locate("mxnet.context.Context") is hn.Context
    # GluonTS writes the name of a context's class into files, from which MXNet makes it again.
    assert pydoc.locate(f"{hn.Context.__module__}.{hn.Context.__qualname__}") is hn.Context
    assert hn.Context.__module__ == "mxnet.context"
    pickled = pickle.dumps(hn.cpu(1))
    assert pickle.loads(pickled) is hn.cpu(1)
    alias.uninstall()
    assert hn.Context.__module__ == "hybridnet.base.context"
    assert pickle.loads(pickled) is hn.cpu(1)
    alias.install()
    with pytest.raises(ModuleNotFoundError, match=r"mxnet\.nd\.array is no module, but a name"):
        exec("import mxnet.nd.array")


def test_modules_hold_what_packages_import_from_them(mx):
    from mxnet.gluon.data.dataloader import ForkingPickler
    from mxnet.gluon.parameter import tensor_types
    from mxnet.metric import ndarray

    assert ForkingPickler is multiprocessing.reduction.ForkingPickler
    assert tensor_types == mx.gluon.tensor_types == (hn.sym.Symbol, hn.nd.NDArray)
    assert ndarray is hn.nd
    assert mx.contrib.amp.amp._amp_initialized is False
    dense = mx.gluon.nn.Dense(2, in_units=3)
    assert (dense._units, dense._in_units, dense._flatten) == (2, 3, True)
    assert mx.gluon.nn.Activation("relu")._act_type == "relu"
    assert mx.gluon.nn.Embedding(3, 2)._kwargs["input_dim"] == 3


def test_nested_arguments_are_written_down_as_mxnet_does(mx):
    x, y = hn.nd.ones((1,)), hn.sym.var("y")
    pair = hn.sym.split(y, num_outputs=2)
    flat, form = mx.gluon.block._flatten([x, (None, y), [pair]], "input")
    assert form == [0, [-1, 0], [2]] and flat[:2] == [x, None] and flat[2:] == [y, pair]
    again = mx.gluon.block._regroup([x, None, y, 1, 2], form)
    assert again[0] is x and again[1][0] is None and again[2] == [[1, 2]]
    with pytest.raises(ValueError, match="the input must be arrays, symbols, None.*got int"):
        mx.gluon.block._flatten([x, 3], "input")
    with pytest.raises(ValueError, match="None is expected here, got NDArray"):
        mx.gluon.block._regroup([x], [-1])


def test_names_can_be_set_and_installing_twice_changes_nothing(mx):
    mx.own = 3
    alias.install()
    assert sys.modules["mxnet"].own == 3 and not hasattr(hn, "own")


def test_pickles_name_modules_by_either_name(mx):
    scheduler = pickle.dumps(mx.lr_scheduler.FactorScheduler(3), 2)
    renamed = scheduler.replace(b"hybridnet.lr_scheduler", b"mxnet.lr_scheduler")
    assert renamed != scheduler
    assert pickle.load(io.BytesIO(renamed)).step == 3


def test_pickles_that_mxnet_made_are_read(mx):
    found = json.loads((ORACLE / "mxnet_states.json").read_text())["pickles"]
    made = {name: pickle.loads(base64.b64decode(text)) for name, text in found.items()}
    assert made["array"].asnumpy().tolist() == [[1, 2], [3, 4]]
    assert made["rows"].stype == "row_sparse" and made["rows"].asnumpy()[1].tolist() == [1, 2]
    assert made["symbol"].list_outputs() == ["act_output"]
    assert (made["optimizer"].lr, made["optimizer"].rescale_grad) == (0.25, 0.5)
    assert made["optimizer"]._index_update_count == {}


def test_modules_of_mxnets_have_what_others_hold_here(mx):
    from mxnet.ndarray.ndarray import arange, from_numpy
    from mxnet.numpy.multiarray import tensordot
    from mxnet.optimizer.optimizer import SGD
    from mxnet.symbol.symbol import Variable

    assert (arange, from_numpy, tensordot) == (hn.nd.arange, hn.nd.from_numpy, hn.np.tensordot)
    assert (SGD, Variable) == (hn.optimizer.SGD, hn.sym.Variable)
    with pytest.raises(ImportError):
        from mxnet.optimizer.optimizer import nothing  # noqa: F401


def test_modules_of_mxnets_are_there_without_being_imported():
    """MXNet has imported all of its modules: programs name them as attributes."""
    script = """
        from hybridnet.compat import mxnet as alias
        alias.install()
        import mxnet as mx
        assert mx.nd.op.relu is mx.ndarray.gen_op.relu is mx.nd.relu
        assert mx.gluon.nn.basic_layers.Dense is mx.gluon.nn.Dense
        assert mx.gluon.rnn.rnn_cell.LSTMCell is mx.gluon.rnn.LSTMCell
        assert mx.optimizer.optimizer.SGD is mx.optimizer.SGD
        assert mx.numpy.multiarray.zeros is mx.np.zeros
        print(hasattr(mx.gluon.nn, "no_layers"))
    """
    assert run_script(script) == "False\n"


def test_mxnet_itself_is_not_replaced_behind_its_back(monkeypatch):
    monkeypatch.setitem(sys.modules, "mxnet", type(sys)("mxnet"))
    with pytest.raises(hn.MXNetError, match="MXNet itself has been imported"):
        alias.install()


@pytest.fixture
def numpy_kept():
    modules = (np, np.lib, collections, fractions, inspect, time)
    before = [set(vars(module)) for module in modules]
    fromstring = np.fromstring
    yield
    np.fromstring = fromstring
    for module, names in zip(modules, before, strict=True):
        for name in set(vars(module)) - names:
            delattr(module, name)


# Where NumPy still has its own, these are about to go.
@pytest.mark.filterwarnings("ignore:.* deprecated:DeprecationWarning")
def test_numpys_old_names_mean_what_they_meant(numpy_kept):
    added = alias.restore_numpy_names()
    assert "float" in added and not {"sum", "bool_"} & set(added)
    assert np.float is float and np.int is int and np.product([2, 3]) == 6
    assert np.asscalar(np.array([3])) == 3 and np.asfarray([1, 2]).dtype == np.float64
    assert np.in1d([[1, 5]], [5]).tolist() == [False, True]
    assert np.msort(np.array([[2, 1], [1, 2]])).tolist() == [[1, 1], [2, 2]]
    assert np.trapz([0, 1, 2], dx=2) == 4
    assert np.fromstring(b"\1\2", np.uint8).tolist() == [1, 2]
    assert np.fromstring("1 2", sep=" ").tolist() == [1, 2]
    assert alias.restore_numpy_names() == []


def test_pythons_old_names_mean_what_they_meant(numpy_kept):
    added = alias.restore_python_names()
    assert "collections.Mapping" in added and "collections.OrderedDict" not in added
    assert isinstance({}, collections.Mapping) and fractions.gcd(4, 6) == 2
    assert time.clock() <= time.clock()
    spec = inspect.getargspec(lambda a, b=1, *c, **d: None)
    assert spec == (["a", "b"], "c", "d", (1,)) and spec.keywords == "d"
    with pytest.raises(ValueError, match="keyword-only"):
        inspect.getargspec(lambda *, a: a)
    assert alias.restore_python_names() == []


def test_notebooks_load_it_as_an_extension(numpy_kept):
    try:
        alias.load_ipython_extension(None)
        assert importlib.import_module("mxnet").nd is hn.nd
    finally:
        alias.uninstall()
