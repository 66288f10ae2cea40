"""Records the losses of networks of transformers in training under PyTorch's autocast.

Run it with a Python that has ``torch`` and ``transformers`` (recorded with torch 2.13.0 and
transformers 5.24.0, on a CPU)::

    python tests/oracle/make_autocast.py     # writes autocast.json, beside it
"""

from __future__ import annotations

import json
from pathlib import Path

import autocast_cases as cases
import numpy as np
import torch
import transformers

HERE = Path(__file__).resolve().parent


def train(name: str, dtype: str) -> list[float]:
    """Trains a network of folders/ with float32 weights."""
    folder = HERE / "folders" / name
    net = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    optimizer = torch.optim.AdamW(net.parameters(), lr=cases.RATE, weight_decay=0.0)
    scaler = torch.amp.GradScaler("cpu", enabled=dtype == "float16")
    scales = [scaler.get_scale()]

    def step(batch: np.ndarray) -> float:
        tokens = torch.tensor(batch).long()
        optimizer.zero_grad()
        with torch.autocast("cpu", getattr(torch, dtype), enabled=dtype != "float32"):
            scores = net(tokens[:, :-1]).logits.float()
        flat = scores.reshape(-1, scores.shape[-1])
        loss = torch.nn.functional.cross_entropy(flat, tokens[:, 1:].reshape(-1))
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        return loss.item()

    return cases.losses(step, lambda: scales[-1] >= scales[-2])


def main() -> None:
    made = {
        f"{name} {dtype}": [round(loss, 6) for loss in train(name, dtype)]
        for name in cases.NETWORKS
        for dtype in ("float32", "bfloat16", "float16")
    }
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in made.items()]
    (HERE / "autocast.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
