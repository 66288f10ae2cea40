"""Each lab: our solution passes, a stub fails politely, planted mistakes are told apart, and LeNet
is trained with the part.

Mistakes are in planted/LAB.toml: what to replace in the solution, the property that then fails, and
words of what is said.
"""

import ast
import json
import os
import re
import signal
import string
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers import run_script, thorough
from places import ROOT

from hybridnet.labs import NAMES
from hybridnet.labs.checking import tried
from hybridnet.labs.command import add_lab
from hybridnet.labs.folder import load_part, opened, start
from hybridnet.labs.lab import Lab
from hybridnet.labs.messages import as_table
from hybridnet.labs.report import as_text
from hybridnet.labs.words import LANGUAGES, flat, read_table

PLANTED = {
    name: tomllib.loads((Path(__file__).parent / f"planted/{name}.toml").read_text("utf-8"))[
        "wrong"
    ]
    for name in NAMES
}
BY_PROCESSES = ("ring", "server")
STEPS = thorough(24, 8)
BEGUN = """
import json
from hybridnet.labs import training
from pathlib import Path
from hybridnet.labs.folder import load_part, opened

whole = training._prepared

def begun(*arguments):
    way, digits, rows = whole(*arguments)
    return way, digits, rows[:{steps}]

training._prepared = begun
folder = opened(Path({folder!r}))
outcome = folder.lab.runner.run(load_part(folder.part), folder.pictures)
print(json.dumps(outcome.as_table()))
"""
WRONG = [(name, number) for name in NAMES for number in range(len(PLANTED[name]))]
FEWER = WRONG[:: thorough(1, 2)]


def made(lab, text, tmp_path, language="en"):
    folder = start(Lab(lab), tmp_path / "work", language)
    folder.part.write_text(text, encoding="utf-8")
    return folder


def first_wrong(folder, expected=None, few=30):
    """Returns the name of the first property that does not hold, and what is said then.

    Args:
        expected: what is to be found.
        few: the most examples that others are tried with, but for a night's run.
    """
    part = load_part(folder.part)
    for check in folder.lab.checks:
        if check.name != expected:
            check = replace(check, tries=thorough(check.tries, min(check.tries, few)))
        finding = tried(check, part, str(folder.part))
        if finding is not None:
            message = {"kind": "found", "finding": as_table(finding)}
            return check.name, as_text(message, folder.words)
    return None, ""


def command(*arguments, encoding="utf-8"):
    """Runs `hybridnet lab`, at a terminal of an encoding; returns its status and what it prints."""
    ran = subprocess.run(
        [sys.executable, "-m", "hybridnet", "lab", *map(str, arguments)],
        capture_output=True,
        encoding=encoding,
        timeout=280,
        env={
            "HYBRIDNET_LAB_SECONDS": "200",  # beside other work
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONUTF8": "1",
            "PYTHONIOENCODING": encoding,
        },
    )
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_solution_passes(name, tmp_path):
    assert first_wrong(made(name, Lab(name).solution(), tmp_path)) == (None, "")


@pytest.mark.parametrize("name", NAMES)
def test_a_stub_fails_politely(name, tmp_path):
    check, text = first_wrong(start(Lab(name), tmp_path / "work", "en"))
    assert check == Lab(name).checks[0].name
    assert text.startswith("This is not written yet")
    assert "in part.py, line " in text


@pytest.mark.slow
@pytest.mark.parametrize(("name", "number"), FEWER, ids=[f"{n}-{i}" for n, i in FEWER])
def test_a_planted_mistake_is_told(name, number, tmp_path):
    planted, text = PLANTED[name][number], Lab(name).solution()
    assert text.count(planted["old"]) == 1
    folder = made(name, text.replace(planted["old"], planted["new"]), tmp_path)
    check, said = first_wrong(folder, planted["check"], 20)
    assert (check, planted["says"] in said) == (planted["check"], True), said


