"""Locks are held in ways that the exception of a signal's handler cannot leave them locked.

See hybridnet/base/locks.py. What is looked for here is what Python has, and has such a place in it.
"""

from __future__ import annotations

import ast
import dis
import sys
from collections.abc import Iterator
from itertools import pairwise
from types import CodeType

import pytest
from places import ROOT

#: Who calls `acquire`: the helpers that see to it that nothing is left behind, and the engine,
#: whose coordinator looks afterwards whether it has its lock, and whose other locks only wake.
ACQUIRES = {
    "engine/coordinator.py",
    "engine/flag.py",
    "engine/manual.py",
    "engine/pool.py",
    "hybridnet/base/locks.py",
    "hybridnet/runtime/record/launch.py",
}
#: Who makes locks of `threading`'s: they are slept on, not held.
LOCKS = {
    "engine/flag.py",
    "engine/manual.py",
    "engine/pool.py",
}
#: Whose Events are of one thread alone, which is not the main thread.
EVENTS = {"hybridnet/runtime/tuning/idle.py"}


def breaches(tree: ast.AST, name: str) -> list[str]:
    """What a file does with locks that it should not."""
    found = []
    conditions = {
        ast.unparse(one.targets[0]).rpartition(".")[2]
        for one in ast.walk(tree)
        if isinstance(one, ast.Assign) and "threading.Condition(" in ast.unparse(one.value)
    }
    for one in ast.walk(tree):
        text = ast.unparse(one.func) if isinstance(one, ast.Call) else ""
        if text.endswith(".acquire") and name not in ACQUIRES:
            found.append(f"{name}:{one.lineno}: acquire outside of base/locks.py")
        if text in ("threading.Lock", "threading.RLock") and name not in LOCKS:
            found.append(f"{name}:{one.lineno}: {text}; take hybridnet.engine.RLock")
        if text in ("threading.Event", "threading.Semaphore") and name not in EVENTS:
            found.append(f"{name}:{one.lineno}: {text}; take hybridnet.engine.Flag")
        if text == "threading.Condition" and not one.args:
            found.append(f"{name}:{one.lineno}: a Condition without a lock of its own name")
        if isinstance(one, ast.With):
            held = [ast.unparse(item.context_expr).rpartition(".")[2] for item in one.items]
            if conditions & set(held):
                found.append(f"{name}:{one.lineno}: with a Condition; take its lock")
            yields = any(isinstance(x, (ast.Yield, ast.YieldFrom)) for x in ast.walk(one))
            if yields and any(x.endswith("lock") for x in held):
                found.append(f"{name}:{one.lineno}: a lock held by a generator")
    return found


def loops_outside(text: str, name: str) -> list[str]:
    """Loops inside `with lock:` at whose end an exception would pass by the block's end.

    CPython 3.12 and 3.13 make a jump of its own of one that goes back on a condition, and leave it
    out of the table that says which instructions a block protects; and a handler may run there. So
    such a loop stands in a function, which is called while the lock is held.
    """
    held = [
        range(one.lineno, one.end_lineno + 1)
        for one in ast.walk(ast.parse(text))
        if isinstance(one, ast.With)
        and any(ast.unparse(item.context_expr).endswith(("lock", "in_place")) for item in one.items)
    ]
    found = set()
    for code in _codes(compile(text, name, "exec")) if held else ():
        steps = list(dis.get_instructions(code))
        entries = dis.Bytecode(code).exception_entries
        handlers = {
            step.offset
            for step, after in pairwise(steps)
            if "PUSH_EXC_INFO" in (step.opname, after.opname)
        }

        def ends_at(offset: int, entries=entries, handlers=handlers) -> set[int]:
            return {x.target for x in entries if x.start <= offset < x.end} & handlers

        for step in steps:
            line = step.positions.lineno
            is_held = step.opname == "JUMP_BACKWARD" and any(line in lines for lines in held)
            if is_held and ends_at(step.argval) - ends_at(step.offset):
                found.add(f"{name}:{line}: a loop with a condition inside of `with lock:`")
    return sorted(found)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def _files():
    for folder in ("engine", "kvstore", "hybridnet"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path, path.relative_to(ROOT).as_posix()


@pytest.mark.slow
@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.11 makes no such jumps")
def test_no_loop_ends_outside_of_the_block_that_holds_a_lock():
    assert not [each for path, name in _files() for each in loops_outside(path.read_text(), name)]
    if sys.version_info < (3, 14):
        bad = "def f():\n with self._lock:\n  while len(x) > 3:\n   x.pop()"
        assert len(loops_outside(bad, "x.py")) == 1


def test_no_lock_can_be_left_behind():
    found = []
    for path, name in _files():
        text = path.read_text()
        if "threading" in text or "acquire" in text or "lock" in text:
            found += breaches(ast.parse(text), name)
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "if lock.acquire(blocking=False): pass",
        "self._lock = threading.Lock()",
        "lock = threading.RLock()",
        "ended = threading.Event()",
        "changed = threading.Condition()",
        "self.changed = threading.Condition(lock)\nwith self.changed: pass",
        "def alone():\n with self._lock:\n  yield",
    ],
)
def test_each_rule_bites(line):
    assert len(breaches(ast.parse(line), "x.py")) == 1
