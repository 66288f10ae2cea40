"""Runs programs and scripts under TensorFlow and writes its answers, ``tf1.json.gz``.

The programs are those of ``tf1_*_cases.py``, the scripts those of ``tf1_scripts``.

Run it with a Python that has ``tensorflow-cpu==2.21.*`` and ``tf_keras==2.21.*``, in which layers
and cells still are.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")

import tensorflow.compat.v1 as tf
from oracle import tf1_case


def main() -> None:
    tf.disable_v2_behavior()
    tf.logging.set_verbosity(tf.logging.ERROR)
    found = {}
    for name, program in tf1_case.all_cases().items():
        try:
            found[name] = tf1_case.run(tf, program)
        except Exception as error:
            print(f"FAILED {name}: {type(error).__name__}: {str(error)[:300]}")
    for name, (script, constants) in tf1_case.SCRIPTS.items():
        found[name] = tf1_case.run_script(script, "tensorflow.compat.v1", **constants)
    found["signatures"] = tf1_case.signatures(tf)
    text = json.dumps(found, separators=(",", ":")).encode()
    tf1_case.FILE.write_bytes(gzip.compress(text, 9, mtime=0))
    print(len(found), "cases,", tf1_case.FILE.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
