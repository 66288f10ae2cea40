"""The corpus of planted bugs: each is named at its line, and sound programs have no errors.

``python tests/debug/corpus/score.py`` prints the table.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from generate import ALL, EACH, KINDS, planted, sound
from helpers import thorough
from judge import RIGHT, accepted, judge, places
from program import MARK, Program
from run_program import run
from score import SCOPES, same, score

PLANTED = [one for one in planted() if one.library == "hybridnet"]
SOUND = sound()
#: In this process run all that may, every fifth of them in the usual run of the tests.
QUICK = [one for one in PLANTED if not one.alone][::6]
QUICK_SOUND = [one for one in SOUND if not one.alone][::9]


def _names(programs: list[Program]) -> list[str]:
    return [one.name for one in programs]


def _file(program: Program, folder: Path) -> str:
    file = folder / f"{program.name}.py"
    file.write_text(program.text)
    return str(file)


@pytest.mark.parametrize("program", QUICK, ids=_names(QUICK))
def test_the_line_of_a_planted_bug_is_named(program, tmp_path):
    file = _file(program, tmp_path)
    request = {"file": file, "library": "hybridnet", "scopes": SCOPES[program.kind]}
    verdict, why = judge(program, file, run(request))
    assert verdict == RIGHT, why


@pytest.mark.parametrize("program", QUICK_SOUND, ids=_names(QUICK_SOUND))
def test_a_sound_program_has_no_error_and_the_same_results(program, tmp_path):
    request = {"file": _file(program, tmp_path), "library": "hybridnet"}
    plain, watched = (run({**request, "scopes": one}) for one in ([], ["nans", "indices"]))
    assert not plain["raised"] and not watched["raised"], plain["text"] + watched["text"]
    assert same(plain["results"], watched["results"])


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_every_line_is_named(kind, tmp_path):
    programs = [one for one in PLANTED if one.kind == kind][:: thorough(1, 9)]
    found = list(score(programs, tmp_path, {"hybridnet": sys.executable}))
    assert [one.why for one in found if one.what != RIGHT] == []


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_no_sound_program_has_an_error(tmp_path):
    found = list(score(SOUND[:: thorough(1, 9)], tmp_path, {"hybridnet": sys.executable}))
    assert [(one.program.name, one.why) for one in found if one.what != "fine"] == []


@pytest.mark.slow
def test_the_corpus_is_what_it_says():
    assert [len([one for one in PLANTED if one.kind == kind]) for kind in KINDS] == [EACH] * 4
    assert len(SOUND) == ALL
    for programs in (planted(), SOUND):
        assert len({(one.name, one.library) for one in programs}) == len(programs)
        assert len({one.text for one in programs}) == len(programs)
    assert planted() == planted()
    for one in planted():
        ast.parse(one.text)
        assert accepted(one.text), one.name
    assert not any(MARK in one.text for one in SOUND)


def test_which_lines_a_text_names():
    text = "asked for at a/x.py:12, 8,388,608 MiB; x.py:3-5, 9, y.py:7; y.py:8"
    assert places(text, "x.py") == [[12, 12], [3, 5, 9, 9]]
    traced = 'File "a/x.py", line 4, in f\n  File "b.py", line 1\nFile "a/x.py", line 6, in g'
    assert places(traced, "x.py") == [[6]]


def test_which_lines_are_accepted():
    text = f"a = [\n    lambda x: x,  {MARK}\n    2,\n]\nfor i in (\n    1,  {MARK}\n):\n    pass\n"
    assert accepted(text) == [(2, 2), (5, 7)]
