"""ONNX's operators that go over axes."""

from __future__ import annotations

from typing import Final

from hybridnet.symbol import Symbol

from .arrival import Arrival
from .table import Translation, arrives

_REDUCTIONS: Final = {
    "ReduceSum": "sum",
    "ReduceMean": "mean",
    "ReduceMax": "max",
    "ReduceMin": "min",
    "ReduceProd": "prod",
}


def _reduced(arrival: Arrival, op: str, data: Symbol, **more: int) -> Symbol:
    axes = arrival.numbers(1, "axes")
    if not axes and arrival.attrs.get("noop_with_empty_axes"):
        return data
    keepdims = bool(arrival.attrs.get("keepdims", 1))
    return arrival.make(op, data, axis=tuple(axes) if axes else None, keepdims=keepdims, **more)


def _reduction(op: str) -> Translation:
    return lambda arrival: _reduced(arrival, op, arrival.symbol(0))


for _name, _op in _REDUCTIONS.items():
    arrives(_name)(_reduction(_op))


@arrives("ReduceL1", "ReduceL2")
def _norm(arrival: Arrival) -> Symbol:
    return _reduced(arrival, "norm", arrival.symbol(0), ord=int(arrival.op[-1]))


@arrives("ReduceSumSquare")
def _sum_of_squares(arrival: Arrival) -> Symbol:
    return _reduced(arrival, "sum", arrival.make("square", arrival.symbol(0)))


@arrives("ReduceLogSum")
def _log_of_sum(arrival: Arrival) -> Symbol:
    return arrival.make("log", _reduced(arrival, "sum", arrival.symbol(0)))


@arrives("ReduceLogSumExp")
def _log_of_sum_of_exp(arrival: Arrival) -> Symbol:
    return arrival.make("log", _reduced(arrival, "sum", arrival.make("exp", arrival.symbol(0))))


@arrives("ArgMax", "ArgMin")
def _position(arrival: Arrival) -> Symbol:
    if arrival.attrs.get("select_last_index"):
        arrival.fail("select_last_index has no form", "reverse the array first")
    axis, keepdims = arrival.axis(0), bool(arrival.attrs.get("keepdims", 1))
    op = "argmax" if arrival.op == "ArgMax" else "argmin"
    return arrival.make(op, arrival.symbol(0), axis=axis, keepdims=keepdims)


@arrives("TopK")
def _topk(arrival: Arrival) -> Symbol:
    (count,) = arrival.numbers(1, "k") or (1,)
    ascending = not arrival.attrs.get("largest", 1)
    return arrival.make(
        "topk",
        arrival.symbol(0),
        axis=arrival.axis(-1),
        k=count,
        ret_typ="both",
        is_ascend=ascending,
        dtype="int64",
    )


@arrives("CumSum")
def _running_sum(arrival: Arrival) -> Symbol:
    if arrival.attrs.get("exclusive") or arrival.attrs.get("reverse"):
        arrival.fail("exclusive and reverse have no form", "write it with Slice and Pad")
    axis = int(arrival.constant(1, "axis").reshape(())) % arrival.rank()
    return arrival.make("_np_cumsum", arrival.symbol(0), axis=axis)
