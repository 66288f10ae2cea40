"""`hybridnet chat`: answers as `generate` gives them, turns that are forgotten, and Ctrl-C."""

import io
import json
import re

import pytest
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

import hybridnet as hn
from hybridnet.cli import chat
from hybridnet.cli.main import main
from hybridnet.gluon.model_zoo import text

pytestmark = pytest.mark.filterwarnings("ignore::hybridnet.tracing.RetracingWarning")
TEMPLATE = "{% for one in messages %}<{{ one.role[0] }}>{{ one.content }}{% endfor %}<a>"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A small network with a byte-level tokenizer."""
    folder = tmp_path_factory.mktemp("chat")
    rules = tokenizers.Tokenizer(models.BPE())
    rules.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    rules.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        special_tokens=["</s>"], initial_alphabet=alphabet, show_progress=False, vocab_size=257
    )
    rules.train_from_iterator([""], trainer)
    rules.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "</s>"}))
    sizes = {"units": 16, "layers": 1, "heads": 2, "hidden_units": 24, "max_length": 64}
    net = text.llama(vocab_size=257, **sizes)
    hn.random.seed(2)
    net.initialize(hn.init.Normal(0.4))
    text.save(net, folder)
    return folder


@pytest.fixture
def folder(made):
    (made / "chat_template.jinja").unlink(missing_ok=True)
    return made


def talk(monkeypatch, capsys, folder, lines, *options):
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
    status = main(["chat", str(folder), *options])
    out, err = capsys.readouterr()
    return status, out, err


def answer(folder, prompt, count):
    """Returns what is to be written after a text."""
    tokenizer, net = text.load_tokenizer(folder), text.load(folder)
    ids = tokenizer.encode(prompt, special=False)
    count = min(count, 64 - len(ids))
    made = tokenizer.decode(text.generate(net, ids, count, eos=tokenizer.ends)[0])
    return re.sub(r"(?![\n\t])[\x00-\x1f\x7f-\x9f]", "\ufffd", made)


def test_a_line_is_gone_on_with(monkeypatch, capsys, folder):
    status, out, _ = talk(monkeypatch, capsys, folder, ["to be", "or"], "--max-new-tokens", "9")
    assert status == 0
    assert out == f"{answer(folder, 'to be', 9)}\n{answer(folder, 'or', 9)}\n"


def test_turns_are_remembered_while_there_is_room(monkeypatch, capsys, folder):
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    prompts = []
    encode = text.Tokenizer.encode

    def noted(self, line, special=True):
        prompts.append(line)
        return encode(self, line, special)

    monkeypatch.setattr(text.Tokenizer, "encode", noted)
    lines = ["one", "two", "three", "four"]
    options = ("--max-new-tokens", "4", "--system", "S")
    status, out, _ = talk(monkeypatch, capsys, folder, lines, *options)
    assert status == 0
    assert prompts[0] == "<s>S<u>one<a>"
    asked = [one for one in prompts if one.endswith(("one<a>", "two<a>", "three<a>", "four<a>"))]
    assert asked[1].startswith("<s>S<u>one<a>")
    assert all(one.startswith("<s>S<u>") for one in asked)
    assert len(encode(text.load_tokenizer(folder), asked[-1], False)) <= 64 - 16
    assert "<u>one" not in asked[-1]
    monkeypatch.undo()
    assert out.startswith(answer(folder, asked[0], 4) + "\n")
    assert out.endswith(answer(folder, asked[-1], 4) + "\n")


def test_an_empty_line_ends_it(monkeypatch, capsys, folder):
    status, out, _ = talk(monkeypatch, capsys, folder, ["", "to be"])
    assert (status, out) == (0, "")


def test_the_same_seed_draws_the_same(monkeypatch, capsys, folder):
    options = ("--temperature", "0.9", "--top-k", "9", "--top-p", "0.9", "--max-new-tokens", "9")
    first, second, third = (
        talk(monkeypatch, capsys, folder, ["to be"], *options, "--seed", seed)
        for seed in ("1", "1", "2")
    )
    assert first == second != third


def test_ctrl_c_ends_an_answer_and_not_the_conversation(monkeypatch, capsys, folder):
    stream, calls = text.stream, []

    def interrupted(*args, **kwargs):
        calls.append(args)
        for number, row in enumerate(stream(*args, **kwargs)):
            if number == 3 and len(calls) == 1:
                raise KeyboardInterrupt
            yield row

    monkeypatch.setattr(text, "stream", interrupted)
    status, out, _ = talk(monkeypatch, capsys, folder, ["to be", "or"], "--max-new-tokens", "9")
    assert status == 0
    first, rest = out.split(" ...\n")
    assert answer(folder, "to be", 9).startswith(first)
    assert rest == answer(folder, "or", 9) + "\n"


def test_characters_are_written_whole(capsys):
    """Of 🙂, four bytes, nothing is shown before the last."""

    class Bytes:
        def decode(self, ids):
            return bytes(ids).decode(errors="replace")

    raw = "a🙂ü".encode()
    seen = []

    def tokens():
        for one in raw:
            yield one
            seen.append(capsys.readouterr().out)

    assert chat._written(Bytes(), tokens()) == "a🙂ü"
    assert seen == ["a", "", "", "", "🙂", "", "ü"]


def test_answers_do_not_steer_the_terminal(capsys):
    class Same:
        def decode(self, ids):
            return "".join(ids)

    assert chat._written(Same(), iter("a\x1b[2J\tb\n")) == "a\x1b[2J\tb\n"
    assert capsys.readouterr().out == "a\ufffd[2J\tb\n\n"


@pytest.mark.parametrize(
    ("options", "lines", "message"),
    [
        (("--system", "S"), [], "--system needs a folder with a chat template"),
        (("--dtype", "int8"), [], "dtype must be a floating-point one"),
        (("--temperature", "-1"), ["to be"], "temperature"),
        (("--max-new-tokens", "0"), ["to be"], "max_new_tokens"),
        ((), ["x" * 60], "the network reads 64 tokens, got 60; say less"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    monkeypatch, capsys, folder, options, lines, message
):
    status, _, err = talk(monkeypatch, capsys, folder, lines, *options)
    assert status == 2
    assert err.count("\n") == 1
    assert err.startswith("hybridnet chat: ")
    assert message in err


def test_networks_that_do_not_write(monkeypatch, capsys, folder, tmp_path):
    text.load_tokenizer(folder).save(tmp_path)
    net = text.bert(units=8, layers=1, heads=1, hidden_units=8, vocab_size=257)
    net.initialize()
    text.save(net, tmp_path)
    status, _, err = talk(monkeypatch, capsys, tmp_path, ["to be"])
    assert status == 2
    assert "has a Bert, which does not write" in err
