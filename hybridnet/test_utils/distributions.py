"""Checking that random numbers have the distribution they should have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import ParameterError

__all__ = [
    "chi_square_check",
    "gen_buckets_probs_with_ppf",
    "mean_check",
    "var_check",
    "verify_generator",
]

#: Returns as many random numbers as it is asked for, as an array or a list.
Generator = Callable[[int], Any]


def gen_buckets_probs_with_ppf(
    ppf: Callable[[float], float], nbuckets: int
) -> tuple[list[tuple[float, float]], list[float]]:
    """Cuts a distribution into ranges of equal probability.

    Args:
        ppf: the inverse of the cumulative distribution.
        nbuckets: how many ranges.

    Returns:
        The ranges (low, high), and their probabilities.
    """
    if nbuckets < 1:
        raise ParameterError(f"gen_buckets_probs_with_ppf: nbuckets must be >= 1, got {nbuckets}")
    edges = [ppf(index / nbuckets) for index in range(nbuckets + 1)]
    return list(pairwise(edges)), [1 / nbuckets] * nbuckets


def _draw(generator: Generator, count: int) -> NumpyArray:
    samples = generator(count)
    return np.asarray(samples.asnumpy() if hasattr(samples, "asnumpy") else samples)


def mean_check(generator: Generator, mu: float, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the mean of samples is within three standard errors of `mu`.

    Args:
        generator: draws the samples.
        mu: the distribution's mean.
        sigma: its standard deviation.
        nsamples: how many are drawn.
    """
    error = abs(float(_draw(generator, nsamples).astype(np.float64).mean()) - mu)
    return bool(error < 3 * sigma / np.sqrt(nsamples))


def var_check(generator: Generator, sigma: float, nsamples: int = 1000000) -> bool:
    """Whether the variance of samples is within three standard errors, of a normal distribution.

    Args:
        generator: draws the samples.
        sigma: the distribution's standard deviation.
        nsamples: how many are drawn.
    """
    variance = float(_draw(generator, nsamples).astype(np.float64).var(ddof=1))
    return bool(abs(variance - sigma**2) < 3 * np.sqrt(2 * sigma**4 / (nsamples - 1)))


def chi_square_check(
    generator: Generator,
    buckets: Sequence[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
) -> tuple[float, NumpyArray, NumpyArray]:
    """Compares how often samples fall into buckets with how often they should.

    Args:
        generator: draws the samples.
        buckets: ranges (low, high) in ascending order, without overlap; or the values themselves,
            for a discrete distribution.
        probs: the probability of each.
        nsamples: how many are drawn.

    Returns:
        p, the probability of such a difference or a larger one; the observed counts; the expected
        ones. The standard is to accept p > 0.05.

    Raises:
        ParameterError: there is not one probability for each bucket, or ranges overlap.
    """
    if len(buckets) != len(probs):
        raise ParameterError(
            f"chi_square_check: requires a probability for each bucket, got {len(buckets)} "
            f"buckets and {len(probs)} probabilities"
        )
    samples = _draw(generator, nsamples).reshape(-1)
    expected = nsamples * np.asarray(probs, np.float64)
    if isinstance(buckets[0], (tuple, list)):
        edges = np.asarray(buckets, np.float64).reshape(-1)
        if np.any(np.diff(edges) < 0):
            raise ParameterError(
                f"chi_square_check: ranges must ascend and not overlap, got {list(buckets)}"
            )
        # Even places are inside a range, odd ones between two.
        places = np.searchsorted(edges, samples, side="right") - 1
        observed = np.array([(places == 2 * index).sum() for index in range(len(buckets))])
    else:
        observed = np.array([(samples == value).sum() for value in buckets])
    statistic = float((((observed - expected) ** 2) / expected).sum())
    return _chi_square_tail(statistic, len(buckets) - 1), observed, expected


def _chi_square_tail(statistic: float, freedom: int) -> float:
    """Returns the probability that a chi-square variable exceeds a number."""
    from scipy.special import chdtrc  # only this check needs SciPy, which JAX brings

    return float(chdtrc(freedom, statistic))


def verify_generator(
    generator: Generator,
    buckets: Sequence[Any],
    probs: Sequence[float],
    nsamples: int = 1000000,
    nrepeat: int = 5,
    success_rate: float = 0.2,
    alpha: float = 0.05,
) -> list[float]:
    """Runs `chi_square_check` several times.

    Args:
        generator, buckets, probs, nsamples: as for `chi_square_check`.
        nrepeat: how many times.
        success_rate: the share of them that must have a p above `alpha`.
        alpha: see there.

    Returns:
        Each time's p.

    Raises:
        AssertionError: too few succeeded.
    """
    checks = [chi_square_check(generator, buckets, probs, nsamples) for _ in range(nrepeat)]
    found = [check[0] for check in checks]
    if sum(p > alpha for p in found) < nrepeat * success_rate:
        _, observed, expected = checks[-1]
        raise AssertionError(
            f"verify_generator: of {nrepeat} checks a share of {success_rate} must have "
            f"p > {alpha}, got p = {found}; the last time, buckets {list(buckets)} held "
            f"{observed.tolist()}, expected {expected.tolist()}"
        )
    return found
