"""Recorded folders of transformers 5.24 are read, give what they gave there, and are saved."""

import numpy as np
import pytest
from oracle import folder_cases as cases
from places import ORACLE
from text_models import FOLDERS, asked, assert_same, greedy, whole

import hybridnet as hn
from hybridnet import nd
from hybridnet.gluon.model_zoo import text

RECORDED = np.load(ORACLE / "folders.npz")


def recorded(name):
    found = [key for key in RECORDED.files if key.startswith(f"{name}/")]
    return [RECORDED[key] for key in found if not key.endswith("generated")]


@pytest.mark.parametrize("name", cases.CASES)
def test_answers_are_those_of_transformers(name):
    net = text.load(FOLDERS / name)
    assert_same(name, asked(net, name), recorded(name))
    net.hybridize()
    assert_same(name, asked(net, name), recorded(name))
    assert_same(name, asked(net, name), recorded(name))


@pytest.mark.parametrize("name", cases.CASES)
def test_a_traced_function_gives_the_same(name):
    net = text.load(FOLDERS / name)
    traced = hn.function(lambda *args: net(*args))
    assert_same(name, asked(traced, name), recorded(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", cases.DECODERS)
@pytest.mark.parametrize("hybridized", [False, True])
def test_a_cache_gives_the_same_position_by_position(name, hybridized):
    net = text.load(FOLDERS / name)
    net.hybridize(hybridized)
    tokens = cases.tokens()
    cache = net.new_cache(3, 16)
    parts = []
    for first, last in ((0, 4), (4, 6), *((i, i + 1) for i in range(6, 11))):
        parts.append(net(whole(tokens[:, first:last]), cache).asnumpy())
        cache.starts[:] = cache.starts + (last - first)
    assert_same(name, [np.concatenate(parts, axis=1)], recorded(name))


@pytest.mark.parametrize("name", cases.DECODERS)
def test_sequences_of_unequal_lengths_share_a_cache(name):
    """Each begins where it is itself; what is written after its end is written over."""
    net = text.load(FOLDERS / name)
    tokens, (wanted,) = cases.tokens(), recorded(name)
    cache = net.new_cache(3, 16)
    known = np.array([5, 2, 4])
    scores = net(whole(tokens[:, :5]), cache).asnumpy()
    cache.starts[:] = whole(known)
    for row, count in enumerate(known):
        np.testing.assert_allclose(scores[row, :count], wanted[row, :count], rtol=0, atol=1e-4)
    for _ in range(4):
        new = np.take_along_axis(tokens, known[:, None], axis=1)
        scores = net(whole(new), cache).asnumpy()[:, 0]
        cache.starts[:] = cache.starts + 1
        theirs = wanted[np.arange(3), known]
        np.testing.assert_allclose(scores, theirs, rtol=0, atol=1e-4)
        known = known + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", cases.DECODERS)
def test_the_likeliest_tokens_are_those_of_transformers(name):
    net = text.load(FOLDERS / name)
    net.hybridize()
    prompt = cases.tokens()[:, : cases.PROMPT]
    found = greedy(net, prompt, cases.NEW)
    np.testing.assert_array_equal(found, RECORDED[f"{name}/generated"])


@pytest.mark.parametrize("name", cases.CASES)
def test_what_is_saved_reads_back(name, tmp_path):
    net = text.load(FOLDERS / name)
    text.save(net, tmp_path / "one")
    text.save(net, tmp_path / "several", max_shard_size=4000)
    assert (tmp_path / "several" / "model.safetensors.index.json").exists()
    for folder in ("one", "several"):
        again = text.load(tmp_path / folder)
        assert {**again.config, "dtype": "float32"} == {**net.config, "dtype": "float32"}
        assert_same(name, asked(again, name), recorded(name))


@pytest.mark.parametrize("name", cases.CASES)
def test_params_files_are_read_by_networks_of_the_same_sizes(name, tmp_path):
    net = text.load(FOLDERS / name)
    net.save_parameters(tmp_path / "net.params")
    more = (net.sizes, 5) if name == "vit-classifier" else (net.sizes,)
    again = type(net)(*more) if name != "bert-classifier" else type(net)(net.sizes, 3)
    again.load_parameters(tmp_path / "net.params")
    assert_same(name, asked(again, name), recorded(name))


@pytest.mark.parametrize("name", ["bert", "bert-masked", "bert-classifier"])
def test_a_mask_hides_as_lengths_do(name):
    net = text.load(FOLDERS / name)
    mask = np.arange(11) < cases.LENGTHS[:, None]
    args = whole(cases.tokens()), whole(cases.token_types()), None, whole(mask)
    found = net(*args)
    found = found if isinstance(found, tuple) else (found,)
    assert_same(name, [one.asnumpy() for one in found], recorded(name))


@pytest.mark.parametrize("name", [*cases.BERTS, *cases.VITS])
def test_networks_without_a_cache_are_symbols(name):
    net = text.load(FOLDERS / name)
    if name in cases.VITS:
        inputs = {"x": nd.array(cases.pictures())}
    else:
        inputs = {
            "tokens": whole(cases.tokens()),
            "types": whole(cases.token_types()),
            "lengths": whole(cases.LENGTHS),
        }
    made = net(*[hn.sym.var(one) for one in inputs])
    group = hn.sym.Group(list(made)) if isinstance(made, tuple) else made
    values = {param.name: param.data() for param in net.collect_params().values()}
    bound = group.bind(hn.cpu(), {**inputs, **values})
    assert_same(name, [one.asnumpy() for one in bound.forward()], recorded(name))
