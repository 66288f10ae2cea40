"""Operators of users: their functions are where their names say, and no name is taken twice."""

import inspect
import threading

import numpy as np
import pytest
from helpers import assert_gradient, run_script

import hybridnet as hn
from hybridnet import autograd, gluon, nd, npx, sym
from hybridnet import numpy as mnp
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.ops.core import registry
from hybridnet.ops.core.registry import REGISTRY, get, operator

NUMBERS = np.array([[-3, 0.5], [9, 0]], "float32")


@pytest.fixture(autouse=True)
def _forget():
    """Takes out what a test has registered: other tests look at all operators."""
    before = set(REGISTRY)
    yield
    for name in set(REGISTRY) - before:
        del REGISTRY[name]
        for space in registry.namespaces:
            public = registry.public_name(name, space.prefix)
            if public in space.operators:
                del space.operators[public]
                space._module.pop(public, None)
                space._module["__all__"].remove(public)


def register(name="soft_clip", **options):
    @operator(name, **options)
    def soft_clip(data, *, limit: float = 1.0):
        """A smooth limit.

        Args:
            data: any shape, floating.
            limit: what the magnitude of the result stays below.
        """
        from jax import numpy as jnp

        return limit * jnp.tanh(data / limit)

    return soft_clip


def expected(limit=1.0):
    return limit * np.tanh(NUMBERS / limit)


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-5)


def test_arrays_symbols_blocks_and_functions_have_it():
    register()
    x = nd.array(NUMBERS)
    close(nd.soft_clip(x, limit=2.0).asnumpy(), expected(2.0))
    close(nd.soft_clip(data=x).asnumpy(), expected())
    out = nd.empty((2, 2))
    nd.soft_clip(x, 2.0, out=out)
    close(out.asnumpy(), expected(2.0))
    symbol = sym.soft_clip(sym.var("x"), limit=2.0)
    assert symbol.name.startswith("soft_clip")
    close(symbol.eval(x=x)[0].asnumpy(), expected(2.0))
    close(sym.load_json(symbol.tojson()).eval(x=x)[0].asnumpy(), expected(2.0))
    net = gluon.nn.HybridLambda(lambda F, x: F.soft_clip(x, limit=2.0))
    close(net(x).asnumpy(), expected(2.0))
    net.hybridize()
    close(net(x).asnumpy(), expected(2.0))
    close(hn.function(lambda x: nd.soft_clip(x, limit=2.0))(x).asnumpy(), expected(2.0))


def test_it_has_a_gradient():
    register()
    x = nd.array(NUMBERS)
    x.attach_grad()
    with autograd.record():
        y = nd.soft_clip(x, limit=2.0)
    y.backward()
    close(x.grad.asnumpy(), 1 - np.tanh(NUMBERS / 2) ** 2)
    assert_gradient("soft_clip", NUMBERS.astype("float64") / 4, limit=2.0)


def test_help_says_of_it_what_it_says_of_others():
    register()
    of_symbols = "(data=None, limit=1.0, *, out=None, name=None, attr=None)"
    taken = {nd.soft_clip: "(data, limit=1.0, *, out=None, name=None)", sym.soft_clip: of_symbols}
    for function, signature in taken.items():
        assert str(inspect.signature(function)) == signature
        assert function.__name__ == "soft_clip"
        assert function.__doc__.startswith("A smooth limit.\n\nArgs:\n    data: any shape")
        assert "limit (a number, default 1.0): what the magnitude" in function.__doc__
    assert nd.soft_clip is nd.soft_clip  # made once
    for module in (nd, sym):
        assert "soft_clip" in dir(module) and "soft_clip" in module.__all__


def test_the_beginning_of_a_name_says_where_it_is():
    """No underscore: nd and sym. Only what was asked for is in np and npx."""
    names = ["clip1", "_contrib_clip2", "_linalg_clip3", "_image_clip4", "_npx_clip5", "_np_clip6"]
    register(names[0], aliases=names[1:])
    places = {
        "clip1": (nd, sym),
        "clip2": (nd.contrib, sym.contrib),
        "clip3": (nd.linalg, sym.linalg),
        "clip4": (nd.image, sym.image, npx.image),
        "clip5": (npx,),
        "clip6": (mnp, sym.np),
    }
    spaces = {place for found in places.values() for place in found}
    for name, wanted in places.items():
        assert {place for place in spaces if hasattr(place, name)} == set(wanted)
    for name in ("clip5", "clip6"):
        (place, *_) = places[name]
        assert name in dir(place) and name in place.__all__
    close(nd.contrib.clip2(nd.array(NUMBERS), limit=2.0).asnumpy(), expected(2.0))
    made = npx.clip5(mnp.array(NUMBERS), limit=2.0)
    assert type(made) is mnp.ndarray
    close(made.asnumpy(), expected(2.0))
    close(mnp.clip6(NUMBERS.tolist()).asnumpy(), expected())
    symbol = sym.np.clip6(sym.var("x").as_np_ndarray(), limit=2.0)
    close(symbol.eval(x=mnp.array(NUMBERS))[0].asnumpy(), expected(2.0))
    assert str(inspect.signature(npx.clip5)) == "(data, limit=1.0, *, out=None, name=None)"


