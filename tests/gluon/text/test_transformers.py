"""Beside Hugging Face's transformers on PyTorch, where they can be imported: the same answers."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import folder_cases as cases
from text_models import FOLDERS, asked, assert_same, greedy, whole

from hybridnet import autograd, gluon
from hybridnet.gluon.model_zoo import text

torch = pytest.importorskip("torch", reason="compares with PyTorch, which is not here")
transformers = pytest.importorskip("transformers", reason="compares with transformers")
files = pytest.importorskip("safetensors.torch")
pytestmark = pytest.mark.filterwarnings("ignore")
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

RANDOM = settings(
    max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)


def theirs(folder, name):
    model_class = cases.CASES[name][0]
    return getattr(transformers, model_class).from_pretrained(folder).eval()


def written(model):
    """Saves a network of theirs, with values that show what is wrong; returns it and the folder."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape) + (parameter.ndim == 1))
    folder = tempfile.mkdtemp()
    model.eval().save_pretrained(folder)
    return model, folder


def logits(model, tokens, **inputs):
    with torch.no_grad():
        return model(torch.tensor(tokens).long(), **inputs).logits.numpy()


@pytest.mark.parametrize("name", cases.CASES)
@pytest.mark.parametrize("shard", [4_000_000, 4000])
def test_transformers_loads_what_is_saved(name, shard, tmp_path):
    net = text.load(FOLDERS / name)
    text.save(net, tmp_path, max_shard_size=shard)
    found = cases.answers(torch, name, theirs(tmp_path, name))
    found.pop("generated", None)
    assert_same(name, asked(net, name), list(found.values()))


@pytest.mark.parametrize(
    ("net", "model_class"),
    [
        (text.gpt2(vocab_size=30, units=8, layers=2, heads=2, max_length=16), "GPT2LMHeadModel"),
        (
            text.llama(vocab_size=30, units=8, layers=1, heads=2, hidden_units=12, max_length=16),
            "LlamaForCausalLM",
        ),
        (
            text.llama(
                vocab_size=30,
                units=8,
                layers=1,
                heads=2,
                hidden_units=12,
                max_length=16,
                rope_scaling=text.RopeScaling("llama3", 8.0, 1.0, 4.0, 8),
                tied=True,
            ),
            "LlamaForCausalLM",
        ),
        (
            text.llama(
                kind="mistral", vocab_size=30, units=8, layers=1, heads=2, hidden_units=12, window=3
            ),
            "MistralForCausalLM",
        ),
        (
            text.llama(kind="qwen2", vocab_size=30, units=8, layers=1, heads=2, hidden_units=12),
            "Qwen2ForCausalLM",
        ),
    ],
    ids=["gpt2", "llama", "llama3", "mistral", "qwen2"],
)
def test_transformers_loads_new_networks(net, model_class, tmp_path):
    net.initialize()
    text.save(net, tmp_path)
    model = getattr(transformers, model_class).from_pretrained(tmp_path).eval()
    tokens = cases.tokens(2, 9, 30)
    np.testing.assert_allclose(net(whole(tokens)).asnumpy(), logits(model, tokens), atol=1e-4)


@RANDOM
@given(st.data())
def test_random_gpt2(data):
    heads = data.draw(st.integers(1, 3))
    config = transformers.GPT2Config(
        vocab_size=data.draw(st.integers(2, 50)),
        n_embd=heads * data.draw(st.integers(1, 6)),
        n_layer=data.draw(st.integers(1, 3)),
        n_head=heads,
        n_inner=data.draw(st.none() | st.integers(1, 20)),
        n_positions=data.draw(st.integers(12, 20)),
        activation_function=data.draw(st.sampled_from(["gelu", "gelu_new", "relu", "silu"])),
        tie_word_embeddings=data.draw(st.booleans()),
        scale_attn_by_inverse_layer_idx=data.draw(st.booleans()),
        bos_token_id=None,
        eos_token_id=None,
    )
    check_decoder(transformers.GPT2LMHeadModel(config), config.vocab_size, data)


