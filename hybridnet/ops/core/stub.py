"""An operator's function as type checkers and editors read it: its definition in a stub file."""

from __future__ import annotations

import inspect
import textwrap
from ast import literal_eval
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from hybridnet.base.attrs import Param

from .documentation import documentation_beside_signature, signature_of
from .operator import Operator

__all__ = ["Flavor", "definition", "method_definition", "operator_definition"]

#: What a parameter is read from, by the beginning of the words that say what it must be, of which
#: the longest that fit count. All are read from texts, too, as saved symbols have them.
_TYPES: Final = {
    "a boolean": "Switch",
    "a number": "Real",
    "a string": "str | Context",
    "a tuple of integers": "Sizes",
    "a tuple of integers or None": "Places",
    "a tuple of numbers": "Reals",
    "an axis": "Wholes",
    "an element type": "DTypeLike",
    "an integer": "Whole",
}
_WITH_NONE: Final = ("DTypeLike", "Places", "Sizes", "Wholes")
_CHOICE: Final = "one of "
_UNPACKED: Final = "_unpacked"  # no argument's name
_WIDTH: Final = 100  # columns
_LISTED: Final = 60  # columns of choices, which are to fit on a line with the rest


@dataclass(frozen=True)
class Flavor:
    """The type annotations of a namespace's functions: of what they take and return.

    Attributes:
        operand: an input.
        result: the result of an operator of one output.
        results: that of one of several outputs.
        of_symbols: whether the functions make symbols.
    """

    operand: str
    result: str
    results: str
    of_symbols: bool = False


def operator_definition(op: Operator, public: str, flavor: Flavor) -> str:
    """Returns the definition of an operator's function.

    Args:
        op: the operator.
        public: the name that the function is called by.
        flavor: of its namespace.
    """
    result = _result(op, flavor)

    def annotation(argument: inspect.Parameter) -> str:
        return _annotation(op, argument, flavor)

    first, *others = _signatures(op, signature_of(op, of_symbols=flavor.of_symbols))
    doc = documentation_beside_signature(op)
    main = definition(public, first, annotation, result, doc)
    if not others:
        return main
    definitions = [definition(public, other, annotation, result) for other in others]
    return "@overload\n" + "@overload\n".join([f"{main}\n", *definitions])


def method_definition(op: Operator, public: str, flavor: Flavor) -> str:
    """Returns the definition of the method that applies an operator to the object as first input.

    Args:
        op: the operator.
        public: the name that the method is called by.
        flavor: of the class.
    """
    _, *others = signature_of(op).parameters.values()
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([itself, *others])

    def annotation(argument: inspect.Parameter) -> str:
        return "" if argument.name == "self" else _annotation(op, argument, flavor)

    doc = documentation_beside_signature(op)
    return definition(public, signature, annotation, _result(op, flavor), doc, " " * 4)


def _result(op: Operator, flavor: Flavor) -> str:
    """Returns the type of what an operator's function returns."""
    if flavor.of_symbols or op.visible == 1:
        return flavor.result
    return "Any" if callable(op.visible) else flavor.results


def _annotation(op: Operator, argument: inspect.Parameter, flavor: Flavor) -> str:
    """Returns the type of an argument."""
    name = argument.name
    if name == _UNPACKED or argument.kind is argument.VAR_KEYWORD:
        return "object"
    if name in op.params:
        return _parameter_type(op.params[name])
    if name in op.inputs:
        if argument.kind is argument.VAR_POSITIONAL:  # or all of them in one list
            return f"{flavor.operand} | Sequence[{flavor.operand}]"
        place = op.inputs.index(name)
        if flavor.of_symbols and place == 0:
            return f"{flavor.operand} | None"
        required = place < op.required_inputs and not flavor.of_symbols
        return flavor.operand if required else f"{flavor.operand} | Any"
    return {"out": f"{flavor.result} | Any", "name": "str | Any", "attr": "dict[str, str] | Any"}[
        name
    ]


def _parameter_type(param: Param) -> str:
    """Returns what a parameter is read from; of choices editors offer those that fit on a line."""
    if param.kind.startswith(_CHOICE):
        choices = literal_eval(f"({param.kind.removeprefix(_CHOICE).removesuffix(' or None')},)")
        listed = ", ".join(map(repr, choices)).replace("'", '"')
        usual = "Whole" if all(isinstance(choice, int) for choice in choices) else "str"
        found = f"Literal[{listed}] | {usual}" if len(listed) < _LISTED else usual
    else:
        found = _TYPES[max((words for words in _TYPES if param.kind.startswith(words)), key=len)]
    may_be_none = param.kind.endswith(" or None") or param.default is None
    return f"{found} | None" if may_be_none and found not in _WITH_NONE else found


