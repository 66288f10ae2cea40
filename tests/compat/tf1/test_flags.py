"""``tf.app.flags`` against what absl-py 2.5.1, TensorFlow's own, answers to the same arguments."""

import sys

import pytest

import hybridnet.compat.tf1 as tf

flags = tf.app.flags


@pytest.fixture
def values():
    made = flags.FlagValues()
    flags.DEFINE_string("job_name", "", "One of", flag_values=made)
    flags.DEFINE_integer("task_index", 0, "a number", flag_values=made)
    flags.DEFINE_float("lr", 0.1, "how fast", lower_bound=-1, flag_values=made)
    flags.DEFINE_boolean("sync", False, "whether", flag_values=made)
    flags.DEFINE_list("hosts", "a,b", "which", flag_values=made)
    flags.DEFINE_enum("mode", "x", ["x", "y"], "how", flag_values=made)
    flags.DEFINE_multi_string("m", None, "several", flag_values=made)
    return made


@pytest.mark.parametrize(
    ("words", "known", "rest", "name", "value"),
    [
        ("--job_name=ps --task_index 3", False, "", "task_index", 3),
        ("-lr -0.5 x --sync", False, "x", "lr", -0.5),
        ("-lr -0.5 x --sync", False, "x", "sync", True),
        ("--sync=false", False, "", "sync", False),
        ("--sync false", False, "false", "sync", True),
        ("--sync --nosync", False, "", "sync", False),
        ("--sync=T", False, "", "sync", True),
        ("--hosts=c,d", False, "", "hosts", ["c", "d"]),
        ("--hosts=", False, "", "hosts", []),
        ("", False, "", "hosts", ["a", "b"]),
        ("--mode=y", False, "", "mode", "y"),
        ("--task_index=0x10", False, "", "task_index", 16),
        ("--unknown=1 --lr=2", True, "--unknown=1", "lr", 2.0),
        ("--nolr", True, "--nolr", "lr", 0.1),
        ("-- --lr=2", False, "--lr=2", "lr", 0.1),
        ("-- --lr=2", True, "-- --lr=2", "lr", 0.1),
        ("--m=a --m=b", False, "", "m", ["a", "b"]),
        ("--lr=1 --lr=3", False, "", "lr", 3.0),
    ],
)
def test_arguments_are_read_as_absl_reads_them(values, words, known, rest, name, value):
    assert values(["prog", *words.split()], known_only=known) == ["prog", *rest.split()]
    assert getattr(values, name) == value and type(getattr(values, name)) is type(value)


@pytest.mark.parametrize(
    ("word", "error", "message"),
    [
        ("--mode=z", flags.IllegalFlagValueError, r"flag --mode=z: value should be one of <x\|y>"),
        ("--lr=abc", flags.IllegalFlagValueError, "flag --lr=abc: could not convert"),
        ("--lr=-2", flags.IllegalFlagValueError, "not within"),
        ("--task_index=1.5", flags.IllegalFlagValueError, "flag --task_index=1.5: invalid literal"),
        ("--sync=maybe", flags.IllegalFlagValueError, "flag --sync=maybe"),
        ("--job_nam=x", flags.UnrecognizedFlagError, "flag 'job_nam'. Did you mean: job_name"),
        ("--nolr", flags.UnrecognizedFlagError, "Unknown command line flag 'nolr'"),
        ("--job_name", flags.Error, "Missing value for flag --job_name"),
    ],
)
def test_what_is_wrong_is_said(values, word, error, message):
    with pytest.raises(error, match=message):
        values(["prog", word])


def test_flags_are_read_when_one_is_looked_at_and_can_be_set(values, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["prog", "--lr=7"])
    assert not values.is_parsed() and values.lr == 7.0
    values.lr = 8.0
    assert values.lr == 8.0 and values["lr"].default == 0.1 and "lr" in values
    with pytest.raises(AttributeError):
        values.nothing  # noqa: B018
    with pytest.raises(flags.DuplicateFlagError, match="'lr' is defined twice"):
        flags.DEFINE_float("lr", 1.0, "again", flag_values=values)
    del values.lr
    assert list(values)[:2] == ["job_name", "task_index"] and "lr" not in values


def test_a_flag_may_be_required():
    made = flags.FlagValues()
    flags.DEFINE_string("data", None, "where", flag_values=made)
    flags.mark_flag_as_required("data", made)
    with pytest.raises(flags.IllegalFlagValueError, match="--data must have a value"):
        made(["prog"])


def test_run_gives_main_what_is_no_flag_and_says_what_flags_there_are(capsys):
    flags.DEFINE_integer("steps_of_test", 3, "how many")
    try:
        seen = []
        with pytest.raises(SystemExit) as ended:
            tf.app.run(
                lambda argv: seen.append((argv, flags.FLAGS.steps_of_test)), ["p", "a", "-q"]
            )
        assert ended.value.code is None and seen == [(["p", "a", "-q"], 3)]
        with pytest.raises(SystemExit) as ended:
            tf.app.run(seen.append, ["p", "--steps_of_test=x"])
        assert ended.value.code == 1 and "steps_of_test=x" in capsys.readouterr().err
        with pytest.raises(SystemExit):
            tf.app.run(seen.append, ["p", "--help"])
        assert "--steps_of_test: how many" in capsys.readouterr().out
    finally:
        del flags.FLAGS.steps_of_test