@RANDOM
@given(st.data())
def test_random_llamas(data):
    kind = data.draw(st.sampled_from(["Llama", "Mistral", "Qwen2"]))
    key_heads, group = data.draw(st.integers(1, 2)), data.draw(st.integers(1, 3))
    head = 2 * data.draw(st.integers(1, 4))
    rope = {"rope_type": "default", "rope_theta": data.draw(st.sampled_from([1e3, 1e4, 5e5]))}
    scaled = data.draw(st.sampled_from(["default", "linear", "llama3"]))
    if scaled != "default":
        rope |= {"rope_type": scaled, "factor": data.draw(st.sampled_from([1.5, 8.0]))}
    if scaled == "llama3":
        rope |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
        rope |= {"original_max_position_embeddings": data.draw(st.integers(4, 32))}
    options = {}
    if kind == "Llama":
        options = {name: data.draw(st.booleans()) for name in ("attention_bias", "mlp_bias")}
    if kind == "Mistral":
        options = {"sliding_window": data.draw(st.none() | st.integers(1, 12))}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=data.draw(st.integers(2, 50)),
        hidden_size=key_heads * group * head,
        intermediate_size=data.draw(st.integers(1, 20)),
        num_hidden_layers=data.draw(st.integers(1, 3)),
        num_attention_heads=key_heads * group,
        num_key_value_heads=key_heads,
        max_position_embeddings=32,
        rope_parameters=rope,
        tie_word_embeddings=data.draw(st.booleans()),
        bos_token_id=None,
        eos_token_id=None,
        **options,
    )
    model = getattr(transformers, f"{kind}ForCausalLM")(config)
    check_decoder(model, config.vocab_size, data)


def check_decoder(model, vocab, data):
    """Compares scores, of padded sequences too, and the likeliest tokens."""
    model, folder = written(model)
    net = text.load(folder)
    tokens = cases.tokens(data.draw(st.integers(1, 3)), data.draw(st.integers(1, 12)), vocab)
    np.testing.assert_allclose(net(whole(tokens)).asnumpy(), logits(model, tokens), atol=1e-4)
    lengths = np.array([data.draw(st.integers(1, tokens.shape[1])) for _ in tokens])
    there = np.arange(tokens.shape[1]) < lengths[:, None]
    padded = logits(model, tokens, attention_mask=torch.tensor(there).long())
    found = net(whole(np.where(there, tokens, 0))).asnumpy()
    np.testing.assert_allclose(found[there], padded[there], atol=1e-4)
    prompt = tokens[:, :6]
    made = model.generate(
        torch.tensor(prompt).long(),
        attention_mask=torch.ones(prompt.shape).long(),
        do_sample=False,
        max_new_tokens=6,
        pad_token_id=0,
    )
    np.testing.assert_array_equal(greedy(net, prompt, 6), made.numpy())
    again = tempfile.mkdtemp()
    text.save(net, again)
    reread = type(model).from_pretrained(again).eval()
    np.testing.assert_allclose(logits(reread, tokens), logits(model, tokens), atol=1e-6)


@RANDOM
@given(st.data())
def test_random_bert(data):
    heads = data.draw(st.integers(1, 3))
    config = transformers.BertConfig(
        vocab_size=40,
        hidden_size=heads * data.draw(st.integers(1, 6)),
        num_hidden_layers=data.draw(st.integers(1, 3)),
        num_attention_heads=heads,
        intermediate_size=data.draw(st.integers(1, 20)),
        max_position_embeddings=data.draw(st.integers(11, 20)),
        type_vocab_size=data.draw(st.integers(2, 3)),
        hidden_act=data.draw(st.sampled_from(["gelu", "gelu_new", "relu", "silu"])),
        num_labels=3,
    )
    name = data.draw(st.sampled_from(cases.BERTS))
    model, folder = written(getattr(transformers, cases.CASES[name][0])(config))
    wanted = list(cases.answers(torch, name, model).values())
    assert_same(name, asked(text.load(folder), name), wanted)


