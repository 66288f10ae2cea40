"""Records what MXNet 1.9.1's symbolic cells give for `symbol_rnn_cases.py`.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_symbol_rnn.py

It writes ``symbol_rnn.json``, beside it.
"""

from __future__ import annotations

import json
from pathlib import Path

import mxnet as mx
import symbol_rnn_cases as cases


def main() -> None:
    answers = [
        [text, merge, cases.run(mx, text, merge)] for text in cases.CELLS for merge in (None, False)
    ]
    file = Path(__file__).resolve().parent / "symbol_rnn.json"
    file.write_text(json.dumps({"mxnet": mx.__version__, "cells": answers}) + "\n")


if __name__ == "__main__":
    main()
