"""Drawn calls of operators on NumPy arrays and by XLA: what each gives, and where they differ."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import jax
import numpy as np
from drawn_ops import known
from oracle.case import Case, make_inputs
from oracle.drawn import special_inputs
from traced import quick

from hybridnet.base.errors import MXNetError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.backward import vjp_call
from hybridnet.ops.core.call import Call
from hybridnet.ops.core.registry import get
from hybridnet.ops.host.functions import FUNCTIONS
from hybridnet.ops.host.namespace import NoHostForm, on_host

__all__ = ["Answer", "answers"]

Array = np.ndarray[Any, Any]
_TOLERANCE: Final = {"float64": 3e-7, "float32": 1e-4, "float16": 5e-3}


@dataclass(frozen=True)
class Answer:
    """What NumPy and XLA gave for one call.

    Attributes:
        name: of the case.
        host: the results on NumPy arrays; None: it has no host form.
        xla: those of XLA.
    """

    name: str
    host: list[Array] | None
    xla: list[Array]

    @property
    def difference(self) -> str:
        """How the host's results differ; empty where they do not."""
        if self.host is None:
            return ""
        for host, xla in zip(self.host, self.xla, strict=True):
            tolerance = _TOLERANCE.get(host.dtype.name, 0)
            if not np.allclose(host, xla, rtol=tolerance, atol=tolerance / 10, equal_nan=True):
                return f"{host.ravel()[:6]}, XLA {xla.ravel()[:6]}"
        return ""


def _calls(cases: Sequence[Case], gradient: bool) -> Iterator[tuple[Case, Call, Any, list[Array]]]:
    draw = np.random.default_rng(0)
    for case in cases:
        inputs = special_inputs(case, make_inputs(case))
        operator = get(case.op)
        try:
            attrs = operator.measured(case.attrs, known(inputs)) if operator.sizes else case.attrs
            call, scalars = operator.bind(attrs, case.train)
            if call.takes_state:
                continue
            types = _types(call, inputs)
        except MXNetError:
            continue
        made: Call = call
        if gradient:
            wanted = tuple(i for i, x in enumerate(inputs) if x.dtype.kind == "f")
            given = tuple(i for i, kind in enumerate(types) if kind.dtype.kind == "f")
            if not wanted or not given:
                continue
            made = vjp_call(call, wanted, given)
            for i in given:
                grad = draw.uniform(0.5, 1.5, types[i].shape)
                inputs.append(np.asarray(grad, types[i].dtype))
        yield case, made, tuple(map(np.float64, scalars)), inputs


def _by_host(call: Call, inputs: Sequence[Array], scalars: Any) -> list[Array] | None:
    try:
        with np.errstate(all="ignore"):
            made = [np.asarray(x) for x in on_host(FUNCTIONS, call.evaluate, inputs, scalars)]
    except (NoHostForm, IndexError, ValueError, TypeError, MXNetError):
        return None
    # As where programs are run: results of other types are refused.
    types = [(kind.shape, kind.dtype) for kind in _types(call, inputs)]
    return made if types == [(x.shape, x.dtype) for x in made] else None


def _types(call: Call, inputs: Sequence[Array]) -> Sequence[Any]:
    return call.infer(tuple(tensor_type(x.shape, x.dtype) for x in inputs))


def answers(cases: Sequence[Case], gradient: bool = False) -> list[Answer]:
    """Runs the calls of one operator, or their gradients, both ways; XLA's are one program.

    Calls that differ in the values of their inputs alone share a part of it.
    """
    found, alike = [], defaultdict[Any, list[int]](list)
    for number, (case, call, scalars, inputs) in enumerate(_calls(cases, gradient)):
        found.append((case, scalars, inputs, _by_host(call, inputs, scalars)))
        if found[-1][-1] is not None:
            alike[call, tuple((x.shape, x.dtype) for x in inputs)].append(number)

    def all_of_them(arguments: Any) -> Any:
        pairs = zip(alike, arguments, strict=True)
        return [call.lower("cpu", *given) for (call, _), given in pairs]

    program = jax.jit(all_of_them, compiler_options=quick())
    by_xla: dict[int, list[Array]] = {}
    for turn in range(max(map(len, alike.values()), default=0)):
        chosen = [numbers[turn % len(numbers)] for numbers in alike.values()]
        with jax.enable_x64(True):
            results = program([(found[k][2], list(found[k][1])) for k in chosen])
        by_xla |= {k: [np.asarray(x) for x in one] for k, one in zip(chosen, results, strict=True)}
    return [
        Answer(case.name, made, by_xla.get(number, []))
        for number, (case, _, _, made) in enumerate(found)
    ]
