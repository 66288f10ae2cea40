"""Random operators: their distributions, their order, and what they leave alone.

Seeds are fixed, so that a test of a distribution passes or fails for good. The limits of the tests
are those that a right generator would miss once in a thousand seeds.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest
from helpers import run_call, run_gradient, run_op
from scipy import stats

import hybridnet as hn
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.ops.core.registry import get
from hybridnet.ops.random.state import (
    initial_state,
    keep_mask,
    next_key,
    normals,
    uniforms,
)

_COUNT = 20000
_LEAST = 1e-3  # the least p-value that counts as agreement

# Operator, parameters, and the distribution that SciPy gives them.
_CONTINUOUS = [
    ("uniform", {"low": -1, "high": 3}, stats.uniform(-1, 4)),
    ("normal", {"loc": 2, "scale": 0.5}, stats.norm(2, 0.5)),
    ("exponential", {"lam": 4}, stats.expon(0, 0.25)),
    ("gamma", {"alpha": 2, "beta": 3}, stats.gamma(2, 0, 3)),
    ("gamma", {"alpha": 0.3, "beta": 1}, stats.gamma(0.3)),
]
_COUNTS = [
    ("poisson", {"lam": 3}, stats.poisson(3)),
    ("poisson", {"lam": 40}, stats.poisson(40)),
    ("negative_binomial", {"k": 3, "p": 0.4}, stats.nbinom(3, 0.4)),
    (
        "generalized_negative_binomial",
        {"mu": 2, "alpha": 0.3},
        stats.nbinom(1 / 0.3, 1 / (1 + 0.3 * 2)),
    ),
    ("generalized_negative_binomial", {"mu": 2, "alpha": 0}, stats.poisson(2)),
]


def _ids(cases):
    return [f"{name}-{params}" for name, params, _ in cases]


def _chi_square(samples, distribution):
    """The p-value of whole numbers; rare ones are taken together."""
    values = np.arange(int(samples.max()) + 2)
    expected = distribution.pmf(values) * samples.size
    counts = np.bincount(samples.astype(int), minlength=values.size)[: values.size]
    common = expected >= 5
    expected = np.append(expected[common], samples.size - expected[common].sum())
    counts = np.append(counts[common], samples.size - counts[common].sum())
    return stats.chisquare(counts, expected).pvalue


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "params", "distribution"), _CONTINUOUS, ids=_ids(_CONTINUOUS))
def test_continuous_distributions(name, params, distribution, dtype):
    samples, state = run_op(f"_random_{name}", shape=(_COUNT,), dtype=dtype, seed=1, **params)
    assert samples.dtype == dtype
    assert stats.kstest(samples, distribution.cdf).pvalue > _LEAST
    np.testing.assert_array_equal(state, [0, 1, 1])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "params", "distribution"), _COUNTS, ids=_ids(_COUNTS))
def test_distributions_of_counts(name, params, distribution):
    samples, _ = run_op(f"_random_{name}", shape=(_COUNT,), seed=2, **params)
    assert samples.dtype == np.float32
    assert _chi_square(samples, distribution) > _LEAST


@pytest.mark.parametrize(
    ("name", "params", "distribution"),
    [*_CONTINUOUS[:2], _COUNTS[0]],
    ids=_ids([*_CONTINUOUS[:2], _COUNTS[0]]),
)
def test_each_pair_of_parameters_gets_its_own_samples(name, params, distribution):
    arrays = [np.array([value, value + 1], "float32") for value in params.values()]
    samples, _ = run_op(f"_sample_{name}", *arrays, shape=(50, 100))
    assert (samples.shape, samples.dtype) == ((2, 50, 100), np.float32)
    other = distribution.dist.name
    shifted = {"uniform": stats.uniform(0, 4), "norm": stats.norm(3, 1.5)}.get(
        other, stats.poisson(4)
    )
    for part, wanted in zip(samples, (distribution, shifted), strict=True):
        # Six standard deviations of the mean.
        assert abs(part.mean() - wanted.mean()) < 6 * wanted.std() / np.sqrt(part.size)


def test_samples_like_an_array_have_its_type():
    like = np.zeros((3, 5), "float16")
    (samples, _) = run_op("_random_normal_like", like, loc=100, scale=0.1)
    assert (samples.shape, samples.dtype) == ((3, 5), np.float16)
    assert abs(samples.mean() - 100) < 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_uniforms_never_reach_one(dtype):
    samples, _ = run_op("_random_uniform", shape=(200000,), dtype=dtype)
    samples = samples.astype("float64")
    assert samples.min() >= 0
    assert samples.max() < 1
    assert abs(samples.mean() - 0.5) < 0.005


@pytest.mark.parametrize("seed", [0, 1, -1, 2**63 + 5, -(2**40)])
def test_any_integer_is_a_seed(seed):
    state = initial_state(seed)
    assert (state.shape, state.dtype) == ((3,), np.uint32)
    assert int(state[0]) << 32 | int(state[1]) == seed % 2**64


def test_draws_follow_from_seed_and_order_alone():
    first, state = run_op("_random_normal", shape=(5,), seed=7)
    call, scalars = get("_random_normal").bind({"shape": (5,)})
    second, _ = run_call(call, [state], scalars)
    assert not np.intersect1d(first, second).size
    again, _ = run_op("_random_normal", shape=(5,), seed=7)
    np.testing.assert_array_equal(first, again)
    other, _ = run_op("_random_normal", shape=(5,), seed=8)
    assert not np.intersect1d(first, other).size


@pytest.mark.slow
def test_draws_do_not_depend_on_the_users_jax_configuration():
    names = ("_random_negative_binomial", "_random_normal", "_random_randint")
    attrs = {
        "_random_negative_binomial": {"k": 30, "p": 0.1},
        "_random_randint": {"low": 0, "high": 10**6},
    }

    def draw():
        return [run_op(name, shape=(4,), **attrs.get(name, {}))[0] for name in names]

    wanted = draw()
    with jax.threefry_partitionable(False), jax.default_prng_impl("rbg"):
        got = draw()
    np.testing.assert_array_equal(got, wanted)


def test_draws_that_follow_each_other_are_not_correlated():
    @jax.jit
    def draw(state):
        pairs = []
        for _ in range(2):
            key, state = next_key(state)
            pairs += [uniforms(key, (_COUNT,), np.float32)]
            key, state = next_key(state)
            pairs += [normals(key, (_COUNT,), np.float64), keep_mask(key, (_COUNT,), 0.3)]
        return pairs

    with jax.enable_x64(True):
        series = [np.asarray(one, "float64") for one in draw(initial_state(3))]
    # Normals and masks of one key share its bits, and draws of one operator never do.
    apart = [series[i] for i in (0, 1, 3, 5)]
    correlation = np.corrcoef([*apart, *(np.roll(one, 1) for one in apart)])
    assert abs(correlation - np.eye(8)).max() < 4.5 / np.sqrt(_COUNT)


@pytest.mark.parametrize("keep", [0.0, 1e-4, 0.3, 0.5, 1 - 1e-4, 1.0])
def test_masks_keep_their_share(keep):
    count = 10**6 + 1
    with jax.enable_x64(True):
        mask = np.asarray(keep_mask(next_key(initial_state(4))[0], (count,), keep))
    assert mask.dtype == bool
    error = 4 * np.sqrt(keep * (1 - keep) / count) + 2**-17
    assert abs(mask.mean() - keep) <= error * (0 < keep < 1)


# Choices ----------------------------------------------------------------------------------------


def test_whole_numbers_are_equally_likely():
    samples, _ = run_op("_random_randint", low=-3, high=4, shape=(_COUNT,))
    assert samples.dtype == np.int32
    assert stats.chisquare(np.bincount(samples + 3, minlength=7)).pvalue > _LEAST
    wide, _ = run_op("_random_randint", low=-(2**40), high=2**40, shape=(1000,), dtype="int64")
    assert stats.kstest(wide / 2**41 + 0.5, "uniform").pvalue > _LEAST


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_categories_follow_their_probabilities(dtype):
    data = np.array([[0, 0.25, 0.75, 0], [0.5, 0, 0, 0.5]], dtype)
    samples, logarithms, _ = run_op("_sample_multinomial", data, shape=(_COUNT,), get_prob=True)
    assert (samples.shape, samples.dtype) == ((2, _COUNT), np.int32)
    for row, wanted in zip(samples, data.astype("float64"), strict=True):
        counts = np.bincount(row, minlength=4)
        assert not counts[wanted == 0].any()
        some = wanted > 0
        assert stats.chisquare(counts[some], wanted[some] * _COUNT).pvalue > _LEAST
    np.testing.assert_allclose(logarithms, np.log(np.take_along_axis(data, samples, 1)))


def test_gradient_of_categories_is_that_of_the_logarithm():
    data, heads = np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0]]), np.arange(8.0).reshape(2, 4)
    samples, _, _ = run_op("_sample_multinomial", data, shape=4, get_prob=True)
    gradient, _ = run_gradient(
        "_sample_multinomial", data, heads=[None, heads], shape=4, get_prob=True
    )
    wanted = np.zeros_like(data)
    for row, column in np.ndindex(2, 4):
        chosen = samples[row, column]
        wanted[row, chosen] += heads[row, column] / data[row, chosen]
    np.testing.assert_allclose(gradient, wanted)


def test_shapes_of_category_samples():
    shapes = {
        ((3,), ()): (1,),
        ((3,), (2, 3)): (2, 3),
        ((2, 3), ()): (2,),
        ((2, 5, 3), (4,)): (2, 5, 4),
    }
    for (data, shape), wanted in shapes.items():
        samples, _ = run_op("_sample_multinomial", np.full(data, 1 / 3), shape=shape)
        assert samples.shape == wanted


def test_shuffled_rows_are_a_permutation():
    data = np.arange(400).reshape(200, 2)
    shuffled, _ = run_op("_shuffle", data)
    np.testing.assert_array_equal(shuffled[:, 0] + 1, shuffled[:, 1])
    np.testing.assert_array_equal(np.sort(shuffled[:, 0]), data[:, 0])
    assert (shuffled != data).any()


def test_every_order_is_as_likely():
    with jax.enable_x64(True):
        call, _ = get("_shuffle").bind({})

        @jax.jit
        def orders(states):
            rows = jax.numpy.arange(3)
            return jax.vmap(lambda state: call.lower("cpu", [rows, state], [])[0])(states)

        states = np.stack([initial_state(seed) for seed in range(6000)])
        codes = np.asarray(orders(states)) @ [9, 3, 1]
    _, counts = np.unique(codes, return_counts=True)
    assert counts.size == 6
    assert stats.chisquare(counts).pvalue > _LEAST


# Refusals and recording -------------------------------------------------------------------------


def test_random_operators_refuse():
    with pytest.raises(DTypeError, match="_random_normal: dtype must be floating point, got int32"):
        run_op("_random_normal", shape=(2,), dtype="int32")
    with pytest.raises(DTypeError, match="_random_randint: dtype must be int32 or int64"):
        run_op("_random_randint", low=0, high=2, dtype="float32")
    with pytest.raises(ParameterError, match=r"_random_randint: parameter low .* is required"):
        get("_random_randint").bind({"high": 3})
    with pytest.raises(
        ShapeError, match=r"mu and sigma must have equal shapes, got mu float32\[2\]"
    ):
        run_op("_sample_normal", np.zeros(2, "float32"), np.ones(3, "float32"))


def test_recorded_draws_are_reproducible():
    def draw():
        hn.random.seed(5)
        return [
            hn.nd.random.normal(shape=(3,)).asnumpy(),
            hn.nd.random.uniform(shape=(3,)).asnumpy(),
            hn.nd.shuffle(hn.nd.arange(8)).asnumpy(),
        ]

    for one, other in zip(draw(), draw(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.05, 10, 79, 81, 1e4])
def test_counts_of_any_rate_are_poissons(rate):
    samples = run_op("_random_poisson", lam=rate, shape=(_COUNT,), dtype="float64")[0]
    assert _chi_square(samples, stats.poisson(rate)) > _LEAST


def test_counts_of_many_rates_at_once():
    rates = np.array([0, 0.5, 30, 300, np.inf, np.nan, -1])
    samples = run_op("_sample_poisson", rates, shape=(_COUNT,), dtype="float64")[0]
    assert not samples[0].any()
    for row, rate in zip(samples[1:4], rates[1:4], strict=True):
        assert _chi_square(row, stats.poisson(rate)) > _LEAST
    assert np.isposinf(samples[4]).all()
    assert np.isnan(samples[5:]).all()


@pytest.mark.parametrize(("low", "high"), [(-7, 4), (0, 1), (2**40, 2**40 + 3), (-(2**63), 2**62)])
def test_whole_numbers_are_within_their_limits(low, high):
    samples = run_op("_npi_random_randint", low=low, high=high, size=(_COUNT,))[0]
    assert samples.dtype == np.int64
    assert samples.min() >= low
    assert samples.max() < high
    if high - low > 2**60:  # thirds of so many are as likely
        thirds = [3 * (number - low) // (high - low) for number in samples.tolist()]
        assert stats.chisquare(np.bincount(thirds)).pvalue > _LEAST


@pytest.mark.parametrize(("range_max", "shape"), [(1000, (3, 40)), (5, (2, 5)), (10**9, (1, 4))])
def test_unique_classes_are_told_with_the_number_of_draws(range_max, shape):
    classes, tries = run_op("_sample_unique_zipfian", range_max=range_max, shape=shape)[:2]
    assert classes.shape == shape
    assert classes.dtype == tries.dtype == np.int64
    assert classes.min() >= 0
    assert classes.max() < range_max
    for row, count in zip(classes, tries, strict=True):
        assert len(set(row.tolist())) == shape[1]
        assert count >= shape[1]


def test_unique_classes_follow_zipfs_law():
    classes, tries = run_op("_sample_unique_zipfian", range_max=20, shape=(4000, 1))[:2]
    assert (tries == 1).all()
    numbers = np.arange(20)
    chances = np.log((numbers + 2) / (numbers + 1)) / np.log(21)
    found = np.bincount(classes.reshape(-1), minlength=20)
    assert stats.chisquare(found, chances * 4000).pvalue > _LEAST


def test_more_classes_than_there_are_cannot_differ():
    with pytest.raises(ParameterError, match="of 3 classes no 4 different ones"):
        run_op("_sample_unique_zipfian", range_max=3, shape=(1, 4))
