"""Python's import system finds hybridnet under the name `mxnet`.

The package ``mxnet`` is a module of its own, since it has MXNet's version. All that is in it are
hybridnet's own modules: `mxnet.nd` is `hybridnet.nd`, as programs that ask ``F is mx.nd`` expect.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from types import ModuleType
from typing import Any, Final, final

from hybridnet.base import context as _context
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError
from hybridnet.base.unsupported import NotSupportedError, missing

from .numpy_names import restore_numpy_names
from .old_modules import restore_modules
from .places import PLACES, WIDER
from .python_names import restore_python_names

__all__ = ["VERSION", "install", "is_installed", "uninstall"]

#: The version of MXNet whose names and behaviour these are.
VERSION: Final = "1.9.1"
_OURS: Final = "hybridnet"
#: The package itself, which is above this module and knows all others.
_package: Final[Any] = sys.modules[_OURS]
_THEIRS: Final = "mxnet"


def install(numpy_names: bool = False) -> None:
    """Makes ``import mxnet`` import hybridnet, from now on and in this process.

    Calling it again changes nothing.

    Args:
        numpy_names: whether NumPy and Python also get the names back that they dropped after
            MXNet's last release, such as ``np.bool`` and ``collections.Mapping``
            (`restore_numpy_names`, `restore_python_names`, `restore_modules`).

    Raises:
        MXNetError: MXNet itself has been imported before.
    """
    loaded = sys.modules.get(_THEIRS)
    if loaded is not None and not isinstance(loaded, _Package) and _file(loaded) != _STARTER:
        raise MXNetError(
            f"install: MXNet itself has been imported, from {_file(loaded)}; call "
            "hybridnet.compat.mxnet.install() before the first `import mxnet`"
        )
    if numpy_names:
        restore_numpy_names()
        restore_python_names()
        restore_modules()
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
        sys.meta_path.append(_unfound)
    Context.__module__ = f"{_THEIRS}.context"  # files of GluonTS say where it is, for MXNet too
    if _FOLDER not in sys.path:
        sys.path.append(_FOLDER)  # processes that get this one's search path find it, too
    if loaded is not None and not isinstance(loaded, _Package):
        spec = ModuleSpec(_THEIRS, _Given(_make_package()), is_package=True)
        sys.modules[_THEIRS] = module_from_spec(spec)


def is_installed() -> bool:
    """Whether ``import mxnet`` imports hybridnet in this process."""
    return _finder in sys.meta_path


def uninstall() -> None:
    """Undoes `install`: ``import mxnet`` finds MXNet again, where that is installed.

    What was imported stays usable. NumPy's names stay.
    """
    for finder in (_finder, _unfound):
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
    Context.__module__ = _context.__name__
    if _FOLDER in sys.path:
        sys.path.remove(_FOLDER)
    for name in [one for one in sys.modules if one.partition(".")[0] == _THEIRS]:
        del sys.modules[name]


def _file(module: ModuleType) -> str | None:
    return getattr(module, "__file__", None)


#: The file that Python finds as `mxnet` in processes started by ``hybridnet run``.
_FOLDER: Final = os.path.join(os.path.dirname(__file__), "path")
_STARTER: Final = os.path.join(_FOLDER, "mxnet.py")


@final
class _Package(ModuleType):
    """The module `mxnet`: hybridnet's names, and MXNet's version."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {_THEIRS!r} has no attribute {name!r}")
        value = getattr(_package, name, None) or _find(name)
        if value is None:
            value = getattr(_package, name)  # an error that says what to use
        if isinstance(value, ModuleType):
            value = _adapt(value, name)
        self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(_package)})


@final
class _Given(Loader):
    """Loads a module by giving one that exists."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.spec = getattr(module, "__spec__", None)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        if self.spec is not None:
            module.__spec__ = self.spec  # Python has put in the one that it loaded by


@final
class _Finder(MetaPathFinder):
    """Finds `mxnet` and what is in it; asked before all others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if package != _THEIRS:
            return None
        module: ModuleType | None
        if not name:
            module = _make_package()
        else:
            module = _find(name)
            if module is None:
                return None  # others may have it: what users put in the place
            module = _adapt(module, name)
        spec = ModuleSpec(fullname, _Given(module), is_package=hasattr(module, "__path__"))
        spec.has_location = False
        return spec


@final
class _Unfound(MetaPathFinder):
    """Says what to use instead of a module that nobody has found; asked after all others.

    ``from mxnet.gluon import x`` asks hybridnet's own module for x, so both names come here.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, name = fullname.partition(".")
        if not name or package not in (_THEIRS, _OURS):
            return None
        if package == _OURS and name in PLACES:
            return ModuleSpec(fullname, _Given(importlib.import_module(f"{_OURS}.{PLACES[name]}")))
        # Who looks names up (pydoc.locate) tries modules first, and goes on where `name` is set.
        parent, _, last = fullname.rpartition(".")
        if hasattr(sys.modules.get(parent), last):
            raise ModuleNotFoundError(
                f"{fullname} is no module, but a name in {parent}", name=fullname
            )
        raise _Nowhere(name)


@final
class _Nowhere(ModuleNotFoundError):
    """The error of a module that neither MXNet's names nor hybridnet have."""

    def __init__(self, path: str) -> None:
        # Without `name`: Python would hide an error with the name that `from ... import` asked for
        # behind one that says less.
        super().__init__(_explain(path))
        self.sought = path


