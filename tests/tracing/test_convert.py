"""`hn.function(convert=...)`: control flow converted by a function of the user's."""

import itertools
import warnings

import pytest

import hybridnet as hn
from hybridnet import nd
from hybridnet.base.errors import MXNetError, ParameterError


def one(value):
    return nd.array([value])


def choosing(*names, then=None, other=None):
    """Returns a converter whatever the function: a choice on `x > 0`."""

    def convert(function, operators):
        def made(x):
            return operators.cond(x > 0, then, other, names)[0]

        return made

    return convert


def positive(x):
    return x if x > 0 else -x


def test_both_branches_are_traced_once():
    ran = itertools.count()

    def convert(function, operators):
        assert function is positive

        def made(x):
            def then():
                next(ran)
                return (x,)

            def other():
                next(ran)
                return (-x,)

            return operators.cond(x > 0, then, other, ["result"])[0]

        return made

    f = hn.function(positive, convert=convert)
    assert [float(f(one(x)).asscalar()) for x in (2, -3, 0, 4)] == [2, 3, 0, 4]
    assert next(ran) == 2
    assert f.cache_info().traces == 1


def test_python_decides_what_it_knows():
    def convert(function, operators):
        return lambda x: x + operators.cond(3 > 2, lambda: (1,), lambda: 1 / 0, ["n"])[0]

    assert hn.function(positive, convert=convert)(one(1)).asscalar() == 2


def test_functions_that_are_called_are_converted_too():
    asked = []

    def twice(x):
        return positive(x) if x.shape else x

    def convert(function, operators):
        asked.append(function.__name__)
        if function is twice:
            return lambda x: operators.call(positive, x) + operators.call(positive, x=x)
        return lambda x: operators.cond(x > 0, lambda: (x,), lambda: (-x,), ["y"])[0]

    assert hn.function(twice, convert=convert)(one(-2)).asscalar() == 4
    assert asked == ["twice", "positive"]


def test_blocks_of_the_users_are_converted_by_it():
    asked = []

    class Mine(hn.gluon.HybridBlock):
        def forward(self, x):
            if x.sum() > 0:
                return x
            return -x

    def convert(function, operators):
        asked.append(function.__name__)
        return lambda self, x: operators.cond(
            x.sum() > 0, lambda: (x,), lambda: (-x,), ["the result"]
        )[0]

    net = Mine()
    f = hn.function(
        lambda x: net(x), convert=lambda g, o: g if "lambda" in g.__name__ else convert(g, o)
    )
    assert f(one(-2)).asscalar() == 2
    assert asked == ["forward"]


def test_a_function_inside_has_its_own_way():
    inner = hn.function(positive)

    def outer(x):
        return inner(x) if x.shape else x

    f = hn.function(outer, convert=lambda function, operators: function)
    assert f(one(-5)).asscalar() == 5


@pytest.mark.parametrize(
    ("convert", "says"),
    [
        (lambda f, o: None, "convert must return a function for positive .*got None"),
        (lambda f, o: dict, "convert must return a function"),
        (choosing("a", then=lambda: 1, other=lambda: 2), "then must return a tuple with a value"),
        (choosing("a", "b", then=lambda: (1,), other=lambda: 2), r"\('a', 'b'\), got a tuple of 1"),
        (lambda f, o: lambda x: o.cond(x > 0, positive, positive, "ab"), "must be names"),
        (choosing("z", then=lambda: (None,), other=lambda: (1,)), "variable 'z' is None after"),
        (lambda f, o: f, "cannot be read there"),
    ],
)
def test_a_wrong_answer_is_told(convert, says):
    with pytest.raises(MXNetError, match=says):
        hn.function(positive, convert=convert)(one(1))


@pytest.mark.parametrize(
    "use",
    [
        lambda a: a + one(1),
        lambda a: one(1) - a,
        lambda a: 1 * a,
        lambda a: a < 2,
        lambda a: nd.relu(a),
        lambda a: a,
        lambda a: [one(1), {"k": a}],
        bool,
        lambda a: a[0],
        lambda a: a.shape,
        lambda a: a(),
    ],
)
@pytest.mark.parametrize("is_chosen", [False, True])
def test_what_has_no_value_says_so(use, is_chosen):
    def convert(function, operators):
        def made(x):
            a = operators.undefined("a")
            if is_chosen:
                (a,) = operators.cond(x > 0, lambda: (x,), lambda: (a,), ["a"])
            return use(a)

        return made

    with pytest.raises(UnboundLocalError, match="variable 'a'"):
        hn.function(positive, convert=convert)(one(1))


def test_what_a_branch_does_to_a_list_is_seen_through_its_defaults():
    def convert(function, operators):
        def made(x):
            kept = [x]

            def then(kept=kept):
                kept[0] = x + 10
                return ()

            operators.cond(x > 0, then, lambda: (), [])
            return kept[0]

        return made

    f = hn.function(positive, convert=convert)
    assert [float(f(one(x)).asscalar()) for x in (1, -1)] == [11, -1]


def test_what_cannot_be_converted_is_traced_as_it_is():
    def convert(function, operators):
        raise NotImplementedError("I know no conditional expressions")

    def mean(x):
        return x.mean() if x.ndim else x

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert hn.function(mean, convert=convert)(one(3)).asscalar() == 3
    assert ["I know no conditional expressions" in str(w.message) for w in told] == [True]


def test_an_error_of_the_converter_is_the_users():
    def convert(function, operators):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        hn.function(positive, convert=convert)(one(1))


@pytest.mark.parametrize("options", [{"convert": 3}, {"convert": positive, "autograph": False}])
def test_arguments_that_do_not_fit(options):
    with pytest.raises(
        ParameterError, match="convert must be a function, and autograph not be off"
    ):
        hn.function(positive, **options)
