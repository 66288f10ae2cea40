"""Locks are held in ways that the exception of a signal's handler cannot leave them locked.

See hybridnet/base/locks.py. What is looked for here is what Python has, and has such a place in it.
"""

from __future__ import annotations

import ast

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


def test_no_lock_can_be_left_behind():
    files = [
        path
        for folder in ("engine", "kvstore", "hybridnet")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    found = []
    for path in files:
        text = path.read_text()
        if "threading" in text or "acquire" in text or "lock" in text:
            found += breaches(ast.parse(text), path.relative_to(ROOT).as_posix())
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "line",
    [
        "if lock.acquire(blocking=False): pass",
        "ended = threading.Event()",
        "changed = threading.Condition()",
        "self.changed = threading.Condition(lock)\nwith self.changed: pass",
        "def alone():\n with self._lock:\n  yield",
    ],
)
def test_each_rule_bites(line):
    assert len(breaches(ast.parse(line), "x.py")) == 1
