"""`Call`: something a program can run. An operator with its parameters, its gradient, or a graph.

Equal calls are one object, so the structure of a program is compared by comparing pointers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet.base.errors import InternalError
from hybridnet.base.locks import free_in_children
from hybridnet.base.tensor_type import TensorType
from hybridnet.engine import RLock

from ..host.namespace import NoHostForm
from .fingerprint import Unstable, fingerprint

Types = tuple[TensorType, ...]
#: Arrays of JAX, tracers of a program being built, or Values.
Arrays = Sequence[Any]
#: Numbers that a call takes beside its inputs.
Scalars = tuple[Any, ...]

#: Held while a call is made, so that equal calls are one object between threads too; re-entrant,
#: since finalizers may run anywhere.
MAKING: Final = free_in_children(RLock())
_NOTHING: Mapping[int, int] = {}
_NO_INPUTS: frozenset[int] = frozenset()
_NO_TYPES: Mapping[Types, Types] = {}


def only(made: MutableMapping[Any, Any], key: tuple[Any, ...], make: Callable[..., Any]) -> Any:
    """Returns ``make(*key)``, which is made once as long as somebody holds it.

    Args:
        made: a weak dictionary of what was made; its `setdefault` is not one step.
    """
    call = made.get(key)
    if call is None:
        with MAKING:
            call = made.get(key)
            if call is None:
                call = made[key] = make(*key)
    return call


class Parts(NamedTuple):
    """The calls that one call stands for.

    Attributes:
        instructions: in order, each a call and its operands: the numbers of earlier results (>= 0),
            or ``~i`` for input ``i``.
        outputs: of all, likewise.
        scalars: where the numbers come from that the calls take: from the number given at that
            place (an int), or they are what they are (a float).
    """

    instructions: tuple[tuple[Call, tuple[int, ...]], ...]
    outputs: tuple[int, ...]
    scalars: tuple[int | float, ...]


class HostForm(NamedTuple):
    """A host form of a call: a function that computes it on NumPy arrays of some types.

    Attributes:
        compute: a function of the inputs, and after them the numbers that the call takes. It gives
            a tuple or list of the outputs, or the one output itself.
        numbers: for each number that the call takes, the function that converts it for `compute`.
        is_straight: whether a straight line may be made of it; see `hybridnet.ops.host`.
    """

    compute: Callable[[Sequence[Any]], Any]
    numbers: Sequence[Callable[[float], Any]] = ()
    is_straight: bool = False


class Averages(NamedTuple):
    """Running averages that the backward pass moves when it comes through a call.

    Attributes:
        call: makes the new averages of the old ones and of the statistics.
        states: what holds the averages: inputs of the call, by number; on a tape the arrays.
        statistics: the outputs of the call that hold the statistics, by number.
    """

    call: Call
    states: Sequence[Any]
    statistics: Sequence[Any]


class IndexBound(NamedTuple):
    """The bounds of the positions that an input of an operator holds.

    Attributes:
        input: the number of the input.
        what: what it is called in messages.
        sizes: the numbers of positions there are. Where there are several, the first dimension of
            the input is as long, and each part has its own.
        axes: the axes of the array that the positions are of, likewise; empty where it is none.
        least: the first position; or None: negative ones count from the end, down to minus the
            size.
        besides: one further value that is no position, and means something; None: there is none.
        always: whether one outside is an error always, and not only where somebody asks
            (`hybridnet.debug.indices`), since it has a meaning.
    """

    input: int
    what: str
    sizes: tuple[int, ...]
    axes: tuple[int, ...]
    least: int | None = 0
    besides: float | None = None
    always: bool = False


class Bounded(NamedTuple):
    """A call that also tells which positions are outside of arrays.

    Attributes:
        call: what gives the outputs of the call that it stands for, and then tables as
            `BoundsCall` does, or one such for each turn of a loop.
        tables: of each of these, what its rows are about, as whoever made the call has it.
    """

    call: Call
    tables: Sequence[Sequence[Any]]


class Call(ABC):
    """An operation, as recorder, graph and tape know it.

    Attributes:
        name: the operator's name, for messages and printed graphs.
        num_outputs: all outputs, with hidden ones and the new random state.
        num_visible: the outputs a user sees, which come first.
        num_scalars: how many numbers it takes beside its inputs (learning rates and the like).
        takes_state: whether its last input is the state of a random generator, and its last
            output the new state.
        mutates: input index -> output index: the input array is overwritten with that output.
        averages: the running averages that it has; among `updates`, too. Where there is a tape the
            backward pass moves them, as MXNet's does; graphs that run by themselves move them as
            they run.
        reads_now: the inputs that are read as they are when the call runs, after what overwrote
            them before in the same run; others as they were when it began.
        symbolic_rule: whether what `gradient` does depends on types alone, so that it can be run
            once, on handles that stand for values, for all calls.
        replays: the passes back that have run over it, by their structure, where they go when it
            does; None where they are kept with those of the operators.
        weight: how many operators compiling it is like compiling.
        has_parts: whether it stands for several calls, which are run one by one until it is
            compiled.
        may_keep: whether `keeping` may return another call.
        on_host: whether it runs Python code on the host, and so by `run_on_host`.
        in_order: whether it is, or holds, such a call that has its place among all others of its
            kind: what comes after it in a program must not begin before it has.
        one_dtype: whether its inputs have one dtype where nothing says otherwise.
        inferred: what `infer` has returned, by what it was given, where that is remembered: hot
            code looks here first.
    """

    __slots__ = (
        "__weakref__",
        "_fingerprint",
        "num_outputs",
        "num_scalars",
        "num_visible",
        "takes_state",
    )

    mutates: Mapping[int, int] = _NOTHING
    averages: Averages | None = None
    reads_now: frozenset[int] = _NO_INPUTS
    symbolic_rule: bool = True
    replays: dict[Any, Any] | None = None
    weight: int = 1
    has_parts: bool = False
    may_keep: bool = False
    on_host: bool = False
    in_order: bool = False
    one_dtype: bool = True
    inferred: Mapping[Types, Types] = _NO_TYPES

    num_outputs: int
    num_visible: int
    num_scalars: int
    takes_state: bool

    def __init__(self, num_outputs: int = 1, *, num_scalars: int = 0) -> None:
        """Sets the numbers of a call whose outputs are all visible and that draws nothing."""
        self.num_outputs = self.num_visible = num_outputs
        self.num_scalars = num_scalars
        self.takes_state = False

    @property
    @abstractmethod
    def name(self) -> str:
        """The name in messages and printed graphs."""

    @property
    def rewrites(self) -> bool:
        """Whether it gives its first input with a part of it changed.

        Its host form may do that in the memory of the input, where nobody needs that any more.
        """
        return False

    @property
    def updates(self) -> Mapping[int, int]:
        """The inputs that it really overwrites: some calls change their states in training only."""
        return self.mutates

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Literals of Python from which its maker in `MAKERS` makes an equal call; or nothing."""
        return {}

    @property
    def alike(self) -> Hashable:
        """A key that calls share which do the same on arrays of other shapes."""
        return self.name

    def lay_open(self, platform: str, *, optimized: bool = False) -> Parts:
        """Returns the calls that it stands for, where it `has_parts`.

        Args:
            platform: for which they are.
            optimized: whether optimization passes are run over them first.
        """
        raise InternalError(f"{self.name} has no parts")

    def bounds(self, types: Types, *, everything: bool) -> Sequence[IndexBound]:
        """Returns what positions may be that its inputs hold.

        Args:
            types: of the inputs.
            everything: also of those that have a meaning outside, and so are no error.
        """
        return ()

    def bounded(self, *, everything: bool) -> Bounded | None:
        """Returns what also tells of positions that are outside; None where it holds none.

        Operators do not: who calls one looks at its positions himself.

        Args:
            everything: also of those that have a meaning outside, and so are no error.
        """
        return None

    @property
    def no_gradient(self) -> str:
        """Why it has no gradient; empty when it has one."""
        return ""

    @property
    def own_gradients(self) -> Collection[int]:
        """The outputs, by number, whose gradient it does without, as a loss.

        Where something depends on one, were it through calls without a gradient, and no gradient
        comes to it, its rule is run all the same, and is given zeros.
        """
        return ()

    @property
    def fingerprint(self) -> bytes | None:
        """A key of what it computes, the same in every process; None where there is none."""
        try:
            return self._fingerprint
        except AttributeError:
            pass
        made: bytes | None = None
        try:
            facts = self.facts()
            if facts is not None:
                made = fingerprint(type(self).__name__, *facts)
        except Unstable:
            pass
        self._fingerprint: bytes | None = made
        return made

    def facts(self) -> Sequence[Any] | None:
        """Returns all that decides what `lower` does, for `fingerprint`; None: it cannot be told.

        The source code of hybridnet need not be among it.
        """
        return None

    def with_train(self, train: bool) -> Call:
        """Returns the same call in, or out of, a training pass."""
        return self

    def keeping(self, types: Types) -> Call:
        """Returns a call that gives what this one does, and then what its gradient needs.

        Args:
            types: of the inputs, the random state included.
        """
        return self

    @abstractmethod
    def infer(self, types: Types) -> Types:
        """Returns the types of the outputs.

        Raises:
            ShapeError, DTypeError: the inputs do not meet the requirement.
        """

    @abstractmethod
    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Computes the outputs with JAX: of arrays, or of the tracers of a program being built.

        Args:
            platform: 'cpu', 'gpu' or 'tpu': some operators have a lowering for each.
            operands: the inputs, the random state last where one is taken.
            scalars: the numbers taken beside the inputs, 0-d float64.
        """

    def evaluate(self, operands: Arrays, scalars: Arrays) -> Arrays:
        """Computes the outputs with NumPy, inside `hybridnet.ops.host.namespace.on_host`.

        Args:
            operands: the inputs, NumPy arrays, the random state last where one is taken.
            scalars: the numbers taken beside the inputs, 0-d float64.

        Raises:
            NoHostForm: only JAX can compute them.
        """
        raise NoHostForm(self.name)

    def host_form(self, types: Types) -> HostForm:
        """Returns what does as `evaluate`, again and again, for inputs of the same types.

        Args:
            types: of the inputs.

        Raises:
            NoHostForm: only JAX can compute them.
        """
        count, evaluate = len(types), self.evaluate
        numbers = [np.float64] * self.num_scalars
        return HostForm(lambda values: evaluate(values[:count], values[count:]), numbers)

    def run_on_host(self, ctx: Any, values: Arrays, scalars: Scalars, record: Any) -> list[Any]:
        """Runs a call that is on the host, or in part: not as an instruction of a program.

        Args:
            ctx: where the inputs are.
            values: the inputs, Values.
            scalars: the numbers taken beside them.
            record: records a call that can be an instruction.

        Returns:
            The outputs, Values.
        """
        raise NotImplementedError

    @abstractmethod
    def gradient(self, back: Backward) -> Sequence[Any]:
        """Returns the gradients of the inputs, None where there is none, as handles."""


class HostOnlyCall(Call):
    """A call that no program can hold, and that has no gradient where it does not say otherwise.

    Attributes:
        refusal: what is said where a program is to hold it; ``{name}`` and ``{call}`` are put in.
        fault: the kind of that error.
    """

    refusal: str = "{call} in a program"
    fault: type[Exception] = InternalError
    __slots__ = ()

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Not part of a program."""
        raise self.fault(self.refusal.format(name=self.name, call=self))

    def gradient(self, back: Backward) -> Sequence[Any]:
        """There is none."""
        return [None] * len(back.inputs)


