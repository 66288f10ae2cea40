"""`gluon.model_zoo.text`: networks that read and write text, in Hugging Face's folders.

    net = text.load("folder")                   # or hf://owner/name
    tokenizer = text.load_tokenizer("folder")
    scores = net(nd.array([tokenizer.encode("To be, or not to be")], dtype="int32"))
    text.save(net, "new")                       # transformers loads it

GPT-2, Llama with Mistral and Qwen2, BERT, and the vision transformer of `model_zoo.vision`, which
comes in the same folders. The packages that this needs come with the text extra:
``pip install 'hybridnet[text]'``.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import Context

from ...block import HybridBlock
from ..folders import Family, local_folder, read_folder, write_folder
from ..vision.vit import FAMILY as _VIT
from .bert import FAMILY as _BERT
from .bert import Bert, BertClassifier, BertMasked, bert
from .bert_config import BertSizes
from .generation import Decoder, generate, stream
from .gpt2 import FAMILY as _GPT2
from .gpt2 import GPT2, GPT2Sizes, gpt2
from .llama import FAMILY as _LLAMA
from .llama import Llama, llama
from .llama_config import LlamaSizes
from .rope import RopeScaling
from .tokenizer import Tokenizer, load_tokenizer

__all__ = [
    "GPT2",
    "Bert",
    "BertClassifier",
    "BertMasked",
    "BertSizes",
    "Decoder",
    "GPT2Sizes",
    "Llama",
    "LlamaSizes",
    "RopeScaling",
    "Tokenizer",
    "bert",
    "generate",
    "gpt2",
    "llama",
    "load",
    "load_tokenizer",
    "save",
    "stream",
]

_FAMILIES: Final[tuple[Family, ...]] = (_GPT2, _LLAMA, _BERT, _VIT)
#: The largest file of tensors, in bytes: what every file system takes, and moves in one piece.
_SHARD: Final = 4_000_000_000


def load(
    folder: str | os.PathLike[str],
    dtype: DTypeLike | None = None,
    ctx: Context | Sequence[Context] | None = None,
    architecture: str | None = None,
    **settings: Any,
) -> HybridBlock:
    """Returns the network of one of Hugging Face's folders, with its values.

    Memory holds the network and one tensor more while it is read.

    Args:
        folder: its path, with a config.json, and a model.safetensors or several with an index; or
            ``hf://owner/name``, perhaps with ``@revision``, which the package huggingface_hub
            fetches and keeps.
        dtype: of the parameters, such as 'float32' or 'bfloat16'; None for that of the folder.
        ctx: where they go; None for the current context.
        architecture: in the place of the one that config.json names, to begin with a new head:
            ``load(folder, architecture="BertForSequenceClassification", num_labels=3)``. What the
            folder lacks of the head has new values then; everything else must be there.
        settings: in the place of those in config.json, by their names there.

    Raises:
        FormatError: a file is damaged, tensors are missing or too many, or config.json asks for
            what is not implemented; the message names the file, and the tensor or the setting.
        ShapeError: a tensor has another shape than config.json says.
        DTypeError: a tensor, or `dtype`, is not floating point.
        MissingFileError: there is no such folder or file.
        ImportError: the package safetensors is not installed.
    """
    path = local_folder(folder, "load")
    return read_folder(path, _FAMILIES, dtype, ctx, architecture, settings)


def save(net: HybridBlock, folder: str | os.PathLike[str], max_shard_size: int = _SHARD) -> None:
    """Writes a network to a folder, which transformers loads, and `load`.

    Each file appears whole or not at all.

    Args:
        net: one that `load` has returned, or one of `gpt2`, `llama`, `bert`, or `vision.vit`.
        folder: its path; it is made where it is not there. What it has of a tokenizer stays:
            `Tokenizer.save` brings one.
        max_shard_size: the bytes of tensors that a file holds; what is larger goes to several, with
            an index.

    Raises:
        ParameterError: the network is of another kind.
        DTypeError: its parameters are of several dtypes.
        ImportError: the package safetensors is not installed.
        OSError: a file cannot be written.
    """
    write_folder(net, folder, _FAMILIES, max_shard_size)
