"""Modules that are imported late, and by a thread of ours: nobody meets one in halves."""

import sys
import threading

import pytest

from hybridnet.base.whole_import import import_whole

_SOURCE = """
import threading
started, go = threading.Event(), threading.Event()
started.set()
assert go.wait(60)
Array = int
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The name of a package whose import waits in its midst until it is told to go on."""
    name = "imported_in_halves"
    (tmp_path / f"{name}.py").write_text(_SOURCE)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def _spinning_until(condition, thread):
    while not condition():
        assert thread.is_alive()
        thread.join(0.001)


def test_who_finds_a_module_half_loaded_waits_for_its_names(package):
    found = []
    loads = threading.Thread(target=import_whole, args=(package,))
    loads.start()
    # (Asked for a name that is not there yet, the module would wait for it.)
    _spinning_until(lambda: "started" in vars(sys.modules.get(package, threading)), loads)
    module = sys.modules[package]

    # What SciPy does with whatever it is given.
    asks = threading.Thread(target=lambda: found.append(sys.modules[package].Array))
    asks.start()
    _spinning_until(
        lambda: (
            found
            or sys._current_frames()[asks.ident].f_globals["__name__"] == "importlib._bootstrap"
        ),
        asks,
    )
    assert not found
    module.go.set()
    for thread in (loads, asks):
        thread.join(60)
    assert found == [int]
    assert type(module) is type(sys)
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        _ = module.other


def test_what_is_missing_is_said_as_always():
    with pytest.raises(ModuleNotFoundError, match="no_such_package_anywhere"):
        import_whole("no_such_package_anywhere")
    assert import_whole("json") is sys.modules["json"]
