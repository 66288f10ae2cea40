"""Tells functions whose `if`s and `for`s Python knows from those that arrays may decide.

Most of the control flow in users' blocks is about settings: ``if self.bias is None``,
``for layer in self.layers``. Where all that a function decides on is of this kind, its statements
can stay as they are. That is read off its source once, as far as the source says it; what depends
on what names mean (``if self.scaling``) becomes a question, which is asked at each call.

What is not recognized here may depend on arrays: the function is then converted in full.
"""

from __future__ import annotations

import ast
import builtins
import copy
import enum
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from hybridnet.base.context import Context
from hybridnet.ndarray import NDArray

from .builtins import StagedRange, Together
from .prepare import full_name
from .while_loops import UNROLLED

#: Attributes of arrays that are known while tracing.
_FACTS: Final = frozenset({"shape", "ndim", "dtype", "context", "ctx", "stype"})
#: Built-in functions whose results are true or false whatever they are given, or numbers.
_ALWAYS: Final = frozenset({"isinstance", "issubclass", "hasattr", "callable", "len"})
#: Those that make plain values of plain values.
_OF_PLAIN: Final = frozenset(
    {"int", "float", "bool", "str", "abs", "min", "max", "sum", "list", "tuple", "dict", "set"}
    | {"sorted", "round", "divmod", "any", "all"}
)
#: Those, and methods, whose results a loop runs over in Python whatever they are given.
_PYTHON_LOOPS: Final = frozenset({"list", "tuple", "sorted", "reversed"})
_VIEWS: Final = frozenset({"items", "keys", "values"})
_PLAIN_TYPES: Final = (
    *(type(None), bool, int, float, complex, str, bytes, type(...)),
    *(type, np.generic, np.dtype, enum.Enum, Context),
)
_MODULES: Final = frozenset({"math", "numpy"})
# Larger containers are not looked through.
_MOST_ITEMS: Final = 64
_MISSING: Final = object()

_Lookup = Callable[[str], Any]


class _Question(NamedTuple):
    """Something that must hold when the function is called.

    Attributes:
        test: is given what an expression means.
        about: the expression: a name, and attributes read from it, or a range.
    """

    test: Callable[[Any], bool]
    about: ast.expr