def test_a_name_that_begins_with_an_underscore_and_no_place_has_none():
    register("_hidden_clip")
    assert not hasattr(nd, "_hidden_clip") and not hasattr(sym, "_hidden_clip")
    close(nd._internal._hidden_clip(nd.array(NUMBERS)).asnumpy(), expected())


def test_several_outputs_and_states():
    @operator("halves_of", outputs=2, no_gradient="it is here to be counted")
    def halves_of(data):
        """The data halved, and what is left."""
        return data / 2, data - data / 2

    one, other = nd.halves_of(nd.array(NUMBERS))
    close(one.asnumpy(), NUMBERS / 2)
    close(other.asnumpy(), NUMBERS / 2)
    assert len(sym.halves_of(sym.var("x")).list_outputs()) == 2


def test_wrong_arguments_are_refused_as_by_others():
    register()
    with pytest.raises(ParameterError, match=r"soft_clip.*limit"):
        nd.soft_clip(nd.ones((2,)), limt=2.0)
    with pytest.raises((MXNetError, ShapeError), match="soft_clip"):
        nd.soft_clip()


# -- names that are taken ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("relu", "operator 'relu' is already registered"),
        ("waitall", "operator 'waitall': there is a nd.waitall already"),  # by hand
        ("contrib", "operator 'contrib': there is a nd.contrib already"),  # a module
        ("CachedOp", "operator 'CachedOp': there is a nd.CachedOp already"),  # loaded when used
        ("Group", "operator 'Group': there is a sym.Group already"),
        ("_contrib_isnan", "operator '_contrib_isnan': there is a nd.contrib.isnan already"),
        ("_np_sin", "operator '_np_sin': there is a np.sin already"),
        ("_np_pi", "operator '_np_pi': there is a np.pi already"),
        ("_npx_set_np", "operator '_npx_set_np': there is a npx.set_np already"),
    ],
)
def test_a_name_that_is_there_is_refused_and_nothing_is_registered(name, said):
    before = set(REGISTRY)
    with pytest.raises(MXNetError, match=said + ".*choose another name"):
        register(name)
    with pytest.raises(MXNetError, match=said):
        register("soft_clip", aliases=["_contrib_soft_clip", name])
    assert set(REGISTRY) == before
    assert not hasattr(nd, "soft_clip") and not hasattr(nd.contrib, "soft_clip")


def test_a_name_is_taken_by_the_first():
    register()
    row = get("soft_clip")
    with pytest.raises(MXNetError, match="operator 'soft_clip' is already registered"):
        register()
    with pytest.raises(MXNetError, match="operator 'other' is already registered"):
        register("other", aliases=["other"])
    assert get("soft_clip") is row and "other" not in REGISTRY


def test_a_name_of_mxnet_that_is_not_supported_can_be_given():
    assert not hasattr(nd, "imdecode")
    register("imdecode")
    close(nd.imdecode(nd.array(NUMBERS)).asnumpy(), expected())


def test_of_threads_that_register_one_name_one_does():
    done, refused = [], []
    start = threading.Barrier(8)

    def add():
        start.wait()
        try:
            register("raced", aliases=["_npx_raced"])
            done.append(1)
        except MXNetError:
            refused.append(1)

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(done), len(refused)) == (1, 7)
    assert nd.__all__.count("raced") == npx.__all__.count("raced") == 1
    close(npx.raced(mnp.array(NUMBERS)).asnumpy(), expected())


def test_it_may_be_registered_before_anything_else_is_loaded():
    printed = run_script(
        """
        from hybridnet.ops.core.registry import operator

        @operator("negated", aliases=["_np_negated"])
        def negated(data):
            '''The data with its sign changed.'''
            return -data

        try:
            operator("_npx_relu6")(lambda data: data)
            operator("zeros")(lambda data: data)
        except Exception as error:
            print(error)
        from hybridnet import nd, np, npx, sym
        print(nd.negated(nd.array([2.0])).asnumpy(), np.negated(np.array([3.0])).asnumpy())
        print(sym.negated(sym.var("x")).list_arguments(), npx.relu6.__name__)
        """
    )
    assert printed.splitlines() == [
        "operator 'zeros': there is a nd.zeros already; choose another name",
        "[-2.] [-3.]",
        "['x'] relu6",
    ]
