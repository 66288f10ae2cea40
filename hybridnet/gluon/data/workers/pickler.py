"""Cloudpickle's pickler, with our arrays as views of their memory, and modules looked at twice."""

from __future__ import annotations

import importlib
import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.machinery import ModuleSpec
from types import CodeType, FunctionType, ModuleType
from typing import Any, BinaryIO

import cloudpickle

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.interrupts import is_from_signal
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.share import adopt, peek

if sys.version_info >= (3, 14):
    from annotationlib import Format, get_annotations

    @contextmanager
    def _with_annotations(function: FunctionType) -> Iterator[None]:
        """A block in which a function has annotations, as texts if need be.

        Cloudpickle asks for them, and so they are evaluated: they may name what only type checkers
        import.
        """
        annotate = function.__annotate__
        try:
            function.__annotations__  # noqa: B018, which evaluates them
        except Exception as error:
            if is_from_signal(error):
                raise
            function.__annotations__ = get_annotations(function, format=Format.STRING)
        try:
            yield
        finally:
            if function.__annotate__ is not annotate:
                function.__annotate__ = annotate

else:

    def _with_annotations(function: FunctionType) -> AbstractContextManager[None]:
        return nullcontext()


def _rebuild(kind: type[NDArray], host: NumpyArray) -> NDArray:
    return adopt(host, kind)


def _code(file: str, make: Callable[..., CodeType], parts: tuple[Any, ...]) -> CodeType:
    """Returns code that knows the file it is from, for the lines that errors name.

    Cloudpickle has all code be from "<dynamic-code>".
    """
    return make(*parts).replace(co_filename=file)


def _is_found_elsewhere(name: str) -> bool:
    """Whether another process that has this one's `sys.path` can import a module."""
    module = sys.modules.get(name)
    if name.partition(".")[0] in sys.stdlib_module_names:
        return True
    try:
        # The finders are asked and not `sys.modules`: tools load files under names of their own.
        spec = _spec(name)
    except (ImportError, ValueError, AttributeError):
        return False
    if spec is None:
        return False
    file = getattr(module, "__file__", None)
    return file is None or not spec.has_location or spec.origin == file


def _spec(name: str) -> ModuleSpec | None:
    parent, _, _ = name.rpartition(".")
    path = getattr(sys.modules.get(parent), "__path__", None) if parent else None
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        found: ModuleSpec | None = None if find is None else find(name, path)
        if found is not None:
            return found
    return None


class Pickler(cloudpickle.Pickler):
    """Writes one object.

    Args:
        file: what to write to.
        collect: takes the memory of each array.

    Attributes:
        modules: the names of the modules that what was written is found in.
    """

    def __init__(self, file: BinaryIO, collect: Callable[[Any], Any]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL, collect)
        self.modules: list[str] = []
        self._by_value: list[ModuleType] = []
        self._known: set[str] = set()

    def reducer_override(self, obj: Any) -> Any:
        """Says how an object is written: called by pickle for each that it has no way for."""
        if isinstance(obj, NDArray) and type(obj).__getstate__ is NDArray.__getstate__:
            return _rebuild, (type(obj), peek(obj))
        if isinstance(obj, (type, FunctionType)):
            self._look_at(getattr(obj, "__module__", None))
        elif isinstance(obj, ModuleType):
            self._look_at(obj.__name__)
            if type(obj) is not ModuleType and sys.modules.get(obj.__name__) is obj:
                return importlib.import_module, (obj.__name__,)  # cloudpickle knows plain ones
        if isinstance(obj, CodeType):
            made: tuple[Any, ...] = self.dispatch_table[CodeType](obj)
            return _code, (obj.co_filename, *made)
        if isinstance(obj, FunctionType):
            with _with_annotations(obj):
                return super().reducer_override(obj)
        return super().reducer_override(obj)

    def _look_at(self, name: str | None) -> None:
        if not name or name == "__main__" or name in self._known:
            return
        self._known.add(name)
        module = sys.modules.get(name)
        if module is not None and not _is_found_elsewhere(name):
            cloudpickle.register_pickle_by_value(module)
            self._by_value.append(module)
        else:
            self.modules.append(name)

    def dump(self, obj: Any) -> None:
        """Writes it."""
        try:
            super().dump(obj)
        finally:
            for module in self._by_value:
                cloudpickle.unregister_pickle_by_value(module)