@final
class KnownFlow:
    """The questions about a function all of whose control flow may be known."""

    def __init__(self, questions: Sequence[_Question]) -> None:
        self._questions = questions

    def holds(
        self, function: types.FunctionType, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> bool:
        """Whether all control flow is known in a call."""
        if not self._questions:
            return True
        lookup = _lookup(function, args, kwargs)
        return all(question.test(_meaning(question.about, lookup)) for question in self._questions)


def known_flow(node: ast.FunctionDef | ast.Lambda, class_name: str | None) -> KnownFlow | None:
    """Returns what must hold for all control flow of a function to be known; None if it is not.

    Args:
        node: its syntax tree.
        class_name: of the class that it is defined in, if any.
    """
    reading = _Reading(node, class_name)
    for part in ast.walk(node):
        if isinstance(part, (ast.While, ast.AsyncFor, ast.ClassDef, ast.Match)):
            return None
        if isinstance(part, ast.If) and not reading.decides(part.test):
            return None
        if isinstance(part, ast.For) and not reading.loops(part.iter):
            return None
    return KnownFlow(reading.questions)


# -- what the source says --------------------------------------------------------------------------


class _Element(NamedTuple):
    """The value of a variable that is assigned an element of an expression."""

    of: ast.expr


@final
class _Reading:
    """One reading of a function's source.

    Attributes:
        questions: what remains to be asked.
    """

    def __init__(self, node: ast.FunctionDef | ast.Lambda, class_name: str | None) -> None:
        self.questions: list[_Question] = []
        self._class = class_name
        arguments = node.args
        self._parameters = {
            argument.arg
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        }
        # What each variable is assigned anywhere in the function; None for what is not known.
        self._assigned: dict[str, list[ast.expr | _Element | None]] = {}
        for extra in (arguments.vararg, arguments.kwarg):
            if extra is not None:
                self._assign(extra, None)
        for part in ast.walk(node):
            if part is not node:
                self._note(part)
        self._found: dict[tuple[str, str], bool] = {}

    def _note(self, node: ast.AST) -> None:
        """Notes what a statement or expression assigns."""
        match node:
            case ast.Assign():
                for target in node.targets:
                    self._assign(target, node.value)
            case ast.AnnAssign() | ast.NamedExpr() | ast.AugAssign():
                self._assign(node.target, node.value)
            case ast.For() | ast.comprehension():
                self._assign_elements(node.target, node.iter)
            case ast.withitem() if node.optional_vars is not None:
                self._assign(node.optional_vars, None)
            case ast.ExceptHandler() | ast.FunctionDef():
                self._assigned.setdefault(node.name or "", []).append(None)
            case ast.alias():
                name = (node.asname or node.name).partition(".")[0]
                self._assigned.setdefault(name, []).append(None)
            case ast.Global() | ast.Nonlocal():
                for name in node.names:
                    self._assigned.setdefault(name, []).append(None)
            case ast.arg():
                if node.arg not in self._parameters:
                    self._assign(node, None)

    def _assign_elements(self, target: ast.expr, iterated: ast.expr) -> None:
        """Notes what a loop assigns."""
        match target, iterated:
            case ast.Tuple(elts=[number, element]), ast.Call(args=[of]) if self._builtin(
                iterated, {"enumerate"}
            ):
                self._assign(number, ast.Constant(0))
                self._assign_elements(element, of)
            case ast.Tuple(elts=parts), ast.Call(args=args) if self._builtin(
                iterated, {"zip"}
            ) and len(parts) == len(args):
                for part, of in zip(parts, args, strict=True):
                    self._assign_elements(part, of)
            case _, ast.Call() if self._builtin(iterated, {"range"}):
                self._assign(target, ast.Constant(0))
            case _:
                self._assign(target, _Element(iterated))

    def _assign(self, target: ast.AST, value: ast.expr | _Element | None) -> None:
        if isinstance(target, ast.Name):
            self._assigned.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.arg):
            self._assigned.setdefault(target.arg, []).append(value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._assign(part, _Element(value) if isinstance(value, ast.expr) else value)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, value)

    def decides(self, test: ast.expr) -> bool:
        """Whether the truth of an expression is known."""
        match test:
            case ast.BoolOp():
                return all(map(self.decides, test.values))
            case ast.UnaryOp(op=ast.Not()):
                return self.decides(test.operand)
            case ast.IfExp():
                return all(map(self.decides, (test.test, test.body, test.orelse)))
            case ast.List() | ast.Tuple() | ast.Set() | ast.Dict() | ast.ListComp() | ast.Lambda():
                return True
            case ast.Name() if self._is_local(test):
                return self._every(test.id, "decides", self.decides)
            case ast.Call(args=[ast.GeneratorExp() as each]) if self._builtin(test, {"any", "all"}):
                return self.decides(each.elt)
        if self._is_path(test):
            return self._ask(_is_steady, test)
        return self.is_plain(test)

    def is_plain(self, node: ast.expr | None) -> bool:
        """Whether an expression is known, and made of numbers, texts and containers of such."""
        match node:
            case None | ast.Constant() | ast.JoinedStr():
                return True
            case ast.Compare():
                if all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
                    return True
                return all(map(self.is_plain, (node.left, *node.comparators)))
            case ast.IfExp():
                both = self.is_plain(node.body) and self.is_plain(node.orelse)
                return both and self.decides(node.test)
            case ast.Name() if self._is_local(node):
                return self._every(node.id, "is_plain", self.is_plain)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return self.is_plain(node.elt)
            case ast.Call():
                return self._makes_plain(node)
            case ast.Attribute() if not self._is_path(node):
                return node.attr in _FACTS
            case (
                ast.UnaryOp() | ast.BinOp() | ast.BoolOp() | ast.Tuple() | ast.List() | ast.Set()
            ) | (ast.Dict() | ast.Subscript() | ast.Slice() | ast.Starred()):
                parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
                return all(map(self.is_plain, parts))
        return self._is_path(node) and self._ask(_is_plain, node)

    def loops(self, iterated: ast.expr) -> bool:
        """Whether a loop runs over it in Python, in few turns if these are numbers of a range."""
        match iterated:
            case ast.Call() if self._builtin(iterated, {"range"}):
                if not all(map(self._is_counted, iterated.args)):
                    return False
                return self._ask(_is_short, iterated)
            case ast.Call() if self._builtin(iterated, {"enumerate"}) and iterated.args:
                return self.loops(iterated.args[0])
            case ast.Call() if self._builtin(iterated, {"zip"}):
                return self._loops_together(iterated.args)
            case ast.Call() if self._builtin(iterated, _PYTHON_LOOPS):
                return True
            case ast.Call(func=ast.Attribute(attr=name)) if name in _VIEWS:
                return True
            case ast.List() | ast.Tuple() | ast.Set() | ast.Dict() | ast.ListComp():
                return True
            case ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                return True
            case ast.Name() if self._is_local(iterated):
                return self._every(iterated.id, "loops", self.loops)
            case ast.Subscript(value=owner, slice=ast.Slice()) if self._is_path(owner):
                return self._ask(_is_list, owner)
        if self._is_path(iterated):
            return self._ask(_is_python_loop, iterated)
        return self.is_plain(iterated)

    def _loops_together(self, parts: Sequence[ast.expr]) -> bool:
        """Whether `zip` of these is run over in Python: where one that is no array or range is."""
        count = len(self.questions)
        for part in parts:
            is_range = isinstance(part, ast.Call) and self._builtin(part, {"range", "zip"})
            if not is_range and self.loops(part):
                return True
            del self.questions[count:]
        return False

    def _makes_plain(self, node: ast.Call) -> bool:
        """Whether a call gives something plain."""
        if self._builtin(node, _ALWAYS):
            return True
        if not all(map(self.is_plain, (*node.args, *(word.value for word in node.keywords)))):
            return False
        if self._builtin(node, _OF_PLAIN):
            return True
        if not isinstance(node.func, ast.Attribute):
            return False
        owner = node.func.value
        if isinstance(owner, ast.Name) and not self._is_local(owner):
            return self._ask(_is_plain_or_module, owner)
        return self.is_plain(owner)

    def _every(self, name: str, what: str, holds: Callable[[Any], bool]) -> bool:
        """Whether something holds for all that a variable is assigned, and for what it is given."""
        key = (name, what)
        found = self._found.get(key)
        if found is None:
            self._found[key] = True  # of a variable that depends on itself the others decide
            found = all(
                value is not None
                and (self.is_plain(value.of) if type(value) is _Element else holds(value))
                for value in self._assigned[name]
            )
            if found and name in self._parameters:
                test = {"decides": _is_steady, "is_plain": _is_plain, "loops": _is_python_loop}
                found = self._ask(test[what], ast.Name(name, ast.Load()))
            self._found[key] = found
        return found

    def _ask(self, test: Callable[[object], bool], about: ast.expr) -> bool:
        about = copy.deepcopy(about)  # the source will be changed
        for part in ast.walk(about):
            if isinstance(part, ast.Attribute):
                part.attr = full_name(part.attr, self._class)
        self.questions.append(_Question(test, about))
        return True

    def _is_local(self, node: ast.Name) -> bool:
        return node.id in self._assigned

    def _is_path(self, node: ast.expr | None) -> bool:
        """Whether it is a name that is not assigned here, or read from one by attributes."""
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and not self._is_local(node)

    def _is_counted(self, node: ast.expr) -> bool:
        """Whether an expression is of whole numbers that can be asked for."""
        match node:
            case ast.Constant():
                return True
            case ast.UnaryOp(op=ast.USub()):
                return self._is_counted(node.operand)
            case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv()):
                return self._is_counted(node.left) and self._is_counted(node.right)
            case ast.Call(args=[part], keywords=[]) if self._builtin(node, {"len"}):
                return self._is_path(part)
        return self._is_path(node)

    def _builtin(self, node: ast.Call, names: frozenset[str] | set[str]) -> bool:
        """Whether a call is of one of these built-in functions, if no global has its name."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name not in names or name in self._assigned or name in self._parameters:
            return False
        return self._ask(lambda value: value is getattr(builtins, name), node.func)


# -- what the names mean ---------------------------------------------------------------------------


def _lookup(
    function: types.FunctionType, args: Sequence[object], kwargs: Mapping[str, object]
) -> _Lookup:
    """Returns what finds the meaning of a name in a call of a function."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = function.__defaults__ or ()
    local = dict(
        zip(names[code.co_argcount - len(defaults) : code.co_argcount], defaults, strict=True)
    )
    local |= function.__kwdefaults__ or {}
    local |= dict(zip(names[: code.co_argcount], args, strict=False))
    local |= {name: value for name, value in kwargs.items() if name in names}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        try:
            local[name] = cell.cell_contents
        except ValueError:
            local[name] = _MISSING

    def lookup(name: str) -> Any:
        if name in local or name in names:
            return local.get(name, _MISSING)
        if name in function.__globals__:
            return function.__globals__[name]
        return getattr(builtins, name, _MISSING)

    return lookup


