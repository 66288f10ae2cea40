"""Losses over a few classes of many: ``tf.nn.nce_loss``, ``tf.nn.sampled_softmax_loss``.

Classes are drawn on the host, since how many draws it takes until enough are different only a run
tells: a program is cut there. The numbers are not TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet.engine import RLock

from ...dtypes import float32, int64
from ...graph import Tensor, convert_to_tensor, get_default_graph, name_scope, stop_gradient
from .. import concat, expand_dims, host_call, matmul, reduce_any, reduce_sum, reshape
from ..creation import ones_like, zeros_like
from ..elementwise import add, cast, divide, equal, log, multiply, subtract
from ..gathering import embedding_lookup
from .entropy import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits_v2

__all__ = [
    "all_candidate_sampler", "fixed_unigram_candidate_sampler", "log_uniform_candidate_sampler",
    "nce_loss", "sampled_softmax_loss", "uniform_candidate_sampler",
]  # fmt: skip

Array = np.ndarray[Any, Any]
#: What makes a score that counts for nothing.
_LEAST: Final = float(np.finfo(np.float32).min)


class Candidates(NamedTuple):
    """Classes that were drawn.

    Attributes:
        sampled_candidates: (num_sampled,) int64, which.
        true_expected_count: (batch, num_true), how often each true class would be among them.
        sampled_expected_count: (num_sampled,), how often each of them would.
    """

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


def _sampler(
    kind: str,
    draw: Callable[[np.random.Generator, int], Array],
    chance: Callable[[Array], Array],
    true_classes: Any,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None,
    name: str | None,
) -> Candidates:
    """Adds the Operation that draws classes.

    Args:
        kind: its type.
        draw: returns so many classes.
        chance: returns how probable classes are in one draw.
        true_classes, num_sampled, unique, range_max, seed, name: of the sampler.
    """
    if unique and num_sampled > range_max:
        raise ValueError(
            f"{kind}: {num_sampled} different classes cannot be drawn of {range_max} (range_max)"
        )
    wanted = get_default_graph().seed if seed is None else seed
    random, lock = np.random.default_rng(wanted), RLock()

    def drawn(true: Array) -> list[Array]:
        with lock:
            found, tries = _drawn(random, draw, num_sampled, unique)
        if tries > num_sampled:
            counts = [-np.expm1(tries * np.log1p(-chance(one))) for one in (true, found)]
        else:
            counts = [num_sampled * chance(one) for one in (true, found)]
        return [found, *(one.astype(np.float32) for one in counts)]

    true = convert_to_tensor(true_classes, int64, name="true_classes")
    dims = [(num_sampled,), true.shape._dims, (num_sampled,)]
    made = host_call(kind, drawn, [true], [int64, float32, float32], dims, name=name)
    return Candidates(*made)


def _drawn(
    random: np.random.Generator,
    draw: Callable[[np.random.Generator, int], Array],
    count: int,
    unique: bool,
) -> tuple[Array, int]:
    """Returns classes in the order in which they came, and how many draws it took."""
    if not unique:
        return draw(random, count), count
    found: dict[int, None] = {}
    tries = 0
    while True:
        for one in draw(random, count).tolist():
            tries += 1
            found[one] = None
            if len(found) == count:
                return np.array(list(found), np.int64), tries


def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Draws classes that are all as probable.

    Args:
        true_classes: (batch, num_true) int64.
        num_true: how many true classes each example has.
        num_sampled: how many classes to draw.
        unique: whether they must be different.
        range_max: how many classes there are.
        seed: where the random numbers begin; default where the graph's do.

    Raises:
        ValueError: there are not so many different classes.
    """
    return _sampler(
        "UniformCandidateSampler",
        lambda random, count: random.integers(range_max, size=count),
        lambda ids: np.full(ids.shape, 1 / range_max),
        true_classes, num_sampled, unique, range_max, seed, name,
    )  # fmt: skip


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Draws classes by Zipf's law: class k by (log(k + 2) - log(k + 1)) / log(range_max + 1).

    Arguments and errors are those of `uniform_candidate_sampler`. Classes must be in the order of
    how frequent they are, the most frequent one first.
    """
    total = np.log(range_max + 1)

    def draw(random: np.random.Generator, count: int) -> Array:
        made: Array = np.exp(random.random(count) * total).astype(np.int64) - 1
        made[made >= range_max] = range_max - 1  # by rounding
        return made

    return _sampler(
        "LogUniformCandidateSampler",
        draw,
        lambda ids: np.log1p(1 / (ids + 1.0)) / total,
        true_classes, num_sampled, unique, range_max, seed, name,
    )  # fmt: skip


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    vocab_file: str = "",
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
    num_shards: int = 1,
    shard: int = 0,
    unigrams: Any = (),
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Draws classes, each with a probability in proportion to its weight.

    Args:
        true_classes, num_true, num_sampled, unique, range_max, seed, name: see
            `uniform_candidate_sampler`.
        vocab_file: a file with a line for each class, which ends with a comma and the weight. Give
            either this or `unigrams`.
        unigrams: the weights.
        distortion: the weights are raised to this power first.
        num_reserved_ids: this many classes, of weight 0, come before those that have weights.
        num_shards: must be 1; classes cannot be divided among several samplers here.
        shard: ignored, like `num_shards`.

    Raises:
        ValueError: there are not as many weights as classes, or the weights are missing.
    """
    if bool(vocab_file) == bool(len(unigrams)):
        raise ValueError("Must provide exactly one of vocab_file and unigrams")
    if num_shards != 1:
        raise ValueError("fixed_unigram_candidate_sampler: classes cannot be split (num_shards)")
    if vocab_file:
        with open(vocab_file, encoding="utf-8") as file:
            unigrams = [float(line.rpartition(",")[2]) for line in file if line.strip()]
    weights = np.array([*[0.0] * num_reserved_ids, *np.power(unigrams, distortion)])
    if len(weights) != range_max:
        raise ValueError(
            f"range_max is {range_max} but there are {len(weights)} weights, reserved ids included"
        )
    chances = weights / weights.sum()
    if unique and num_sampled > np.count_nonzero(chances):
        raise ValueError("fixed_unigram_candidate_sampler: too few classes have a weight")
    return _sampler(
        "FixedUnigramCandidateSampler",
        lambda random, count: random.choice(range_max, size=count, p=chances),
        lambda ids: chances[ids],
        true_classes, num_sampled, unique, range_max, seed, name,
    )  # fmt: skip


