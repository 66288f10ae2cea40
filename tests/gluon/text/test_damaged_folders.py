"""Folders that are damaged, or that ask for more than there is: errors that say which part."""

import json
import pickle
import re
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from text_models import FOLDERS, change_config, copied

from hybridnet import nd
from hybridnet.base.errors import (
    DTypeError,
    FormatError,
    MissingFileError,
    MXNetError,
    ParameterError,
    ShapeError,
)
from hybridnet.gluon import nn
from hybridnet.gluon.model_zoo import text, vision
from hybridnet.gluon.model_zoo.folders import reading

NAME = "transformer.h.1.mlp.c_fc.weight"


@pytest.fixture
def folder(tmp_path):
    return copied("gpt2", tmp_path)


@pytest.fixture
def shards(tmp_path):
    return copied("llama", tmp_path)


def change_tensors(folder, change, file="model.safetensors"):
    path = folder / file
    tensors = load_file(path)
    change(tensors)
    save_file(tensors, path, {"format": "pt"})


def refused(folder, kind, *words, **options):
    """Checks that the folder is refused, by a message with these words."""
    with pytest.raises(kind) as caught:
        text.load(folder, **options)
    for word in (folder.name, *words):
        assert word in str(caught.value), f"{word!r} not in: {caught.value}"
    return str(caught.value)


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [0, 4, 100, 3000, -1])
def test_a_file_that_is_cut_off(folder, keep):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    refused(folder, FormatError, "model.safetensors", "cut off")


@pytest.mark.parametrize("file", [1, 3])
def test_a_shard_that_is_cut_off(shards, file):
    path = shards / f"model-0000{file}-of-00003.safetensors"
    path.write_bytes(path.read_bytes()[:-7])
    refused(shards, FormatError, path.name, "cut off")


def test_a_header_with_nonsense(folder):
    path = folder / "model.safetensors"
    raw = bytearray(path.read_bytes())
    raw[20:40] = b"\xff" * 20
    path.write_bytes(raw)
    refused(folder, FormatError, "model.safetensors")


def test_random_damage_is_an_error_or_another_value(folder):
    """Never a crash, and never an error of another kind."""
    path, random = folder / "model.safetensors", np.random.RandomState(0)
    whole = path.read_bytes()
    for _ in range(60):
        raw = bytearray(whole)
        for place in random.randint(0, min(len(raw), 2500), 3):
            raw[place] = random.randint(256)
        path.write_bytes(raw)
        try:
            text.load(folder)
        except MXNetError as error:
            assert "gpt2" in str(error)


def test_a_pointer_of_git_in_place_of_the_file(folder):
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid 1\n")
    refused(folder, FormatError, "model.safetensors", "git lfs pull")


def test_a_missing_shard(shards):
    (shards / "model-00002-of-00003.safetensors").unlink()
    refused(shards, MissingFileError, "model-00002-of-00003.safetensors", "model.layers.")


def test_a_missing_config_and_missing_weights(folder):
    (folder / "model.safetensors").unlink()
    refused(folder, MissingFileError, "model.safetensors")
    (folder / "config.json").unlink()
    refused(folder, MissingFileError, "config.json")


def test_no_folder_and_a_file(tmp_path, folder):
    with pytest.raises(MissingFileError, match="there is no folder .*nowhere"):
        text.load(tmp_path / "nowhere")
    with pytest.raises(ParameterError, match="needs the folder that .*config.json is in"):
        text.load(folder / "config.json")


def test_what_is_pickled_is_not_read(folder):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("it was unpickled",))

    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Trap()))
    refused(folder, FormatError, "pytorch_model.bin", "save_pretrained")


def test_an_index_that_leads_out_of_the_folder(shards):
    path = shards / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"]["lm_head.weight"] = "../gpt2/model.safetensors"
    path.write_text(json.dumps(index))
    refused(shards, FormatError, "lm_head.weight", "../gpt2")


def test_an_index_that_is_wrong(shards):
    path = shards / "model.safetensors.index.json"
    index = json.loads(path.read_text())
    index["weight_map"]["lm_head.weight"] = "model-00003-of-00003.safetensors"
    index["weight_map"]["more.weight"] = "model-00001-of-00003.safetensors"
    path.write_text(json.dumps(index))
    refused(shards, FormatError, "has no", "fetch the folder again")
    path.write_text(json.dumps({"weight_map": {}}))
    refused(shards, FormatError, "weight_map")
    path.write_text("{")
    refused(shards, FormatError, "index.json", "no JSON")


@pytest.mark.parametrize("content", ["{", "[]", "", '{"model_type": "gpt2"', "\x00"])
def test_a_config_that_is_no_object(folder, content):
    (folder / "config.json").write_text(content)
    refused(folder, FormatError, "config.json")


# -- tensors ---------------------------------------------------------------------------------------


def test_a_tensor_of_another_shape(folder):
    change_tensors(folder, lambda tensors: tensors.update({NAME: np.zeros((16, 65), "float32")}))
    refused(folder, ShapeError, NAME, "(16, 64)", "(16, 65)")


