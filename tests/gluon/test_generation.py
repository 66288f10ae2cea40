"""Text that networks write: against plain loops that read everything again, and NumPy's shares."""

from __future__ import annotations

import gc
import warnings
import weakref
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import nd
from hybridnet.base.errors import ParameterError
from hybridnet.gluon.model_zoo import text
from hybridnet.gluon.model_zoo.text.choosing import Choice
from hybridnet.gluon.model_zoo.text.steps import Steps

# One network reads prompts of as many sizes as there are examples, in one test after another.
pytestmark = pytest.mark.filterwarnings("ignore::hybridnet.tracing.RetracingWarning")

_VOCAB = 29


@cache
def _net(longest=64):
    net = text.llama(
        vocab_size=_VOCAB,
        units=16,
        layers=2,
        heads=4,
        key_heads=2,
        hidden_units=24,
        max_length=longest,
    )
    hn.random.seed(3)
    net.initialize(hn.init.Normal(0.4))
    return net


def _logs(tokens):
    """Returns the logarithms of the shares of the next token, all tokens read at once."""
    scores = _net()(nd.array([tokens], dtype="int32"))[0, -1].asnumpy().astype("float64")
    return scores - np.log(np.exp(scores - scores.max()).sum()) - scores.max()


def _greedy(prompt, count):
    tokens = [*prompt]
    for _ in range(count):
        tokens.append(int(_logs(tokens).argmax()))
    return tokens[len(prompt) :]


_PROMPTS = st.lists(
    st.lists(st.integers(0, _VOCAB - 1), min_size=1, max_size=9), min_size=1, max_size=3
)


@settings(max_examples=8)
@given(_PROMPTS, st.integers(1, 6))
def test_greedy_answers_are_those_of_a_plain_loop(prompts, count):
    assert text.generate(_net(), prompts, count) == [_greedy(one, count) for one in prompts]


def _beam_search(prompt, count, width, penalty, eos):
    """Beam search as it is defined, with everything read anew at each step."""
    beams, ended = [(0.0, [])], []
    for length in range(1, count + 1):
        every = []
        for total, tokens in beams:
            logs = _logs([*prompt, *tokens])
            every += [(total + logs[token], [*tokens, token]) for token in range(_VOCAB)]
        every.sort(key=lambda one: -one[0])
        beams = []
        for rank, (total, tokens) in enumerate(every[: 2 * width]):
            if tokens[-1] == eos:
                if rank < width:
                    ended.append((total / length**penalty, tokens))
            elif len(beams) < width:
                beams.append((total, tokens))
        ended = sorted(ended, key=lambda one: -one[0])[:width]
        if len(ended) == width and ended[-1][0] >= beams[0][0] / length**penalty:
            break
    else:
        ended += [(total / count**penalty, tokens) for total, tokens in beams]
    best = max(ended, key=lambda one: one[0])[1]
    return best[:-1] if best[-1] == eos else best


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::hybridnet.tracing.RetracingWarning")  # of many batches
@settings(max_examples=6)
@given(
    _PROMPTS,
    st.integers(1, 5),
    st.integers(2, 4),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.integers(0, _VOCAB - 1),
)
def test_beams_are_those_of_a_plain_search(prompts, count, width, penalty, eos):
    found = text.generate(_net(), prompts, count, beams=width, length_penalty=penalty, eos=eos)
    assert found == [_beam_search(one, count, width, penalty, eos) for one in prompts]


@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"),
    [(1.0, None, None), (0.5, 3, None), (1.0, None, 0.7), (0.5, 4, 0.8), (2.0, 99, 1.0)],
)
def test_tokens_are_drawn_by_their_shares(temperature, top_k, top_p):
    scores = np.random.default_rng(0).normal(size=8) * 2
    count = 40_000
    hn.random.seed(5)
    drawn = Choice.of(temperature, top_k, top_p).next_tokens(
        nd.array(np.tile(scores, (count, 1))), nd.array([temperature]), nd.array([top_p or 1])
    )
    found = np.bincount(drawn.asnumpy(), minlength=8) / count
    shares = np.exp(scores / temperature)
    order = np.argsort(-shares)
    shares[order[top_k or 8 :]] = 0
    shares /= shares.sum()
    before = np.cumsum(shares[order]) - shares[order]
    shares[order[before >= (top_p or 1)]] = 0
    shares /= shares.sum()
    assert ((found > 0) == (shares > 0)).all()
    np.testing.assert_allclose(found, shares, atol=4 * np.sqrt(0.25 / count))


