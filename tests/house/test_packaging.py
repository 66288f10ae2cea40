"""What is packaged, and what is said of it: packages, extras, the page of an index."""

import importlib.util
import re
import subprocess
import sys
import tomllib

import pytest
from places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]


def test_every_folder_of_code_is_packaged():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    listed = set(project["tool"]["setuptools"]["packages"])
    folders = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "hybridnet").rglob("__init__.py")
    }
    folders |= {
        ".".join(("hybridnet", *path.parent.relative_to(ROOT).parts))
        for name in ("engine", "kvstore")
        for path in (ROOT / name).rglob("__init__.py")
    }
    assert listed == folders


def test_every_module_is_in_a_package():
    for path in (ROOT / "hybridnet").rglob("*.py"):
        assert (path.parent / "__init__.py").exists(), path


def test_what_type_checkers_read_is_shipped():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    data = project["tool"]["setuptools"]["package-data"]
    assert data["*"] == ["*.pyi"]
    assert "py.typed" in data["hybridnet"]


def test_version_is_the_same_everywhere():
    import hybridnet

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["version"] == hybridnet.__version__


def brought_by(extra):
    """Returns the packages that an extra brings by itself or by others."""
    found = set()
    for line in EXTRAS[extra]:
        name, _, parts = re.match(r"([\w.-]+)(\[([\w,]+)\])?", line).groups()
        if name == "hybridnet":
            found |= {one for part in parts.split(",") for one in brought_by(part)}
        else:
            found.add(name.lower())
    return found


def test_extras_that_are_named_anywhere_exist():
    for path in [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.rglob("hybridnet/**/*.py")]:
        for names in re.findall(r"hybridnet\[([a-z0-9,]+)\]", path.read_text(encoding="utf-8")):
            assert set(names.split(",")) <= set(EXTRAS), path


def lazily(module):
    from hybridnet.base.lazy import _LazyModule

    return lambda: _LazyModule(module).anything


def by(module, function, *arguments):
    return lambda: getattr(importlib.import_module(f"hybridnet.{module}"), function)(*arguments)


#: Module that is missing -> the package that has it, and what asks for it.
MISSING = {
    "cv2": ("opencv-python-headless", lazily("cv2")),
    "farmhash": ("pyfarmhash", lazily("farmhash")),
    "fsspec": ("fsspec", lazily("fsspec")),
    "google.protobuf": ("protobuf", lazily("google.protobuf")),
    "onnx": ("onnx", lazily("onnx")),
    "zmq": ("pyzmq", by("kvstore.transport.zmq_library", "load_zmq")),
    "safetensors": ("safetensors", by("checkpoint.tensor_file", "import_safetensors")),
    "safetensors.numpy": (
        "safetensors",
        by("gluon.model_zoo.folders.tensors", "import_safetensors", "text"),
    ),
    "tokenizers": ("tokenizers", by("gluon.model_zoo.text.tokenizer", "_import_tokenizers")),
    "jinja2": ("jinja2", by("gluon.model_zoo.text.tokenizer", "_import_jinja")),
    **{
        name: (name, by("visualization.layers", "import_extra", name, "plot"))
        for name in ("matplotlib", "networkx", "graphviz", "rich")
    },
}


@pytest.mark.parametrize("module", MISSING)
def test_the_extra_that_an_error_names_brings_what_is_missing(module, monkeypatch):
    package, ask = MISSING[module]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError) as caught:
        ask()
    named = re.findall(r"'hybridnet\[(\w+)\]'", str(caught.value))
    assert named, caught.value
    for extra in named:
        assert package in brought_by(extra)


def test_lazy_modules_that_may_be_missing_are_all_tried():
    from hybridnet.base.lazy import _EXTRAS

    assert {name for name in _EXTRAS if name != "google"} <= set(MISSING)


def index_page(*arguments):
    spec = importlib.util.spec_from_file_location("hybridnet_setup", ROOT / "setup.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.index_page(*arguments)


def test_the_page_of_an_index_has_no_dead_links():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for source in (PROJECT.get("urls", {}).get("Source"), None, "https://host/tree"):
        page = index_page(readme, source)
        led = re.findall(r"\]\(([^)]*)\)", page)
        assert all(one.startswith(("https://", "#")) for one in led), led
        assert bool([one for one in led if one.startswith("https://host/tree/docs/")]) == (
            source == "https://host/tree"
        )
    assert index_page("a [b](docs/b.md#c) ![d](e.png) [f](#g)", None) == "a b  [f](#g)"


def test_a_source_tree_before_an_installation_is_whole():
    code = """
        import sys
        # As beside a wheel: an editable installation would say where these are.
        sys.meta_path[:] = [one for one in sys.meta_path if "editable" not in repr(one).lower()]
        import hybridnet.engine, hybridnet.kvstore.system, hybridnet
        print(hybridnet.__file__, hybridnet.engine.__file__, hybridnet.kvstore.system.__file__)
    """
    done = subprocess.run(
        [sys.executable, "-c", "if True:" + code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = ("hybridnet/__init__.py", "engine/__init__.py", "kvstore/system.py")
    assert done.stdout.split() == [str(ROOT / path) for path in wanted]