def test_a_tensor_that_is_transposed(folder):
    change_tensors(
        folder, lambda tensors: tensors.update({NAME: np.ascontiguousarray(tensors[NAME].T)})
    )
    refused(folder, ShapeError, NAME, "(16, 64)", "(64, 16)")


def test_missing_tensors(folder):
    def without(tensors):
        for name in [one for one in tensors if ".h.1." in one]:
            del tensors[name]

    change_tensors(folder, without)
    message = refused(folder, FormatError, "lacks", "'h.1.ln_1.weight'", "and 7 more")
    assert "\n" not in message


def test_surplus_tensors(folder):
    more = {"transformer.h.2.ln_1.weight": np.ones(16, "float32")}
    change_tensors(folder, lambda tensors: tensors.update(more))
    refused(folder, FormatError, "transformer.h.2.ln_1.weight", "model.safetensors")


def test_a_tensor_that_is_there_twice(folder):
    change_tensors(
        folder, lambda tensors: tensors.update({"wte.weight": tensors["transformer.wte.weight"]})
    )
    refused(folder, FormatError, "twice", "wte.weight")


def test_a_tensor_of_whole_numbers(folder):
    change_tensors(folder, lambda tensors: tensors.update({NAME: np.zeros((16, 64), "int8")}))
    refused(folder, DTypeError, NAME, "I8")


def test_layers_that_the_config_does_not_have(folder):
    change_config(folder, n_layer=1)
    refused(folder, FormatError, "transformer.h.1.")
    change_config(folder, n_layer=3)
    refused(folder, FormatError, "lacks", "h.2.")


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert", "vit"])
def test_sizes_of_no_end_take_no_memory(name, tmp_path):
    """Neither layers nor weights are made before the files are known to have them."""
    folder = copied(name, tmp_path)
    layers = "n_layer" if name == "gpt2" else "num_hidden_layers"
    change_config(folder, **{layers: 10**9})
    refused(folder, FormatError, layers, "at most")
    shutil.rmtree(folder)
    folder = copied(name, tmp_path)
    change_config(folder, **{"n_inner" if name == "gpt2" else "intermediate_size": 10**12})
    refused(folder, ShapeError, str(10**12))


def test_nothing_is_read_before_all_is_checked(folder, monkeypatch):
    change_tensors(folder, lambda tensors: tensors.update({NAME: np.zeros((1,), "float32")}))
    monkeypatch.setattr(reading, "read_tensor", lambda *_: pytest.fail("it was read"))
    refused(folder, ShapeError, NAME)


# -- settings --------------------------------------------------------------------------------------

#: A folder, a setting, a value that is refused, and what the message says beside the two.
REFUSED = [
    ("gpt2", "activation_function", "mish", "gelu_new"),
    ("gpt2", "scale_attn_weights", False, "True"),
    ("gpt2", "add_cross_attention", True, "False"),
    ("gpt2", "n_layer", "2", "whole number"),
    ("gpt2", "n_layer", True, "whole number"),
    ("gpt2", "n_embd", -16, "whole number"),
    ("gpt2", "attn_pdrop", 1.0, "from 0 to 1"),
    ("gpt2", "attn_pdrop", float("nan"), "a number"),
    ("gpt2", "layer_norm_epsilon", "small", "a number"),
    ("gpt2", "tie_word_embeddings", "yes", "true or false"),
    ("gpt2", "model_type", "gpt_neox", "mistral"),
    ("gpt2", "model_type", ["gpt2"], "mistral"),
    ("gpt2", "architectures", ["GPT2DoubleHeadsModel"], "GPT2LMHeadModel"),
    ("gpt2", "architectures", "GPT2LMHeadModel", "in a list"),
    ("gpt2", "dtype", "int8", "bfloat16"),
    ("gpt2", "quantization_config", {"bits": 4}, "quantized"),
    ("llama", "hidden_act", "xielu", "silu"),
    ("llama", "rope_scaling", {"rope_type": "yarn", "factor": 2.0}, "llama3"),
    ("llama", "rope_scaling", {"type": "dynamic", "factor": 2.0}, "linear"),
    ("llama", "rope_scaling", {"rope_type": "longrope"}, "linear"),
    ("llama", "rope_scaling", {"rope_type": "linear"}, "factor"),
    ("llama", "rope_scaling", "linear", "an object"),
    ("llama", "partial_rotary_factor", 0.5, "1.0"),
    ("qwen2", "use_sliding_window", True, "False"),
    ("qwen2", "layer_types", ["full_attention", "sliding_attention"], "full_attention"),
    ("mistral", "sliding_window", 0, "whole number"),
    ("bert", "is_decoder", True, "False"),
    ("bert", "position_embedding_type", "relative_key", "absolute"),
    ("bert", "hidden_act", "gelu_fast", "gelu_new"),
    ("vit", "image_size", [8, 16], "whole number"),
    ("vit", "pooler_act", "sigmoid", "tanh"),
]


@pytest.mark.parametrize(("name", "setting", "value", "wanted"), REFUSED)
def test_what_is_not_implemented_is_refused_by_name(name, setting, value, wanted, tmp_path):
    folder = copied(name, tmp_path)
    change_config(folder, **{setting: value})
    refused(folder, FormatError, "config.json", setting, wanted)


