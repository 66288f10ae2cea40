"""The period of a loop that records on and on: it is cut after a whole number of turns.

If a loop is cut after a fixed number of instructions, each piece begins at another place of the
loop's body, so that each has another structure and needs a program of its own. If it is cut after a
multiple of the body's length, all pieces but the first have the same structure. (The same idea for
the tasks of a runtime system: M. Yadav et al., "Automatic Tracing in Task-Based Runtime Systems",
ASPLOS 2025.)
"""

from __future__ import annotations

from collections.abc import Sequence

from .code import Instruction

__all__ = ["period_of"]


def period_of(instructions: Sequence[Instruction]) -> int:
    """Returns how many instructions the loop has in which these end; 0 if they end in no loop.

    It counts as a loop if the second half of the instructions repeats with this period, at least
    twice.
    """
    tokens = _tokens(instructions)
    tail = tokens[len(tokens) // 2 :]
    # The smallest period of a string is its length less that of its longest border (a proper
    # prefix that is also a suffix), which the prefix function of Knuth, Morris and Pratt gives.
    borders = [0] * len(tail)
    length = 0
    for place in range(1, len(tail)):
        while length and tail[place] != tail[length]:
            length = borders[length - 1]
        if tail[place] == tail[length]:
            length += 1
        borders[place] = length
    period = len(tail) - length
    return period if tail and 2 * period <= len(tail) else 0


def _tokens(instructions: Sequence[Instruction]) -> list[tuple[object, ...]]:
    """Returns for each instruction a token that is the same in each turn of a loop.

    An operand that is a result is written as how many results ago it was made. One that is an input
    is written as its number; but where the input is read for the first time, as "new", since an
    array that a loop reads for the first time in each turn has another number each time.
    """
    tokens: list[tuple[object, ...]] = []
    made = seen = 0
    for call, operands in instructions:
        token: list[object] = [call]
        for operand in operands:
            if operand >= 0:
                token.append(made - operand)
            elif ~operand < seen:
                token.append(operand)
            else:
                seen += 1
                token.append("new")
        tokens.append(tuple(token))
        made += call.num_outputs
    return tokens
