"""Records the beam searches of Hugging Face's transformers over the networks in folders/.

Run it with a Python that has ``torch`` and ``transformers`` (recorded with torch 2.13.0 and
transformers 5.24.0)::

    python tests/oracle/make_beams.py     # writes beams.json, beside it
"""

from __future__ import annotations

import json
from pathlib import Path

import beam_cases as cases
import torch
import transformers

HERE = Path(__file__).resolve().parent


def main() -> None:
    made = {}
    for name in cases.NETWORKS:
        model = transformers.AutoModelForCausalLM.from_pretrained(HERE / "folders" / name).eval()
        made[name] = [cases.answers(torch, model, one) for one in cases.searches(0, 48)]
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in made.items()]
    (HERE / "beams.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
