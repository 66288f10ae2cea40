"""Programs that NumPy runs: single instructions, by their operators' host forms.

Compiling an operator for XLA takes tens of milliseconds; running it on NumPy arrays takes some
microseconds. So an instruction that runs only a few times runs here. It is compiled when its runs
have taken as long, all together, as compiling it takes; or at once, if a single run would.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from time import perf_counter
from typing import Any, Final, final
from weakref import WeakSet

import numpy as np

from hybridnet.base import config
from hybridnet.base.allocator import keep_memory
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.host_array import DeviceArray, HostArray
from hybridnet.base.interrupts import is_from_signal
from hybridnet.ops.core import Call, Types
from hybridnet.ops.host import FUNCTIONS, HOST_DTYPES, NoHostForm, on_host, on_host_in
from hybridnet.passes import DeviceCost, operations

from ..platform.blas_threads import keep_to_limit, others
from ..platform.jax_devices import put
from ..segments.code import Code
from ..tiers.ledger import Account
from ..tiers.prices import prices

Array = np.ndarray[Any, Any]

# With fewer elements than this no operator runs as long as it would be compiled: a product or a
# convolution takes at most the square of their number of operations.
_FEW_ELEMENTS: Final = 1 << 14

# How fast NumPy is, before anything has run.
_NUMPY: Final = DeviceCost()
_NO_OUTPUTS: Final[list[np.float64]] = []

# Calls that turned out to have no host form.
_without: Final[WeakSet[Call]] = WeakSet()


@final
class HostProgram:
    """Runs one instruction by its host form.

    Args:
        code: a structure of one instruction.
        types: the types of all its results.
        account: where its runs are noted.
    """

    __slots__ = ("_alone", "_applied", "_code", "_operands", "_rent", "_stay", "_wanted")

    def __init__(self, code: Code, types: Types, account: Account) -> None:
        self._code = code
        ((self._applied, operands),) = code.instructions
        self._operands = tuple([~i for i in operands])
        self._wanted = [(i, types[i]) for i in code.outputs]
        self._rent, self._alone = account.by_numpy, account.by_steps
        self._stay = not code.ctx.device_id  # other CPUs' arrays are JAX's

    def __call__(
        self, inputs: Sequence[DeviceArray], numbers: Sequence[float]
    ) -> list[DeviceArray]:
        """Runs it on arrays of JAX or `HostArray`; returns such.

        Raises:
            NoHostForm: see `run`.
        """
        started = perf_counter()
        with np.errstate(all="ignore"):
            made = self.run(inputs, numbers)
        arrays = put_owned(self._code.ctx, made, stay=self._stay)
        self._alone.note(perf_counter() - started)
        return arrays

    def run(
        self,
        inputs: Sequence[DeviceArray | NumpyArray],
        numbers: Sequence[float],
        spare: Array | None = None,
    ) -> list[Array]:
        """Runs it on arrays; returns NumPy arrays, which may be views of the inputs.

        The caller has switched NumPy's warnings off (`np.errstate`), as XLA gives none either.

        Args:
            inputs: the inputs: arrays of JAX or NumPy, or `HostArray`.
            numbers: the numbers that the call takes beside them.
            spare: the first input, if the call returns it with a part changed (`Call.rewrites`) and
                may change it in place, as nothing else refers to it; else None.

        Raises:
            NoHostForm: NumPy cannot run it, with these arrays or at all.
        """
        started = perf_counter()
        operands = [*map(inputs.__getitem__, self._operands)]
        for i, x in enumerate(operands):
            if type(x) is not np.ndarray:
                operands[i] = np.asarray(x)
        scalars = [*map(np.float64, numbers)] if numbers else _NO_OUTPUTS
        try:
            if spare is None:
                results = on_host(FUNCTIONS, self._applied.evaluate, operands, scalars)
            else:
                results = on_host_in(spare, FUNCTIONS, self._applied.evaluate, operands, scalars)
        except NoHostForm:
            _without.add(self._applied)
            raise
        except Exception as error:  # if the call is wrong, running it by XLA will say how
            if is_from_signal(error):
                raise
            raise NoHostForm(str(error)) from error
        made = []
        for number, kind in self._wanted:
            array = results[number]
            if type(array) is not np.ndarray:
                array = np.asarray(array)
            if array.shape != kind.shape or array.dtype != kind.dtype:
                _without.add(self._applied)
                raise NoHostForm(f"{array.dtype}{array.shape} instead of {kind}")
            # Give the array itself and not a view of all of it, so that it can be rewritten again.
            made.append(spare if spare is not None and array.base is spare else array)
        ended = perf_counter()
        self._rent.note(ended - started)
        if ended > others.due:
            others.look(ended)
        return made


def put_owned(ctx: Context, arrays: Sequence[Array], *, stay: bool = False) -> list[DeviceArray]:
    """Turns NumPy arrays into JAX arrays; copies those that may share memory with others.

    Args:
        ctx: the context.
        arrays: of NumPy's.
        stay: whether they become `HostArray` and stay NumPy's until a program of XLA's reads them.
    """
    taken: set[int] = set()
    owned = []
    for x in arrays:
        own = is_own(x.flags) and id(x) not in taken  # an array may be there twice
        taken.add(id(x))
        owned.append(x if own else np.array(x, order="C"))
    return [HostArray(x) for x in owned] if stay else put(ctx, owned)


def is_own(flags: Any) -> bool:
    """Whether a NumPy array owns its memory, in C order, and may write to it."""
    return bool(flags.owndata and flags.c_contiguous and flags.writeable)


@cache
def _prepare() -> None:
    """Prepares the process, once, before the first host program runs."""
    keep_to_limit()
    keep_memory()  # else each temporary array would be allocated from the system anew


def host_program(code: Code, account: Account) -> HostProgram | None:
    """Returns what runs a structure of one instruction on NumPy arrays; None if XLA is better.

    That is so where a single run takes twice as long as compiling it.
    """
    how = config.host()
    ((call, operands),) = code.instructions
    if how == "off" or call in _without or not code.ctx.device_type.startswith("cpu"):
        return None
    inputs = tuple([code.input_types[~i] for i in operands])
    outputs = call.infer(inputs)
    elements = 0
    for kind in inputs + outputs:
        if kind.dtype.char not in HOST_DTYPES:
            return None
        elements += kind.size
    if elements > _FEW_ELEMENTS and how != "only":
        moved = sum(kind.nbytes for kind in inputs + outputs)
        takes = _NUMPY.seconds(operations(call, inputs, outputs), moved)
        if takes > 2 * prices.compiling(call.weight):
            return None
    _prepare()
    return HostProgram(code, outputs, account)
