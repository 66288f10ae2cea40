"""Small networks of Hugging Face's transformers: their settings, and what they are asked.

`make_folders.py` records them; the tests ask the same of ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_DECODER = {
    "vocab_size": 40,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "bos_token_id": None,
    "eos_token_id": None,
}
_GPT2 = {
    "vocab_size": 40,
    "n_embd": 16,
    "n_layer": 2,
    "n_head": 2,
    "n_positions": 32,
    "bos_token_id": None,
    "eos_token_id": None,
}
_BERT = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 24,
}
_VIT = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "image_size": 8,
    "patch_size": 4,
}
_LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
#: Name -> the class, the class of its settings, and the settings.
CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", _GPT2),
    "gpt2-untied": (
        "GPT2LMHeadModel",
        "GPT2Config",
        {
            **_GPT2,
            "tie_word_embeddings": False,
            "n_inner": 20,
            "activation_function": "relu",
            "scale_attn_by_inverse_layer_idx": True,
        },
    ),
    "llama": ("LlamaForCausalLM", "LlamaConfig", _DECODER),
    "llama3": (
        "LlamaForCausalLM",
        "LlamaConfig",
        {**_DECODER, "rope_parameters": _LLAMA3, "tie_word_embeddings": True},
    ),
    "llama-linear": (
        "LlamaForCausalLM",
        "LlamaConfig",
        {
            **_DECODER,
            "rope_parameters": {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0},
            "num_key_value_heads": 4,
            "head_dim": 8,
            "attention_bias": True,
            "mlp_bias": True,
        },
    ),
    "mistral": ("MistralForCausalLM", "MistralConfig", {**_DECODER, "sliding_window": 4}),
    "qwen2": ("Qwen2ForCausalLM", "Qwen2Config", _DECODER),
    "bert": ("BertModel", "BertConfig", _BERT),
    "bert-masked": ("BertForMaskedLM", "BertConfig", {**_BERT, "hidden_act": "gelu_new"}),
    "bert-classifier": ("BertForSequenceClassification", "BertConfig", {**_BERT, "num_labels": 3}),
    "vit": ("ViTModel", "ViTConfig", {**_VIT, "pooler_output_size": 6}),
    "vit-classifier": ("ViTForImageClassification", "ViTConfig", {**_VIT, "num_labels": 5}),
}
DECODERS = [name for name in CASES if not name.startswith(("bert", "vit"))]
BERTS = [name for name in CASES if name.startswith("bert")]
VITS = [name for name in CASES if name.startswith("vit")]
#: How many tokens of each sequence are a prompt, and how many more are generated.
PROMPT, NEW = 5, 12
LENGTHS = np.array([11, 4, 7], np.int32)


def tokens(batch: int = 3, length: int = 11, vocab: int = 40, seed: int = 0) -> np.ndarray:
    """Returns (batch, length), int32."""
    return np.random.RandomState(seed).randint(0, vocab, (batch, length)).astype(np.int32)


def token_types() -> np.ndarray:
    """Returns which sentence each of `tokens` is of."""
    return np.random.RandomState(1).randint(0, 2, (3, 11)).astype(np.int32)


def pictures() -> np.ndarray:
    """Returns (3, 3, 8, 8), float32."""
    return np.random.RandomState(2).rand(3, 3, 8, 8).astype(np.float32)


def make(torch: Any, transformers: Any, name: str) -> Any:
    """Returns a network with values that show what is wrong."""
    model_class, config_class, settings = CASES[name]
    torch.manual_seed(sum(map(ord, name)))
    config = getattr(transformers, config_class)(**settings)
    model = getattr(transformers, model_class)(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.3 * torch.randn(parameter.shape) + (parameter.ndim == 1))
    return model


def answers(torch: Any, name: str, model: Any) -> dict[str, np.ndarray]:
    """Returns what a network gives for the inputs of the"""
    with torch.no_grad():
        if name in VITS:
            found = model(torch.tensor(pictures()))
        elif name in BERTS:
            mask = np.arange(11) < LENGTHS[:, None]
            found = model(
                torch.tensor(tokens()).long(),
                token_type_ids=torch.tensor(token_types()).long(),
                attention_mask=torch.tensor(mask).long(),
            )
        else:
            given = torch.tensor(tokens()).long()
            prompt = given[:, :PROMPT]
            generated = model.generate(
                prompt,
                attention_mask=torch.ones_like(prompt),
                do_sample=False,
                max_new_tokens=NEW,
                pad_token_id=0,
            )
            logits = model(given).logits.numpy()
            return {"logits": logits, "generated": generated.numpy().astype(np.int32)}
    keys = ("logits", "last_hidden_state", "pooler_output")
    return {key: found[key].numpy() for key in keys if key in found}