def _signatures(op: Operator, signature: inspect.Signature) -> list[inspect.Signature]:
    """Returns the signatures by which checkers know a function.

    Of an operator of several inputs the first one takes parameters by name only. Calls as
    ``f(*arrays, axis=1)`` would be refused without it, since there may be so many arrays that the
    last one is the axis.

    Parameters that must be given and come after what need not be can be given by position, too,
    which takes signatures of their own: in each of these one more of them is given so, and all
    that comes before it.

    The last one, of an operator of several parameters, is for calls as ``f(x, **layer)``: checkers
    take each value in ``layer`` for one of each parameter, and where they are of several types,
    mypy takes them for any object. It fits no other call: an argument that nobody gives by its
    name must be there, as it may be in what is unpacked.
    """
    arguments = list(signature.parameters.values())
    by_name = [
        one.replace(kind=one.KEYWORD_ONLY) if one.name in op.params else one for one in arguments
    ]
    found = [signature.replace(parameters=by_name)] if len(op.inputs) > 1 else []
    found.append(signature)
    late = [
        index
        for index, one in enumerate(arguments)
        if one.kind is one.KEYWORD_ONLY and one.default is one.empty and not op.variadic
    ]
    for index in late:
        if index + 1 not in late:  # of those one after another each may be given either way
            found.append(signature.replace(parameters=[*_with_given(op, signature, index + 1)]))
    several = [one for index, one in enumerate(found) if one not in found[:index]]
    if len(op.params) > 1:
        inputs = [one for one in arguments if one.name in op.inputs]
        unpacked = inspect.Parameter(_UNPACKED, inspect.Parameter.KEYWORD_ONLY)
        rest = inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD)
        several.append(inspect.Signature([*inputs, unpacked, rest]))
    return several


def _with_given(
    op: Operator, signature: inspect.Signature, count: int
) -> Iterator[inspect.Parameter]:
    """Yields the arguments of a signature of which the first ones must be given."""
    by_name = optional = False
    for index, one in enumerate(signature.parameters.values()):
        if index < count:
            yield one.replace(kind=one.POSITIONAL_OR_KEYWORD, default=one.empty)
            continue
        by_name = by_name or (optional and one.default is one.empty) or one.name not in op.params
        optional = optional or one.default is not one.empty
        yield one if by_name else one.replace(kind=one.POSITIONAL_OR_KEYWORD)


def definition(
    name: str,
    signature: inspect.Signature,
    annotation: Callable[[inspect.Parameter], str],
    result: str,
    doc: str = "",
    indent: str = "",
) -> str:
    """Returns the definition of a function, laid out as ruff does it.

    Args:
        name: of the function.
        signature: what it takes.
        annotation: returns the type of an argument.
        result: the type of what it returns.
        doc: its docstring; none where that is empty.
        indent: what stands before each line.
    """
    arguments = list(_arguments(signature, annotation))
    end = f" -> {result}:" if doc else f" -> {result}: ..."
    head = _fitted(f"def {name}(", arguments, f"){end}", _WIDTH - len(indent))
    if not doc:
        return textwrap.indent(f"{head}\n", indent)
    prefix = "r" if "\\" in doc else ""
    close = '\n"""' if "\n" in doc else '"""'
    body = f'{prefix}"""{doc}{close}'
    return textwrap.indent(f"{head}\n{textwrap.indent(body, '    ')}\n", indent)


def _fitted(begin: str, arguments: list[str], end: str, width: int) -> str:
    """Returns the first lines of a definition, on as few as ruff needs."""
    joined = ", ".join(arguments)
    if len(begin) + len(joined) + len(end) <= width:
        return begin + joined + end
    if len(joined) <= width - 4:
        return f"{begin}\n    {joined}\n{end}"
    return f"{begin}\n" + "".join(f"    {argument},\n" for argument in arguments) + end


def _arguments(
    signature: inspect.Signature, annotation: Callable[[inspect.Parameter], str]
) -> Iterator[str]:
    """Yields the arguments of a definition, and the star before those that are given by name."""
    starred = False
    for one in signature.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not starred:
            starred = True
            yield "*"
        starred = starred or one.kind is one.VAR_POSITIONAL
        stars = "*" * (one.kind is one.VAR_POSITIONAL) + "**" * (one.kind is one.VAR_KEYWORD)
        default = "" if one.default is one.empty else f" = {_default(one.default)}"
        kind = annotation(one)
        yield f"{stars}{one.name}{': ' if kind else ''}{kind}{default}"


def _default(value: object) -> str:
    """Returns a default as it is written; three dots for what has no such form."""
    if isinstance(value, (bool, int, float, str, tuple, type(None))):
        return repr(value).replace("'", '"')
    return "..."
