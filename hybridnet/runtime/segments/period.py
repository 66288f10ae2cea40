"""Where to cut a stream of instructions that has no natural end: after whole turns of its loop.

A loop that is cut after any number of instructions gives stretches that begin at another place of
its body each time, and each of these would be a program of its own. Cut after a multiple of the
body's length, all stretches but the first have one structure. (The same idea, on strings of
runtime tasks: M. Yadav et al., "Automatic Tracing in Task-Based Runtime Systems", ASPLOS 2025.)
"""

from __future__ import annotations

from collections.abc import Sequence

from .code import Instruction

__all__ = ["period_of"]


def period_of(instructions: Sequence[Instruction]) -> int:
    """Returns the length of the loop body that the instructions end with; 0 if there is none.

    The later half must consist of it, at least twice over.
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
    """Returns what each instruction does, in words that do not depend on where it stands.

    Results are named by how many results ago they were made; an input by its number, except where
    it is read first: what a loop reads anew in each turn has another number each time.
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
