"""Records small networks of Hugging Face's transformers, and what they answer.

Run it with a Python that has ``torch`` and ``transformers`` (recorded with torch 2.13.0 and
transformers 5.24.0)::

    python tests/oracle/make_folders.py     # writes folders/ and folders.npz, beside it
"""

from __future__ import annotations

import shutil
from pathlib import Path

import folder_cases as cases
import numpy as np
import torch
import transformers

HERE = Path(__file__).resolve().parent
#: So large that some of the folders are in several files, in bytes.
SHARDED = {"llama": 10_000, "bert-classifier": 10_000}


def main() -> None:
    made = {}
    for name in cases.CASES:
        folder = HERE / "folders" / name
        shutil.rmtree(folder, ignore_errors=True)
        model = cases.make(torch, transformers, name)
        size = SHARDED.get(name, 1 << 30)
        model.save_pretrained(folder, max_shard_size=size)
        made |= {f"{name}/{key}": value for key, value in cases.answers(torch, name, model).items()}
    np.savez_compressed(HERE / "folders.npz", **made)


if __name__ == "__main__":
    main()
