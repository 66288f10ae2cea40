"""`tf.distributions`; see `tf1_case.py`."""

from __future__ import annotations

from typing import Any

from oracle.tf1_case import case, error_of, feeding, numbers


def _facts(tf: Any, one: Any, value: Any) -> list[Any]:
    made = [one.log_prob(value), one.prob(value), one.entropy()]
    return [tf.identity(each) for each in made]


@case
def normal(tf: Any) -> Any:
    of = tf.distributions
    loc, scale = tf.placeholder(tf.float32, [None, 3]), tf.constant(numbers(3, low=0.5, high=2.0))
    one, other = of.Normal(loc, scale), of.Normal(loc=0.5, scale=[1.0, 2.0])
    x = tf.constant(numbers(2, 3))
    made = [
        *_facts(tf, one, x), *_facts(tf, other, [1.0, -1.0]), one.mean(), one.stddev(),
        one.variance(), one.mode(), one.cdf(x), of.kl_divergence(one, of.Normal(x, 1.5)),
        other.mean(), other.stddev(), one.kl_divergence(of.Normal(0.0, 1.0)),
        one.batch_shape_tensor(), tf.shape(one.sample(4)), tf.shape(one.sample([2, 5])),
    ]  # fmt: skip
    slopes = tf.gradients(one.log_prob(x), [loc, scale]) + tf.gradients(one.entropy(), scale)
    drawn = [one.sample(), one.sample(4), other.sample([2, 5]), other.sample()]
    known = [str(each.shape) for each in drawn] + [str(other.batch_shape), str(one.event_shape)]
    values = [tf.identity(each) for each in [*made, *slopes]]
    return feeding([values, known, one.dtype.name, one.name.strip("/")], {loc: numbers(2, 3)})


@case
def uniform(tf: Any) -> Any:
    of = tf.distributions
    one = of.Uniform(low=[-1.0, 0.0], high=2.0)
    made = [
        *_facts(tf, one, [[0.0, -0.5], [2.0, 1.9]]), one.mean(), one.variance(), one.stddev(),
        one.range(),
    ]  # fmt: skip
    refused = error_of(lambda: of.kl_divergence(one, of.Uniform(-1.0, 2.5)))
    return [[tf.identity(each) for each in made], str(one.sample(3).shape), refused]


@case
def bernoulli(tf: Any) -> Any:
    of, found = tf.distributions, []
    for one in (of.Bernoulli(logits=numbers(2, 3)), of.Bernoulli(probs=[0.2, 0.5, 0.9])):
        made = [*_facts(tf, one, [0, 1, 1]), one.mean(), one.variance(), one.mode(), one.probs,
                one.logits, one.kl_divergence(of.Bernoulli(logits=[0.1, 0.2, 0.3]))]  # fmt: skip
        found += [[tf.identity(each) for each in made], str(one.sample(4).shape), one.dtype.name]
    return [found, error_of(of.Bernoulli), error_of(lambda: of.Bernoulli([1.0], [0.5]))]


@case
def categorical(tf: Any) -> Any:
    of = tf.distributions
    logits = tf.constant(numbers(2, 4))
    one, other = of.Categorical(logits=logits), of.Categorical(probs=[0.1, 0.2, 0.3, 0.4])
    made = [
        *_facts(tf, one, [3, 0]), *_facts(tf, other, 2), one.mode(), one.probs, other.logits,
        one.kl_divergence(of.Categorical(logits=numbers(2, 4, low=0))), one.event_size,
        *tf.gradients(one.log_prob([1, 2]), logits), *tf.gradients(one.entropy(), logits),
    ]  # fmt: skip
    drawn = [one.sample(), one.sample(3), other.sample([5, 2])]
    return [[tf.identity(each) for each in made], [str(each.shape) for each in drawn],
            error_of(lambda: of.kl_divergence(one, of.Normal(0.0, 1.0)))]  # fmt: skip
