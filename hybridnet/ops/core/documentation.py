"""The help() of an operator: its signature, and its documentation as one docstring.

An operator's docstring says what its formulas do not; types and defaults come from its parameters.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Final

from .operator import Operator

#: What inputs and parameters mean where an operator's own docstring does not say.
_USUAL: Final[Mapping[str, str]] = {
    "beta1": "the decay of the first moment.",
    "beta2": "the decay of the second moment.",
    "clip_gradient": "limits each element of the rescaled gradient; negative for no limit.",
    "clip_weights": "limits each element of the result; negative for no limit.",
    "ctx": "where the result is, as 'cpu(0)'; by default the current context.",
    "cudnn_off": "without meaning here; read for MXNet's sake.",
    "data": "an array of any shape.",
    "dilate": "the distance of two taps of a window, default 1 everywhere.",
    "dtype": "of the result.",
    "eps": "keeps the root from zero.",
    "epsilon": "keeps the division from zero.",
    "grad": "the gradient, in the shape of `weight`.",
    "heads": "how many heads there are.",
    "is_int": "whether the number is a whole one for integer arrays.",
    "keepdims": "keep the reduced axes with size 1.",
    "kernel": "the window's size along each spatial axis.",
    "label": "an array.",
    "layout": "NCW, NCHW or NCDHW (the defaults), or NWC, NHWC or NDHWC.",
    "lazy_update": "of a row-sparse gradient, whether only the rows it holds are updated.",
    "lhs": "an array of any shape.",
    "lr": "the learning rate.",
    "mean": "the first moment, overwritten.",
    "mom": "the momentum so far, in the shape of `weight`, overwritten.",
    "momentum": "how much of `mom` is kept.",
    "no_bias": "leave the bias out.",
    "num_args": "how many there are; saved symbols hold it, calls need not give it.",
    "num_arrays": "how many there are.",
    "num_filter": "how many channels the output has.",
    "num_group": "how many groups of channels there are, each with its own filters.",
    "rescale_grad": "what the gradient is multiplied by first.",
    "rhs": "an array.",
    "scalar": "the number.",
    "shape": "of the result.",
    "squeeze_axis": "remove the axis, which must then have size 1 in the parts.",
    "stride": "the distance of two windows, default 1 everywhere.",
    "t": "the number of the step, from 1.",
    "var": "the second moment, overwritten.",
    "wd": "the weight decay.",
    "weight": "what is updated, of any shape.",
    "weight32": "the float32 copy of `weight`, overwritten.",
    "workspace": "without meaning here; read for MXNet's sake.",
}
_WIDTH: Final = 99  # columns
# "Args:" at the margin with its indented lines; and in it "name:" or "name, other:" with its text.
_ARGS: Final = re.compile(r"\n*^Args:\n((?: +.*\n|\n(?= ))*)", re.MULTILINE)
_ENTRY: Final = re.compile(r"^    ([\w, ]+): +(.*(?:\n {5,}.*)*)", re.MULTILINE)


def signature_of(op: Operator, *, of_symbols: bool = False) -> inspect.Signature:
    """Returns the signature of the function that applies an operator.

    Parameters may follow the inputs by position, as in MXNet. (Where one that must be given comes
    after something that need not be, Python knows no way to write that.)

    Args:
        op: the operator.
        of_symbols: whether it is the function of `sym`, which makes variables of inputs that are
            not given, and whose nodes have attributes.
    """
    parameter = inspect.Parameter
    if op.variadic:
        inputs = [parameter(op.inputs[0], parameter.VAR_POSITIONAL)]
    else:
        required = 0 if of_symbols else op.required_inputs
        inputs = [
            parameter(
                name,
                parameter.POSITIONAL_OR_KEYWORD,
                default=parameter.empty if index < required else None,
            )
            for index, name in enumerate(op.inputs)
        ]
    optional = op.variadic or any(one.default is None for one in inputs)
    kind = parameter.KEYWORD_ONLY if op.variadic else parameter.POSITIONAL_OR_KEYWORD
    params = []
    for param in op.params.values():
        if param.required and optional:
            kind = parameter.KEYWORD_ONLY
        optional = optional or not param.required
        params.append(parameter(param.name, kind, default=param.default))
    last = ("out", "name", "attr") if of_symbols else ("out", "name")
    tail = [parameter(name, parameter.KEYWORD_ONLY, default=None) for name in last]
    return inspect.Signature([*inputs, *params, *tail])


def documentation(op: Operator) -> str:
    """Returns an operator's docstring with every input and parameter in its list of arguments."""
    text, said, rest = _parts(op)
    lines = [text, "", "Args:"]
    for name in op.inputs:
        lines.append(_entry(f"{name}: {said.get(name, 'an array.')}"))
    for param in op.params.values():
        kind = f"{param.kind}, {'required' if param.required else f'default {param.default!r}'}"
        meaning = said.get(param.name)
        lines.append(
            _entry(f"{param.name} ({kind}): {meaning}" if meaning else f"{param.name}: {kind}.")
        )
    lines.append("    out: an array to write the result into.")
    lines.append("    name: the name of the node, for symbols.")
    return "\n".join([*lines, "", rest] if rest else lines)


def documentation_beside_signature(op: Operator) -> str:
    """Returns an operator's docstring for where its signature is shown with types and defaults."""
    text, said, rest = _parts(op)
    names = (*op.inputs, *op.params)
    entries = [_entry(f"{name}: {said[name]}", _WIDTH - 4) for name in names if name in said]
    parts = [text, "\n".join(["Args:", *entries]) if entries else "", rest]
    return "\n\n".join(filter(None, parts))


def _parts(op: Operator) -> tuple[str, Mapping[str, str], str]:
    """Returns a docstring before its arguments, what these mean, and the docstring after them."""
    text = inspect.cleandoc(op.doc) + "\n"
    found = _ARGS.search(text)
    said = {name: _USUAL[name] for name in (*op.inputs, *op.params) if name in _USUAL}
    said.update((name, meaning) for name, meaning in _entries(found[1] if found else "") if meaning)
    start, stop = found.span() if found else _before_sections(text)
    return text[:start].rstrip(), said, text[stop:].strip("\n")


def _entry(text: str, width: int = _WIDTH) -> str:
    """Returns an argument's line, or lines where it is a long one."""
    if all(len(line) <= width - 4 for line in text.splitlines()):
        return "    " + text
    words = " ".join(text.split())
    return textwrap.fill(
        words,
        width,
        initial_indent="    ",
        subsequent_indent="        ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _entries(section: str) -> Iterable[tuple[str, str]]:
    """Yields (name, text) of the lines below "Args:"."""
    for names, text in _ENTRY.findall(section):
        for name in names.split(", "):
            yield name, text


def _before_sections(text: str) -> tuple[int, int]:
    """Returns the place for arguments in a docstring without any: before its other sections."""
    other = re.search(r"^(Returns|Raises):$", text, re.MULTILINE)
    place = other.start() if other else len(text)
    return place, place
