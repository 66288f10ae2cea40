"""The page on TensorFlow's names lists what the package has."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import hybridnet.compat.tf1 as tf

PAGE = Path(__file__).resolve().parent.parent / "docs" / "tensorflow.md"
_ROW = re.compile(r"^\| `(tf[.\w]*)` \| (.*) \|$", re.M)
#: The namespaces of TensorFlow's that the package has.
_SPACES = (
    "app", "errors", "initializers", "linalg", "logging", "losses", "math", "nest", "nn", "random",
    "sparse", "summary", "train",
)  # fmt: skip


def _names(module: ModuleType) -> set[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return set(listed)
    found = {name: one for name, one in vars(module).items() if not name.startswith("_")}
    return {name for name, one in found.items() if not isinstance(one, ModuleType)} - {
        "annotations"
    }


def _written() -> dict[str, set[str]]:
    return {name: set(re.findall(r"`(\w+)`", row)) for name, row in _ROW.findall(PAGE.read_text())}


def test_the_page_lists_the_namespaces():
    assert _written().keys() == {"tf", *(f"tf.{one}" for one in _SPACES)}


@pytest.mark.parametrize("space", ["", *_SPACES])
def test_the_page_lists_the_names(space: str):
    module = getattr(tf, space) if space else tf
    written = _written()[f"tf.{space}" if space else "tf"]
    assert written == _names(module), "change the table in docs/tensorflow.md"


@pytest.mark.parametrize("space", ["", *_SPACES])
def test_functions_and_classes_say_what_they_do(space: str):
    module = getattr(tf, space) if space else tf
    for name in _names(module):
        one = getattr(module, name)
        if callable(one):
            assert inspect.getdoc(one), name


def test_app_runs_main_and_ends_with_what_it_returns():
    with pytest.raises(SystemExit) as ended:
        tf.app.run(lambda argv: len(argv), ["script", "one"])
    assert ended.value.code == 2


def test_logging_is_that_of_python(caplog: pytest.LogCaptureFixture):
    before = tf.logging.get_verbosity()
    try:
        tf.logging.set_verbosity(tf.logging.WARN)
        tf.logging.info("not shown")
        tf.logging.warn("step %d", 3)
    finally:
        tf.logging.set_verbosity(before)
    assert [one.getMessage() for one in caplog.records] == ["step 3"]
