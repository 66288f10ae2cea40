"""The wiring of loops: which primitive gives what to which, for each variable and constant.

`wire_loop` says it, for each loop that is lowered; a program may put its own in its place. What a
loop computes, on which devices, and what it counts beside that is no part of it: `LoopWiring` asks
`lower_loops` for that.

    with hn.passes.wire_loop.replaced_by(mine):
        executor = symbol.simple_bind(...)

Each value knows where it comes from, so that each step is checked when it is made. A loop that is
wired in this way computes what it is to, and it ends when its condition does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from hybridnet.base.errors import GraphError
from hybridnet.base.replaceable import replaceable
from hybridnet.graph import Edge, Node

from .flow_loop import LoopVariable, LoopWriter
from .flow_writer import Reader

#: What a value is, in messages.
_TITLES: Final = {
    "given": "{name} before the loop",
    "entered": "what enter gave for {name}",
    "merged": "what merge gave for {name}",
    "condition": "the condition",
    "inside": "what switch gave for {name} where the condition holds",
    "after": "what switch gave for {name} where the condition does not hold",
    "made": "what body gave for {name}",
    "result": "what exit gave for {name}",
}
#: Writes the condition, of readers of the constants; returns it, and what must run before it.
WriteTest: TypeAlias = Callable[[Sequence[Reader]], tuple[Edge, tuple[Node, ...]]]
#: Writes the body likewise; returns the variables' next values, and what must run before these.
WriteBody: TypeAlias = Callable[[Sequence[Reader]], tuple[Sequence[Edge], tuple[Node, ...]]]


@final
@dataclass(frozen=True, eq=False, slots=True)
class LoopValue:
    """A value at some place in a loop that is being wired.

    Attributes:
        step: where it is: 'given', 'entered', 'merged', 'condition', 'inside', 'after', 'made' or
            'result'.
        name: what it is the value of: 'variable 0', 'constant 2'.
        number: which of the variables, or of the constants.
        is_constant: whether it is one of these.
    """

    step: str
    name: str = ""
    number: int = 0
    is_constant: bool = False

    def __str__(self) -> str:
        return _TITLES[self.step].format(name=self.name)


@final
class LoopWiring:
    """A loop that is being wired: makes the primitives that it is asked for.

    Args:
        loop: where they are written.
        variables: of the loop.
        constants: what the loop only reads.
        test, body: write the condition and the body.

    Attributes:
        variables, constants: the values before the loop.
    """

    def __init__(
        self,
        loop: LoopWriter,
        variables: Sequence[LoopVariable],
        constants: Sequence[Reader],
        test: WriteTest,
        body: WriteBody,
    ) -> None:
        self._loop: Final = loop
        self._variables: Final = variables
        self._readers: Final = [loop.constant(reader) for reader in constants]
        self._test: Final = test
        self._body: Final = body
        self._made: Final[set[LoopValue]] = set()
        self._used: Final[set[tuple[str, LoopValue]]] = set()
        self._next: list[Edge] = []
        self._effects: tuple[Node, ...] = ()
        self._results: Final[dict[LoopValue, Edge]] = {}
        self.variables: Final = [
            self._value("given", f"variable {number}", number) for number in range(len(variables))
        ]
        self.constants: Final = [
            self._value("given", f"constant {number}", number, True)
            for number in range(len(constants))
        ]

    def enter(self, value: LoopValue, constant: bool = False) -> LoopValue:
        """Enter: hands a value from outside to the first iteration.

        Args:
            value: a variable, or a constant, before the loop.
            constant: whether every iteration gets it.

        Raises:
            GraphError: it is something else, or has entered already.
        """
        self._take("enter", value, "given")
        if value.is_constant and not constant:
            self._refuse(
                f"enter: {value.name} must enter with constant=True: nothing makes it anew"
            )
        if constant and not value.is_constant:
            self._refuse(f"enter: {value.name} changes, and must not enter with constant=True")
        if not constant:
            self._loop.enter(self._variables[value.number])
        return self._after(value, "entered")

    def merge(self, value: LoopValue) -> LoopValue:
        """Merge: the value of a variable when an iteration begins.

        Args:
            value: what `enter` gave. The other input comes by `next_iteration`.

        Raises:
            GraphError: it is something else, or a constant.
        """
        self._take("merge", value, "entered")
        if value.is_constant:
            self._refuse(f"merge: {value.name} has no value of the iteration before")
        self._loop.merge(self._variables[value.number])
        return self._after(value, "merged")

    def condition(
        self, variables: Sequence[LoopValue], constants: Sequence[LoopValue]
    ) -> LoopValue:
        """Writes the condition.

        Args:
            variables: what `merge` gave for each variable, in their order.
            constants: what `enter` gave for each constant, in their order.

        Returns:
            Whether there is another iteration.

        Raises:
            GraphError: they are something else, or it is there already.
        """
        self._take_all("condition", variables, "merged", self.variables)
        self._take_all("condition", constants, "entered", self.constants)
        edge, effects = self._test([test for test, _ in self._readers])
        self._loop.goes_on(edge, effects)
        return self._value("condition")

    def switch(self, value: LoopValue, condition: LoopValue) -> tuple[LoopValue, LoopValue]:
        """Switch: hands a value on in one of two ways; the other way is dead.

        Args:
            value: what `merge` gave for a variable, or `enter` for a constant.
            condition: what `condition` gave.

        Returns:
            What it is after the loop, and what it is for the body: as a Switch has it, the first
            is alive where the condition does not hold, and the second where it does.

        Raises:
            GraphError: they are something else.
        """
        self._take("switch", condition, "condition", once=False)
        is_constant = isinstance(value, LoopValue) and value.is_constant
        self._take("switch", value, "entered" if is_constant else "merged")
        if not is_constant:
            self._loop.switch(self._variables[value.number])
        return self._after(value, "after"), self._after(value, "inside")

    def body(
        self, variables: Sequence[LoopValue], constants: Sequence[LoopValue]
    ) -> list[LoopValue]:
        """Writes the body.

        Args:
            variables, constants: what `switch` gave for each where the condition holds, in their
                order. (What reads only constants that went through no Switch would run once more
                than the loop does.)

        Returns:
            What each variable is in the next iteration.

        Raises:
            GraphError: they are something else, or it is there already.
        """
        self._take_all("body", variables, "inside", self.variables)
        self._take_all("body", constants, "inside", self.constants)
        edges, self._effects = self._body([inside for _, inside in self._readers])
        self._next = list(edges)
        return [self._after(one, "made") for one in self.variables]

    def next_iteration(self, value: LoopValue, merge: LoopValue) -> None:
        """NextIteration: hands a variable to its Merge, in the next iteration.

        Args:
            value: what `body` gave for it.
            merge: what `merge` gave for it.

        Raises:
            GraphError: they are something else, or belong to two variables.
        """
        self._take("next_iteration", value, "made")
        self._take("next_iteration", merge, "merged")
        if value.number != merge.number:
            self._refuse(f"next_iteration: {value} goes into {merge}")
        edge = self._next[value.number]
        self._loop.next(self._variables[value.number], edge, self._effects)

    def exit(self, value: LoopValue) -> LoopValue:
        """Exit: hands what a variable is after the last iteration out of the loop.

        Args:
            value: what `switch` gave for it where the condition does not hold.

        Raises:
            GraphError: it is something else.
        """
        self._take("exit", value, "after")
        if value.is_constant:
            self._refuse(f"exit: {value.name} is no result")
        made = self._after(value, "result")
        self._results[made] = self._loop.exit(self._variables[value.number])
        return made

    def finished(self, results: Any) -> list[Edge]:
        """Returns the variables after the loop.

        Args:
            results: what `exit` gave for each variable, in their order.

        Raises:
            GraphError: they are something else, or a Merge lacks its NextIteration.
        """
        self._take_all("the results", results, "result", self.variables)
        handed = {value.number for function, value in self._used if function == "next_iteration"}
        for value in self.variables:
            if value.number not in handed:
                self._refuse(f"the Merge of {value.name} has no next_iteration")
        self._loop.close()
        return [self._results[one] for one in results]

    def _value(
        self, step: str, name: str = "", number: int = 0, is_constant: bool = False
    ) -> LoopValue:
        made = LoopValue(step, name, number, is_constant)
        self._made.add(made)
        return made

    def _after(self, value: LoopValue, step: str) -> LoopValue:
        return self._value(step, value.name, value.number, value.is_constant)

    def _take(self, function: str, value: Any, step: str, once: bool = True) -> None:
        """Raises an error if a value of a loop's is not at a step, or was given before."""
        if not isinstance(value, LoopValue) or value not in self._made or value.step != step:
            name = value.name if isinstance(value, LoopValue) and value.name else "a value"
            wanted = _TITLES[step].format(name=name)
            got = str(value) if isinstance(value, LoopValue) else repr(value)
            other = isinstance(value, LoopValue) and value not in self._made
            self._refuse(f"{function}: needs {wanted}, got {got}{' of another loop' * other}")
        if once and (function, value) in self._used:
            self._refuse(f"{function}: was given {value} before")
        self._used.add((function, value))

    def _take_all(self, function: str, values: Any, step: str, wanted: Sequence[LoopValue]) -> None:
        """Raises an error if values are not those of all variables, or constants, at a step."""
        if not isinstance(values, list | tuple) or len(values) != len(wanted):
            got = len(values) if isinstance(values, list | tuple) else repr(values)
            kind = "constants" if wanted is self.constants else "variables"
            self._refuse(f"{function}: needs a list of {len(wanted)} {kind}, got {got}")
        for value, one in zip(values, wanted, strict=True):
            self._take(function, value, step)
            if (value.number, value.is_constant) != (one.number, one.is_constant):
                self._refuse(f"{function}: in the place of {one.name} there is {value}")

    def _refuse(self, what: str) -> None:
        raise GraphError(f"the wiring of the loop {self._loop.frame}: {what}")


@replaceable
def wire_loop(
    loop: LoopWiring, variables: Sequence[LoopValue], constants: Sequence[LoopValue]
) -> list[LoopValue]:
    """Wires a loop, by the primitives of Yu et al., "Dynamic Control Flow in Large-Scale Machine
    Learning", EuroSys 2018, section 4.2.

    Args:
        loop: makes the primitives.
        variables: what is handed from iteration to iteration, before the loop.
        constants: what the loop only reads.

    Returns:
        What `LoopWiring.exit` gave for each variable.
    """
    merged = [loop.merge(loop.enter(one)) for one in variables]
    entered = [loop.enter(one, constant=True) for one in constants]
    holds = loop.condition(merged, entered)
    parted = [loop.switch(one, holds) for one in merged]
    inside = [loop.switch(one, holds)[1] for one in entered]
    made = loop.body([one for _, one in parted], inside)
    for value, merge in zip(made, merged, strict=True):
        loop.next_iteration(value, merge)
    return [loop.exit(after) for after, _ in parted]