def test_sizes_that_do_not_fit_each_other(folder, tmp_path):
    change_config(folder, n_head=3)
    with pytest.raises(ParameterError, match="heads must divide units, got 3 and 16"):
        text.load(folder)
    with pytest.raises(ParameterError, match="key_heads must divide heads"):
        text.llama(units=16, heads=4, key_heads=3)
    with pytest.raises(ParameterError, match="head_units must be even"):
        text.llama(units=15, heads=5)
    with pytest.raises(ParameterError, match="window is of kind='mistral'"):
        text.llama(window=4)
    with pytest.raises(ParameterError, match="patch_size must divide image_size"):
        vision.vit(image_size=30, patch_size=16)
    with pytest.raises(ParameterError, match="layers must be a whole number"):
        text.bert(layers=0)
    with pytest.raises(TypeError, match="layer"):
        text.gpt2(layer=3)
    with pytest.raises(ParameterError, match="head must be None"):
        text.bert("next-word")


def test_other_dtypes_than_floating_ones(folder):
    with pytest.raises(DTypeError, match="floating-point"):
        text.load(folder, dtype="int8")


def test_another_architecture_needs_all_but_the_head(tmp_path):
    folder = copied("bert-masked", tmp_path)
    net = text.load(folder, architecture="BertForSequenceClassification", num_labels=4)
    assert net(nd.zeros((2, 3), dtype="int32")).shape == (2, 4)
    assert net.config["id2label"] == {str(n): f"LABEL_{n}" for n in range(4)}
    body = text.load(folder, architecture="BertModel")
    assert [one.shape for one in body(nd.zeros((2, 3), dtype="int32"))] == [(2, 3, 16), (2, 16)]

    def without(tensors):
        del tensors["bert.encoder.layer.1.output.dense.bias"]

    change_tensors(folder, without)
    refused(folder, FormatError, "output.dense.bias", architecture="BertForSequenceClassification")


def test_a_network_with_another_number_of_classes(tmp_path):
    folder = copied("vit-classifier", tmp_path)
    refused(folder, ShapeError, "classifier.", num_labels=7)
    change_config(folder, id2label={"0": "a", "1": "b"})
    refused(folder, ShapeError, "classifier.", "(2,", "(5,")


# -- saving, and running ---------------------------------------------------------------------------


def test_only_networks_of_the_families_are_saved(tmp_path):
    dense = nn.Dense(3, in_units=2)
    dense.initialize()
    with pytest.raises(ParameterError, match="got Dense; others are saved by net.save_parameters"):
        text.save(dense, tmp_path / "new")
    assert not (tmp_path / "new").exists()
    with pytest.raises(MXNetError, match="has not been initialized"):
        text.save(text.gpt2(units=8, layers=1, heads=1), tmp_path / "new")
    net = text.load(FOLDERS / "gpt2")
    (tmp_path / "file").touch()
    with pytest.raises(ParameterError, match="needs a folder, got the file"):
        text.save(net, tmp_path / "file")
    net.features.norm.cast("float16")
    with pytest.raises(DTypeError, match="one floating dtype, got float16, float32"):
        text.save(net, tmp_path / "new")


def test_a_failed_save_leaves_what_was_there(tmp_path, monkeypatch):
    net = text.load(FOLDERS / "gpt2")
    text.save(net, tmp_path)
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.numpy.save_file", full)
    with pytest.raises(OSError, match="No space left"):
        text.save(net, tmp_path)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_several_files_take_the_place_of_one_and_back(tmp_path):
    net = text.load(FOLDERS / "gpt2")
    for size, names in ((1 << 30, {"model.safetensors"}), (4000, None), (1 << 30, None)):
        text.save(net, tmp_path, max_shard_size=size)
        there = {one.name for one in tmp_path.iterdir()}
        assert ("model.safetensors" in there) != ("model.safetensors.index.json" in there)
        assert names is None or there == {*names, "config.json"}
        text.load(tmp_path)


def test_sequences_that_are_too_long():
    net = text.load(FOLDERS / "gpt2")
    with pytest.raises(ShapeError, match="gpt2: has 32 positions, got 33 tokens"):
        net(nd.zeros((1, 33), dtype="int32"))
    with pytest.raises(ShapeError, match="got 1 tokens and a cache of 40"):
        net(nd.zeros((1, 1), dtype="int32"), net.new_cache(1, 40))
    bert = text.load(FOLDERS / "bert")
    with pytest.raises(ShapeError, match=re.escape("bert: has 24 positions, got 25")):
        bert(nd.zeros((1, 25), dtype="int32"))


@pytest.mark.parametrize("name", ["gpt2", "llama", "bert"])
def test_tokens_that_there_are_not(name):
    """They are no other token's in disguise."""
    net = text.load(FOLDERS / name)
    for token in (40, -1):
        with pytest.raises(MXNetError):
            found = net(nd.array([[1, token]], dtype="int32"))
            (found[0] if isinstance(found, tuple) else found).asnumpy()