#: Makers of calls that are no rows of the registry, by name: for graphs that are read from text.
MAKERS: Final[dict[str, Callable[..., Call]]] = {}


@dataclass(frozen=True, eq=False, slots=True)
class Backward:
    """The argument of a gradient rule: one applied call and the gradients of its outputs.

    The inputs, outputs and gradients are handles (arrays when the tape runs, graph edges when a
    graph is differentiated), so that one rule serves both.
    """

    call: Any
    inputs: Sequence[Any]
    outputs: Sequence[Any]
    #: One for each output; None where nothing depends on it.
    grads: Sequence[Any]
    scalars: tuple[Any, ...]
    #: For each input, whether its gradient is wanted.
    wanted: Sequence[bool]

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The operator's static parameters."""
        attrs: Mapping[str, Any] = self.call.attrs
        return attrs

    @property
    def given(self) -> tuple[int, ...]:
        """The outputs whose gradients there are, by number."""
        return tuple(number for number, grad in enumerate(self.grads) if grad is not None)

    def placed(self, wanted: Sequence[int], grads: Sequence[Any]) -> list[Any]:
        """Returns a gradient, or None, for each input, from those of some inputs, by number."""
        placed: list[Any] = [None] * len(self.inputs)
        for number, grad in zip(wanted, grads, strict=True):
            placed[number] = grad
        return placed

    def apply(self, call: Call, inputs: Sequence[Any], scalars: tuple[Any, ...] = ()) -> list[Any]:
        """Applies a call to handles of the kind this rule was given; returns all its outputs."""
        applied: list[Any] = type(inputs[0]).apply_call(call, inputs, scalars)
        return applied
