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


def make(name: str) -> torch.nn.Module:
    """Returns a network with values that show what is wrong."""
    model_class, config_class, settings = cases.CASES[name]
    torch.manual_seed(sum(map(ord, name)))
    config = getattr(transformers, config_class)(**settings)
    model = getattr(transformers, model_class)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape) + (parameter.ndim == 1))
    return model


def answers(name: str, model: torch.nn.Module) -> dict[str, np.ndarray]:
    """Returns what a network gives for the inputs of the cases."""
    with torch.no_grad():
        if name in cases.VITS:
            found = model(torch.tensor(cases.pictures()))
        elif name in cases.BERTS:
            mask = np.arange(11) < cases.LENGTHS[:, None]
            found = model(
                torch.tensor(cases.tokens()).long(),
                token_type_ids=torch.tensor(cases.token_types()).long(),
                attention_mask=torch.tensor(mask).long(),
            )
        else:
            tokens = torch.tensor(cases.tokens()).long()
            prompt = tokens[:, : cases.PROMPT]
            generated = model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                do_sample=False,
                max_new_tokens=cases.NEW,
                pad_token_id=0,
            )
            logits = model(tokens).logits.numpy()
            return {"logits": logits, "generated": generated.numpy().astype(np.int32)}
    keys = ("logits", "last_hidden_state", "pooler_output")
    return {key: found[key].numpy() for key in keys if key in found}


def main() -> None:
    made = {}
    for name in cases.CASES:
        folder = HERE / "folders" / name
        shutil.rmtree(folder, ignore_errors=True)
        model = make(name)
        size = SHARDED.get(name, 1 << 30)
        model.save_pretrained(folder, max_shard_size=size)
        made |= {f"{name}/{key}": value for key, value in answers(name, model).items()}
    np.savez_compressed(HERE / "folders.npz", **made)


if __name__ == "__main__":
    main()
