"""Runs calls at the edges of dtypes in a process of its own; `edge_watch` starts and watches it.

Arguments: a JSON object with the operators, the dtypes' names, whether every sample is tried, the
draws, and whether to hurry. Each line printed is a JSON list: ["begin", call], then what is wrong
with it, as ["found", operator, call, kind, text]; at last ["end"].
"""

from __future__ import annotations

import json
import sys
from typing import Any


def _say(*words: Any) -> None:
    sys.__stdout__.write(json.dumps(words) + "\n")
    sys.__stdout__.flush()


def _main(asked: Any) -> None:
    from edge_calls import DTYPES, findings, plans

    names = asked["dtypes"]
    for operator in asked["operators"]:
        dtypes = [one for one in DTYPES if one.name in names[operator]]
        for plan in plans(operator, dtypes, asked["every"]):
            _say("begin", operator, str(plan))
            for found in findings(plan, asked["draws"], hurry=asked["hurry"]):
                _say("found", found.operator, found.where, found.kind, found.text)
    _say("end")


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