@pytest.mark.parametrize("name", NAMES)
def test_mistakes_are_told_apart(name):
    assert len(PLANTED[name]) >= 3
    assert len({planted["says"] for planted in PLANTED[name]}) == len(PLANTED[name])


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name for name in NAMES if name not in BY_PROCESSES][:: thorough(1, 2)]
)
def test_the_first_steps_are_taken_with_the_part(name, tmp_path):
    folder = made(name, Lab(name).solution(), tmp_path)
    ran = run_script(BEGUN.format(steps=STEPS, folder=str(folder.path)))
    outcome = json.loads(ran.splitlines()[-1])
    assert len(outcome["losses"]) == STEPS
    assert np.isfinite(outcome["losses"]).all()
    outcome["counts"].pop("left_out", None)  # steps that are left out come later
    assert outcome["counts"]
    assert min(outcome["counts"].values()) > 0, outcome["counts"]
    assert outcome["pictures"]
    assert all(Path(file).stat().st_size > 500 for file in outcome["pictures"])


@pytest.mark.slow
@pytest.mark.parametrize("name", thorough(NAMES, ("engine",)))
def test_lenet_is_trained_with_the_part(name, tmp_path):
    folder = made(name, Lab(name).solution(), tmp_path)
    status, text = command("run", folder.path)
    assert status == 0, text
    accuracy = re.search(r"LeNet: ([\d.]+)% of the test digits", text)
    assert float(accuracy[1]) >= 95, text
    counts = [int(count.replace(",", "")) for count in re.findall(r"([\d,]+) times?$", text, re.M)]
    assert counts, text
    assert min(counts) > 0, text
    drawn = re.findall(r"^drawn: (.+)$", text, re.M)
    assert drawn, text
    assert all(Path(file).stat().st_size > 500 for file in drawn)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_folder_has_what_it_takes(name, tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    before = pyplot.get_fignums()
    for language in LANGUAGES:
        folder = start(Lab(name), tmp_path / language, language)
        assert len(folder.part.read_text(encoding="utf-8").splitlines()) <= 80
        Lab(name).runner.figure(folder.pictures)
        page = (folder.path / "README.md").read_text(encoding="utf-8")
        figures = set(re.findall(r"`pictures/(figure[^`]*)`", page))
        assert figures == {file.name for file in folder.pictures.iterdir()}
        assert "hybridnet lab check" in page
        assert "hybridnet lab run" in page
        assert opened(folder.path).lab == folder.lab
    assert pyplot.get_fignums() == before


@pytest.mark.parametrize("lab", [None, *NAMES])
def test_both_languages_say_the_same(lab):
    english, chinese = (flat(read_table(language, lab)) for language in ("en", "zh"))
    assert english.keys() == chinese.keys()
    for key, sentence in english.items():
        assert fields_of(sentence) == fields_of(chinese[key]), key
        if key != "files.test":
            assert not re.search("[\u4e00-\u9fff]", sentence), key
    if lab is not None:
        assert {f"checks.{check.name}" for check in Lab(lab).checks} <= english.keys()
        assert plain(Lab(lab).text("en", "part.txt")) == plain(Lab(lab).text("zh", "part.txt"))
        assert re.search("[\u4e00-\u9fff]", Lab(lab).text("zh", "page.md"))


def fields_of(sentence):
    return {field for _, field, _, _ in string.Formatter().parse(sentence) if field is not None}


def plain(text):
    """Returns the program of a text without its documentation."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                value.value = ""
    return ast.dump(tree)


@pytest.mark.slow
def test_the_command_says_what_holds(tmp_path):
    work = tmp_path / "my engine"
    assert command("start", "engine", work, "--lang", "en")[0] == 0
    status, text = command("check", work)
    assert status == 1
    assert "✗ no task runs before" in text
    (work / "part.py").write_text(command("solution", 1)[1], encoding="utf-8")
    status, text = command("check", work)
    assert status == 0
    assert text.count("✓") == len(Lab("engine").checks)
    assert "All properties hold" in text


@pytest.mark.slow
def test_in_chinese(tmp_path):
    status, text = command("list", "--lang", "zh")
    assert status == 0
    assert "引擎" in text
    assert command("start", "1", tmp_path / "work", "--lang", "zh")[0] == 0
    status, text = command("check", tmp_path / "work")
    assert status == 1
    assert "这里还没有写" in text


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["ascii", "gbk", "cp1252"])
def test_a_terminal_that_shows_less_is_told_what_it_shows(encoding, tmp_path):
    """Ticks are in none of them, Chinese is in one."""
    assert command("list", "--lang", "zh", encoding=encoding)[0] == 0
    text = Lab("engine").solution().replace("return not missing", "return 1")
    folder = made("engine", f"{text}\nprint('中文 ✓')\n", tmp_path, "zh")
    status, said = command("check", folder.path, encoding=encoding)
    assert (status, said[:2]) == (1, "- "), said
    assert ("任务不会先于" if encoding == "gbk" else "no task runs before") in said
    assert "Traceback" not in said


PARTS = {
    "while True:\n    pass": "did not end in time",
    "import os\nos._exit(3)": "has ended by itself (status 3)",
    "raise SystemExit": "has ended by itself",
    "class Order(:": "part.py is not valid Python",
    "import nowhere_to_be_found": "Your part raised ModuleNotFoundError",
    "": "Something that the stub has is missing: ",
    "import ctypes\nctypes.string_at(0)": "has ended by itself",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", PARTS, ids=range(len(PARTS)))
def test_whatever_a_part_does_is_told(text, tmp_path, monkeypatch):
    monkeypatch.setenv("HYBRIDNET_LAB_SECONDS", "5")
    folder = made("engine", text, tmp_path)
    status, said = command("check", folder.path)
    assert status == 1
    assert PARTS[text] in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_what_does_not_end_is_told_with_its_line(tmp_path, monkeypatch):
    monkeypatch.setenv("HYBRIDNET_LAB_SECONDS", "5")
    text = (
        Lab("engine")
        .solution()
        .replace(
            "            while queue:\n",
            "            while True:\n                continue\n            while queue:\n",
        )
    )
    folder = made("engine", text, tmp_path)
    status, said = command("check", folder.path)
    assert status == 1
    assert "did not end in time" in said
    assert "in complete" in said


def test_control_c_ends_it(tmp_path):
    folder = made("engine", "print('here', flush=True)\nwhile True:\n    pass\n", tmp_path)
    running = subprocess.Popen(
        [sys.executable, "-m", "hybridnet", "lab", "check", str(folder.path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with running:
        assert running.stdout.readline() == "here\n"
        running.send_signal(signal.SIGINT)
        said = running.stdout.read()  # its end comes when the part's process is gone, too
    assert running.returncode == 130
    assert "interrupted" in said
    assert "did not end in time" not in said
    assert "Traceback" not in said


def test_what_a_part_has_started_ends_with_it(tmp_path):
    text = """
import subprocess
subprocess.Popen(["sleep", "1000"])
raise SystemExit
"""
    status, said = command("check", made("engine", text, tmp_path).path)
    assert status == 1
    assert "has ended by itself (status 0)" in said


@pytest.mark.slow
def test_the_test_file_says_it_too(tmp_path):
    folder = made("engine", Lab("engine").solution(), tmp_path)
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_part.py"]
    ran = subprocess.run(run, cwd=folder.path, capture_output=True, text=True, timeout=280)
    assert f"{len(folder.lab.checks)} passed" in ran.stdout


@pytest.mark.slow
def test_what_is_no_folder_is_refused(tmp_path):
    assert "is no folder of a lab" in command("check", tmp_path)[1]
    assert command("check", tmp_path)[0] == 2
    (tmp_path / "lab.toml").write_text("lab = 3")
    assert "needs the lines lab and language" in command("check", tmp_path)[1]
    assert "there is no lab 'x'; there are engine" in command("start", "x", tmp_path / "y")[1]
    assert "needs a folder that is empty" in command("start", "engine", tmp_path)[1]
    folder = made("engine", "", tmp_path)
    folder.part.unlink()
    assert "part.py cannot be read" in command("check", folder.path)[1]


def test_help_names_the_labs():
    import argparse

    parser = argparse.ArgumentParser()
    add_lab(parser.add_subparsers())
    assert parser.parse_args(["lab", "start", "engine", "x"]).name == "engine"
