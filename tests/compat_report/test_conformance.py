"""The record of MXNet's own tests: made of a run, read, shown, and what README.md says of it."""

import json

import pytest
from places import ROOT

from hybridnet.base.errors import FormatError
from hybridnet.compat_report import conformance
from hybridnet.compat_report.__main__ import main
from hybridnet.compat_report.conformance import read_record, record_run

BASELINE = {
    "areas": {"arrays": ["test_a.py"], "symbols": ["test_b.py", "test_c.py"]},
    "tests": {
        "test_a.py::one": {"o": "passed"},
        "test_a.py::two": {"o": "failed"},
        "test_b.py::one": {"o": "passed"},
        "test_c.py::one": {"o": "passed"},
    },
}
RUN = {
    "meta": {
        "date": "2030-01-02T03:04Z", "target_version": "9.9", "tag": "1.9.1", "python": "3.11.7",
        "numpy": "2.4", "jax": "0.10",
    },
    "tests": {
        "test_a.py::one": {"o": "passed"},
        "test_a.py::two": {"o": "passed"},  # does not count: it fails on MXNet
        "test_b.py::one": {"o": "timeout"},
    },
}  # fmt: skip
SENTENCE = (
    "Of MXNet 1.9.1's own 3 unit tests that pass on MXNet itself, 1 pass on hybridnet 9.9 "
    "(2030-01-02, Python 3.11.7, NumPy 2.4, JAX 0.10)."
)


@pytest.fixture
def files(tmp_path, monkeypatch):
    for name, content in (("run", RUN), ("baseline", BASELINE)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    monkeypatch.setattr(conformance, "bundled_path", lambda: tmp_path / "record.json")
    return tmp_path


def test_what_passes_on_mxnet_counts(files):
    made = record_run(files / "run.json", files / "baseline.json")
    assert read_record() == made
    assert (made.tests, made.passed, made.sentence()) == (3, 1, SENTENCE)
    assert made.areas["symbols"].failing == ["test_b.py::one", "test_c.py::one"]
    assert made.table() == "arrays   1/1\nsymbols  0/2"


def test_the_command_records_shows_and_writes_the_readme(files, capsys):
    page = files / "page.md"
    page.write_text("# Head\n<!-- tests of MXNet -->\nold\n<!-- end -->\nTail\n")
    given = [str(files / "run.json"), "--baseline", str(files / "baseline.json")]
    assert main(["--record", *given, "--readme", str(page)]) == 0
    assert capsys.readouterr().out == f"{SENTENCE}\n\narrays   1/1\nsymbols  0/2\n"
    assert page.read_text().splitlines()[1:4] == [
        "<!-- tests of MXNet -->",
        SENTENCE,
        "<!-- end -->",
    ]
    assert main(["--failing"]) == 0
    assert capsys.readouterr().out == "test_b.py::one\ntest_c.py::one\n"
    with pytest.raises(SystemExit):
        main(["--record", given[0]])
    assert "--record needs --baseline" in capsys.readouterr().err


def test_files_that_are_no_runs_are_refused(files):
    for text, said in (("{", "must be JSON"), ("[]", "with meta and tests"), ("{}", "with meta")):
        (files / "run.json").write_text(text)
        with pytest.raises(FormatError, match=said):
            record_run(files / "run.json", files / "baseline.json")
    (files / "record.json").write_text("{}")
    with pytest.raises(FormatError, match="must be a record of MXNet's tests"):
        read_record()
    (files / "page.md").write_text("nothing")
    (files / "run.json").write_text(json.dumps(RUN))
    made = record_run(files / "run.json", files / "baseline.json")
    with pytest.raises(FormatError, match="must have the lines"):
        conformance.update_readme(made, files / "page.md")


def test_the_readme_says_what_the_bundled_record_says():
    record = read_record()
    assert record.sentence() in (ROOT / "README.md").read_text()
    assert record.tests == 914
    assert all(len(a.failing) == a.tests - a.passed for a in record.areas.values())
