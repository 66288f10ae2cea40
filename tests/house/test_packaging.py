"""The list of packages in pyproject.toml holds every folder of code, and nothing else."""

import tomllib

from places import ROOT


def test_every_folder_of_code_is_packaged():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
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

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert project["project"]["version"] == hybridnet.__version__