def _meaning(node: ast.expr, lookup: _Lookup) -> Any:
    """Returns what an expression means, without running any code; `_MISSING` if that takes some."""
    match node:
        case ast.Name():
            return lookup(node.id)
        case ast.Constant():
            return node.value
        case ast.Attribute():
            return _attribute(_meaning(node.value, lookup), node.attr)
        case ast.UnaryOp():
            value = _meaning(node.operand, lookup)
            return -value if type(value) is int else _MISSING
        case ast.BinOp():
            return _computed(node.op, _meaning(node.left, lookup), _meaning(node.right, lookup))
        case ast.Call(func=ast.Name(id="range")):
            parts = [_meaning(part, lookup) for part in node.args]
            return range(*parts) if all(type(part) is int for part in parts) else _MISSING
        case ast.Call():  # of len
            value = _meaning(node.args[0], lookup)
            return len(value) if type(value) in (list, tuple, dict) else _MISSING
    return _MISSING


def _computed(operator: ast.operator, left: object, right: object) -> Any:
    if type(left) is not int or type(right) is not int:
        return _MISSING
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
    return left // right if right else _MISSING


def _attribute(owner: object, name: str) -> Any:
    if owner is _MISSING:
        return _MISSING
    if isinstance(owner, NDArray):
        return None if name in _FACTS else _MISSING  # whatever it is, it is plain
    try:
        return vars(owner)[name]
    except (TypeError, KeyError):
        pass
    try:
        value = inspect.getattr_static(owner, name)
    except AttributeError:
        return _MISSING
    return _MISSING if hasattr(type(value), "__get__") else value


def _is_plain(value: Any, depth: int = 3) -> bool:
    if isinstance(value, _PLAIN_TYPES):
        return True
    if type(value) not in (list, tuple, dict, set, frozenset) or not depth:
        return False
    if len(value) > _MOST_ITEMS:
        return False
    items = (*value, *value.values()) if type(value) is dict else value
    return all(_is_plain(item, depth - 1) for item in items)


def _is_plain_or_module(value: object) -> bool:
    if isinstance(value, types.ModuleType):
        return value.__name__ in _MODULES
    return _is_plain(value)


def _is_steady(value: object) -> bool:
    """Whether Python knows if a value is true."""
    if value is _MISSING:
        return False
    return isinstance(value, _PLAIN_TYPES) or not hasattr(type(value), "__bool__")


def _is_python_loop(value: object) -> bool:
    return value is not _MISSING and not isinstance(value, (NDArray, range, Together, StagedRange))


def _is_list(value: object) -> bool:
    return type(value) in (list, tuple)


def _is_short(numbers: Any) -> bool:
    return numbers is not _MISSING and len(numbers) <= UNROLLED