@RANDOM
@given(st.data())
def test_random_vit(data):
    heads = data.draw(st.integers(1, 3))
    config = transformers.ViTConfig(
        hidden_size=heads * data.draw(st.integers(1, 6)),
        num_hidden_layers=data.draw(st.integers(1, 3)),
        num_attention_heads=heads,
        intermediate_size=data.draw(st.integers(1, 20)),
        image_size=8,
        patch_size=data.draw(st.sampled_from([1, 2, 4, 8])),
        qkv_bias=data.draw(st.booleans()),
        hidden_act=data.draw(st.sampled_from(["gelu", "relu"])),
        num_labels=data.draw(st.integers(1, 4)),
    )
    name = data.draw(st.sampled_from(cases.VITS))
    model, folder = written(getattr(transformers, cases.CASES[name][0])(config))
    wanted = list(cases.answers(torch, name, model).values())
    assert_same(name, asked(text.load(folder), name), wanted)


@pytest.mark.parametrize("name", ["gpt2", "llama3", "mistral"])
def test_a_step_of_training_is_theirs(name, tmp_path):
    """The same loss, the same gradients, and the same weights after a step."""
    model = theirs(FOLDERS / name, name)
    net = text.load(FOLDERS / name)
    tokens = cases.tokens()
    loss = model(torch.tensor(tokens).long(), labels=torch.tensor(tokens).long()).loss
    loss.backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with autograd.record(train_mode=False):  # their model is in eval mode, without dropout
        scores = net(whole(tokens))[:, :-1].reshape((-1, 40))
        ours = entropy(scores, whole(tokens)[:, 1:].reshape((-1,))).mean()
    ours.backward()
    trainer.step(1)
    np.testing.assert_allclose(ours.asscalar(), loss.item(), rtol=1e-5)
    text.save(net, tmp_path)
    stepped = theirs(tmp_path, name)
    for (key, ours), (_, wanted) in zip(
        stepped.named_parameters(), model.named_parameters(), strict=True
    ):
        np.testing.assert_allclose(
            ours.detach(), wanted.detach(), rtol=1e-4, atol=1e-5, err_msg=key
        )


@pytest.mark.parametrize("name", ["gpt2", "llama"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_weights_are_read_and_written(name, dtype, tmp_path):
    model = theirs(FOLDERS / name, name).to(getattr(torch, dtype))
    model.save_pretrained(tmp_path / "narrow")
    widened = text.load(tmp_path / "narrow", dtype="float32")
    tokens = cases.tokens()
    # Read again, since the angles of rotary positions have become narrow, too.
    wide = type(model).from_pretrained(tmp_path / "narrow", dtype=torch.float32).eval()
    wanted = logits(wide, tokens)
    np.testing.assert_allclose(widened(whole(tokens)).asnumpy(), wanted, atol=1e-4)
    kept = text.load(tmp_path / "narrow")
    assert {str(np.dtype(one.dtype)) for one in kept.collect_params().values()} == {dtype}
    assert kept(whole(tokens)).dtype == kept.features.tokens.weight.dtype
    near = kept(whole(tokens)).astype("float32").asnumpy()
    np.testing.assert_allclose(near, wanted, atol=0.05 * np.abs(wanted).max())
    text.save(kept, tmp_path / "again")
    first, second = (
        (Path(tmp_path) / folder / "model.safetensors") for folder in ("narrow", "again")
    )
    before, after = files.load_file(first), files.load_file(second)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[key], after[key]) for key in before)


def test_older_files_are_read(tmp_path):
    """Names as in the first files of GPT-2 and BERT on the hub."""
    for name in ("gpt2", "bert-masked"):
        net = text.load(FOLDERS / name)
        folder = tmp_path / name
        text.save(net, folder)
        file = folder / "model.safetensors"
        tensors = files.load_file(file)
        if name == "gpt2":
            tensors = {key.removeprefix("transformer."): one for key, one in tensors.items()}
            tensors["h.0.attn.bias"] = torch.ones(1, 1, 32, 32)
            tensors["h.0.attn.masked_bias"] = torch.tensor(-1e4)
        else:
            tensors = {
                key.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
                    "LayerNorm.bias", "LayerNorm.beta"
                ): one
                for key, one in tensors.items()
            }
            tensors["bert.embeddings.position_ids"] = torch.arange(24)[None]
            tensors["cls.seq_relationship.weight"] = torch.ones(2, 16)
            tensors["bert.pooler.dense.bias"] = torch.ones(16)
        files.save_file(tensors, file, {"format": "pt"})
        wanted = asked(net, name)
        assert_same(name, asked(text.load(folder), name), wanted)
