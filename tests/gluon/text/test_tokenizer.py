"""Tokenizers of folders: text to numbers and back, conversations, and what is refused."""

import json

import numpy as np
import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, processors, trainers

from hybridnet import nd
from hybridnet.base.errors import FormatError, MissingFileError, ParameterError
from hybridnet.gluon.model_zoo import text

TEMPLATE = """\
{{ bos_token }}{% for message in messages %}
{%- if message.role == "tool" %}{{ raise_exception("no " + message.role) }}{% endif %}
<{{ message.role }}>{{ message.content | trim }}{{ eos_token }}
{%- endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""


@pytest.fixture
def folder(tmp_path):
    """A byte-level tokenizer, as GPT-2's and Llama 3's are."""
    made = tokenizers.Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<s>", "</s>", "<user>", "<assistant>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(["to be, or not to be"] * 4, trainer)
    made.post_processor = processors.TemplateProcessing("<s> $A", special_tokens=[("<s>", 0)])
    made.save(str(tmp_path / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "chat_template": TEMPLATE,
    }
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    return tmp_path


@pytest.mark.parametrize("line", ["to be, or not to be", "größer 🙂\n\tx", "", " <s> "])
def test_text_comes_back(folder, line):
    tokenizer = text.load_tokenizer(folder)
    ids = tokenizer.encode(line)
    assert ids[0] == 0
    assert tokenizer.encode(line, special=False) == ids[1:]
    if "<s>" not in line:
        assert tokenizer.decode(ids) == line
    assert tokenizer.decode(ids, special=True) == "<s>" + line
    for array in (np.array(ids), nd.array(ids, dtype="int32")):
        assert tokenizer.decode(array, special=True) == "<s>" + line
    assert len(tokenizer) == 4 + 256 + len(tokenizer._rules.get_vocab()) - 260


def test_the_tokens_at_the_end(folder):
    tokenizer = text.load_tokenizer(folder)
    assert (tokenizer.eos, tokenizer.ends) == (1, (1,))
    (folder / "generation_config.json").write_text('{"eos_token_id": [1, 3]}')
    (folder / "config.json").write_text('{"eos_token_id": 7}')
    tokenizer = text.load_tokenizer(folder)
    assert (tokenizer.eos, tokenizer.ends) == (1, (1, 3, 7))
    (folder / "tokenizer_config.json").unlink()
    (folder / "generation_config.json").unlink()
    (folder / "config.json").unlink()
    tokenizer = text.load_tokenizer(folder)
    assert (tokenizer.eos, tokenizer.ends) == (None, ())


def test_a_token_that_is_an_object(folder):
    """As older versions of transformers have written them."""
    path = folder / "tokenizer_config.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, "eos_token": {"content": "</s>", "lstrip": False}}))
    tokenizer = text.load_tokenizer(folder)
    assert tokenizer.eos == 1
    assert tokenizer.apply_chat_template([{"role": "user", "content": ""}], False).endswith("</s>")


def test_a_conversation_as_text(folder):
    messages = [
        {"role": "user", "content": " Hello "},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Bye"},
    ]
    wanted = "<s><user>Hello</s><assistant>Hi</s><user>Bye</s>"
    tokenizer = text.load_tokenizer(folder)
    assert tokenizer.apply_chat_template(messages) == wanted + "<assistant>"
    assert tokenizer.apply_chat_template(messages, add_generation_prompt=False) == wanted
    assert tokenizer.encode(wanted, special=False)[0] == 0
    with pytest.raises(ParameterError, match="the chat template: no tool"):
        tokenizer.apply_chat_template([{"role": "tool", "content": ""}])


def test_a_template_of_its_own_file_comes_first(folder):
    (folder / "chat_template.jinja").write_text("{{ messages | tojson }}{{ tools is none }}")
    tokenizer = text.load_tokenizer(folder)
    assert tokenizer.has_chat_template
    assert tokenizer.apply_chat_template([{"role": "ü"}]) == '[{"role": "ü"}]True'


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages.__class__.__mro__ }}",
        "{{ messages.append(1) }}",
        "{% for %}",
        "{{ unknown.attribute }}",
    ],
)
def test_templates_reach_nothing(folder, template):
    (folder / "chat_template.jinja").write_text(template)
    with pytest.raises(ParameterError, match="the chat template: "):
        text.load_tokenizer(folder).apply_chat_template([{"role": "user", "content": ""}])


def test_no_template(folder):
    (folder / "tokenizer_config.json").unlink()
    tokenizer = text.load_tokenizer(folder)
    assert not tokenizer.has_chat_template
    with pytest.raises(ParameterError, match="has no chat template"):
        tokenizer.apply_chat_template([])


def test_damaged_and_missing_files(folder, tmp_path):
    with pytest.raises(MissingFileError, match="there is no folder"):
        text.load_tokenizer(tmp_path / "nowhere")
    rules = folder / "tokenizer.json"
    rules.write_text(rules.read_text()[:-20])
    with pytest.raises(FormatError, match=r"tokenizer\.json: .*fetch it again"):
        text.load_tokenizer(folder)
    rules.unlink()
    with pytest.raises(MissingFileError, match=r"has no tokenizer\.json; .*save_pretrained"):
        text.load_tokenizer(folder)


def test_wrong_arguments(folder):
    tokenizer = text.load_tokenizer(folder)
    with pytest.raises(ParameterError, match="encode: needs text, got bytes"):
        tokenizer.encode(b"to be")
    with pytest.raises(ParameterError, match="0 or more, got -1"):
        tokenizer.decode([5, -1])


def test_a_tokenizer_is_saved_beside_a_network(folder, tmp_path):
    tokenizer = text.load_tokenizer(folder)
    tokenizer.save(folder)
    tokenizer.save(tmp_path / "new")
    again = text.load_tokenizer(tmp_path / "new")
    assert again.encode("to be") == tokenizer.encode("to be")
    assert again.apply_chat_template([]) == tokenizer.apply_chat_template([])


def test_transformers_gives_the_same(folder):
    transformers = pytest.importorskip("transformers", reason="compares with transformers")
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = text.load_tokenizer(folder)
    line = "To be <user> größer 🙂"
    assert ours.encode(line) == theirs(line)["input_ids"]
    assert ours.decode(ours.encode(line)) == theirs.decode(
        theirs(line)["input_ids"], skip_special_tokens=True
    )
    messages = [{"role": "user", "content": " x "}, {"role": "assistant", "content": "y"}]
    wanted = theirs.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert ours.apply_chat_template(messages) == wanted