def test_what_is_drawn_follows_the_seed():
    net = _net()  # which is made of a seed, too

    def draw(seed):
        hn.random.seed(seed)
        return text.generate(net, [[1, 2], [3]], 20, temperature=1.5, top_k=9, top_p=0.95)

    assert draw(1) == draw(1) != draw(2)


def test_answers_end_where_they_are_told_to():
    whole = _greedy([1, 2, 3], 12)
    eos, pair = whole[4], whole[2:4]
    first = whole.index(eos)
    assert text.generate(_net(), [1, 2, 3], 12, eos=eos) == [whole[:first]]
    assert text.generate(_net(), [1, 2, 3], 12, eos=[eos, 999]) == [whole[:first]]
    place = next(i for i in range(12) if whole[i : i + 2] == pair)
    assert text.generate(_net(), [1, 2, 3], 12, stop=[pair]) == [whole[:place]]


def test_a_stream_gives_what_generate_gives():
    prompts = [[1, 2, 3], [4], [5, 6]]
    eos = _greedy(prompts[1], 5)[2]
    rows = [*text.stream(_net(), prompts, 10, eos=eos)]
    made = [[row[i] for row in rows if row[i] is not None] for i in range(3)]
    assert made == text.generate(_net(), prompts, 10, eos=eos)


@pytest.mark.slow
def test_a_long_answer_grows_its_cache_and_is_compiled_for_few_sizes():
    net = _net(longest=600)
    made = text.generate(net, [7, 8], 400)[0]
    assert len(made) == 400
    again = text.generate(net, [7, 8, *made[:330]], 10)[0]
    assert again == made[330:340]
    # Of the sizes 256 and 512.
    assert Steps.of(net).write_on.cache_info().traces == 2


@pytest.mark.slow
def test_networks_write_side_by_side_without_a_warning_and_can_go():
    """Each has traces of its own: no function sees ever new networks. They last as long as it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in range(7):
            sizes = {"units": 8, "layers": 1, "heads": 2, "max_length": 32}
            net = text.gpt2(vocab_size=11 + number, **sizes)
            net.initialize()
            text.generate(net, [1, 2], 3)
            text.generate(net, [1, 2], 3, beams=2)
            assert len([*text.stream(net, [[3], [4, 5]], 3)]) == 3
            gone = weakref.ref(net), weakref.ref(Steps.of(net))
            weight = weakref.ref(net.features.tokens.weight)
            del net
            gc.collect()
            assert [one() for one in (*gone, weight)] == [None] * 3


def test_everything_that_fits_is_written():
    made = text.generate(_net(), [[1] * 60, [2] * 3])
    assert [len(one) for one in made] == [4, 4]


def test_arrays_of_prompts_have_lengths():
    array = np.array([[1, 2, 3, 0], [4, 0, 0, 0]])
    wanted = [_greedy([1, 2, 3], 3), _greedy([4], 3)]
    assert text.generate(_net(), array, 3, lengths=[3, 1]) == wanted
    assert text.generate(_net(), nd.array(array), 3, lengths=[3, 1]) == wanted
    assert text.generate(_net(), array[:, :1], 2) == [_greedy([1], 2), _greedy([4], 2)]


@pytest.mark.parametrize(
    ("tokens", "options", "message"),
    [
        ([], {}, "must have a token or more"),
        ([[1], []], {}, "must have a token or more"),
        ([1.5], {}, "tokens must be whole numbers"),
        ([[[1]]], {}, "tokens must be whole numbers"),
        ([1] * 64, {}, "has 64 positions, got a prompt of 64 tokens"),
        ([1] * 60, {"max_new_tokens": 5}, "max_new_tokens=5; cut the prompt"),
        ([1], {"max_new_tokens": 0}, "max_new_tokens must be >= 1"),
        ([1], {"temperature": -1}, "temperature must be >= 0"),
        ([1], {"temperature": 1, "top_k": 0}, "top_k must be >= 1"),
        ([1], {"temperature": 1, "top_p": 1.5}, "top_p must be above 0"),
        ([1], {"beams": 0}, "beams must be >= 1"),
        ([1], {"beams": 2, "temperature": 1}, "do not draw as well"),
        ([1], {"beams": 2, "stop": [[1]]}, "beams end by eos alone"),
        ([1], {"stop": [[]]}, "a stop sequence must have a token"),
        (np.ones((1, 2)), {"lengths": [3]}, "lengths must be 1 numbers from 1 to 2"),
    ],
)
def test_what_cannot_be_is_refused(tokens, options, message):
    with pytest.raises(ParameterError, match=message):
        text.generate(_net(), tokens, **options)