def all_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    seed: int | None = None,
    name: str | None = None,
) -> Candidates:
    """Gives all classes, 0 to `num_sampled` - 1; arguments as `uniform_candidate_sampler`."""
    return _sampler(
        "AllCandidateSampler",
        lambda random, count: np.arange(count),
        lambda ids: np.full(ids.shape, 1 / num_sampled),  # each is drawn once
        true_classes, num_sampled, False, num_sampled, seed, name,
    )  # fmt: skip


# Losses -------------------------------------------------------------------------------------------


def _sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    seed: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns scores of true and drawn classes, less the logarithm of their counts, and labels."""
    true_ids = convert_to_tensor(labels)
    true_ids = true_ids if true_ids.dtype.base_dtype is int64 else cast(true_ids, int64)
    states = convert_to_tensor(inputs, name="inputs")
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(
            true_ids, num_true, num_sampled, True, num_classes, seed
        )
    drawn, true_count, drawn_count = (stop_gradient(one) for one in sampled_values)
    flat = reshape(true_ids, [-1])
    ids = concat([flat, drawn], 0)
    rows = embedding_lookup(weights, ids, partition_strategy)
    offsets = embedding_lookup(biases, ids, partition_strategy)
    count, size = int(drawn.shape[0].value or num_sampled), rows.shape[1].value
    true_rows, drawn_rows = _parted(rows, flat, count)
    true_offsets, drawn_offsets = _parted(offsets, flat, count)
    each = reshape(true_rows, [-1, num_true, size])
    true = reduce_sum(multiply(expand_dims(states, 1), each), 2)
    true = add(true, reshape(true_offsets, [-1, num_true]))
    other = add(matmul(states, drawn_rows, transpose_b=True), drawn_offsets)
    if remove_accidental_hits:
        hits = reduce_any(equal(expand_dims(true_ids, 2), reshape(drawn, [1, 1, -1])), 1)
        other = add(other, multiply(cast(hits, other.dtype), _LEAST))
    true = subtract(true, log(cast(true_count, true.dtype)))
    other = subtract(other, log(cast(drawn_count, other.dtype)))
    wanted = concat([divide(ones_like(true), float(num_true)), zeros_like(other)], 1)
    return concat([true, other], 1), wanted


def _parted(rows: Tensor, flat: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """Returns the rows of true classes, and those of the `count` that were drawn."""
    from_end = rows[-count:]  # type: ignore[index]  # overloaded
    return rows[:-count], from_end  # type: ignore[index]


def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Returns the noise-contrastive loss of each example (Gutmann and Hyvarinen 2010).

    True classes are told from classes that were drawn, each for itself.

    Args:
        weights: (num_classes, dim) of the classes; or several tables, see `embedding_lookup`.
        biases: (num_classes,) likewise.
        labels: (batch, num_true) int64, the true classes.
        inputs: (batch, dim).
        num_sampled: how many classes are drawn, for the whole batch.
        num_classes: how many there are.
        num_true: how many true classes each example has.
        sampled_values: what a sampler returned; default of `log_uniform_candidate_sampler`.
        remove_accidental_hits: whether a class that was drawn counts for nothing in examples whose
            true class it is.
        partition_strategy: which of several tables has a class; see `embedding_lookup`.

    Returns:
        (batch,).
    """
    with name_scope(name, "nce_loss"):
        logits, wanted = _sampled_logits(
            weights, biases, labels, inputs, num_sampled, num_classes, num_true,
            sampled_values, remove_accidental_hits, partition_strategy,
        )  # fmt: skip
        losses = sigmoid_cross_entropy_with_logits(labels=wanted, logits=logits, name="losses")
        made: Tensor = reduce_sum(losses, 1)
        return made


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Returns the cross entropy of each example over its true classes and those that were drawn.

    It is for training only (Jean et al. 2014); arguments as those of `nce_loss`, but for:

    Args:
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
            remove_accidental_hits, partition_strategy, name: as there.
        seed: where the drawing begins.

    Returns:
        (batch,).
    """
    with name_scope(name, "sampled_softmax_loss"):
        logits, wanted = _sampled_logits(
            weights, biases, labels, inputs, num_sampled, num_classes, num_true,
            sampled_values, remove_accidental_hits, partition_strategy, seed,
        )  # fmt: skip
        return softmax_cross_entropy_with_logits_v2(labels=stop_gradient(wanted), logits=logits)