_finder: Final = _Finder()
_unfound: Final = _Unfound()


def _make_package() -> _Package:
    package = _Package(_THEIRS, _package.__doc__)
    package.__dict__.update(
        __version__=VERSION,
        __hybridnet_version__=_package.__version__,
        __all__=list(_package.__all__),
        __path__=[],
        __file__=__file__,
    )
    return package


def _find(name: str) -> ModuleType | None:
    """Returns hybridnet's module for one of MXNet's names without `mxnet.`; None: it has none."""
    parent, _, leaf = name.rpartition(".")
    owner = _find(parent) if parent else _package
    found = getattr(owner, leaf, None) if owner is not None else None
    if isinstance(found, ModuleType) and found.__name__.partition(".")[0] == _OURS:
        return found
    if owner is None:
        return None
    if not isinstance(found, type) and type(found).__module__.partition(".")[0] == _OURS:
        return _Functions(f"{owner.__name__}.{leaf}", found)
    try:
        return importlib.import_module(f"{_OURS}.{name}")
    except _Nowhere as error:
        if error.sought != name:
            raise  # a module that the module needs
        return None
    except ModuleNotFoundError as error:
        if error.name is None or not f"{_OURS}.{name}.".startswith(f"{error.name}."):
            raise
        return None  # what is a name, such as `nd`, or is in one


@final
class _Functions(ModuleType):
    """A module of MXNet's that is an object here, whose methods are the functions.

    Python puts what it has imported into the package around it, in the object's place.
    """

    def __init__(self, name: str, functions: Any) -> None:
        super().__init__(name, functions.__doc__)
        self._functions = functions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._functions, name)

    def __dir__(self) -> list[str]:
        return dir(self._functions)


def _adapt(module: ModuleType, name: str) -> ModuleType:
    """Installs `_Lookup` as the ``__getattr__`` of a module of hybridnet's; returns the module."""
    own = vars(module).get("__getattr__")
    if not isinstance(own, _Lookup):
        ours = module.__name__.partition(f"{_OURS}.")[2]  # `nd` is `ndarray` in the tables
        vars(module)["__getattr__"] = _Lookup(module, ours or name, own)
        # Python asks for what a package lacks as for a module in it, which `_Unfound` hears of.
        vars(module).setdefault("__path__", [])
        for inner in list(vars(module).values()):
            _adapt_if_listed(inner)
    return module


def _adapt_if_listed(value: Any) -> Any:
    """Adapts a value that is a module in which the tables have names; returns it."""
    if isinstance(value, ModuleType) and value.__name__.partition(f"{_OURS}.")[2] in _LISTED:
        _adapt(value, value.__name__)
    return value


def _with_those_above(paths: Iterable[str]) -> Iterator[str]:
    for path in paths:
        while path:
            yield path
            path = path.rpartition(".")[0]


#: The modules that the tables name, and those around them.
_LISTED: Final = frozenset(_with_those_above((*PLACES, *WIDER)))


@final
class _Lookup:
    """The ``__getattr__`` of a module: it finds names of MXNet's that hybridnet has elsewhere."""

    def __init__(self, module: ModuleType, path: str, own: Callable[[str], Any] | None) -> None:
        self.module, self.path, self.own = module, path, own

    def __call__(self, name: str) -> Any:
        try:
            if self.own is None:
                raise missing(self.path, name, dir(self.module))
            return _adapt_if_listed(self.own(name))
        except AttributeError as error:
            elsewhere = PLACES.get(f"{self.path}.{name}")
            if elsewhere is None:
                return self._wider(name, error)
        return importlib.import_module(f"{_OURS}.{elsewhere}")

    def _wider(self, name: str, error: AttributeError) -> Any:
        """Returns what is in the module of MXNet's name, but in another one here."""
        place = WIDER.get(self.path)
        found = None
        if place is not None and not name.startswith("__"):
            found = vars(importlib.import_module(f"{_OURS}.{place}")).get(name)
        if found is None:
            raise error
        return found


def _explain(path: str) -> str:
    """Returns what to say about a module or name that is nowhere."""
    parent, _, name = path.rpartition(".")
    try:
        getattr(_find(parent) if parent else _package, name)
    except NotSupportedError as error:
        return str(error)
    except AttributeError:
        pass
    return (
        f"{_THEIRS}.{path}: hybridnet has no such module or name; "
        "python -m hybridnet.compat_report --missing all lists what is not here"
    )
