"""A network as a folder that Hugging Face's transformers loads."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import DTypeError, ParameterError
from hybridnet.base.files import atomic_write

from ...block import HybridBlock
from .family import Family, Weight
from .tensors import DTYPES, INDEX, WHOLE, import_safetensors

_CONFIG: Final = "config.json"
_METADATA: Final = {"format": "pt"}  # without it transformers refuses the file


def write_folder(
    net: HybridBlock, folder: str | os.PathLike[str], families: Sequence[Family], shard_bytes: int
) -> None:
    """Writes a network.

    Each file appears whole or not at all, the config.json last.

    Args:
        net: one of a family's.
        folder: the path; it is made where it is not there, and files of these names are replaced.
        families: what can be written.
        shard_bytes: a file has so many bytes of tensors or fewer, or one tensor.

    Raises:
        ParameterError: the network is of none of the families.
        MXNetError: it has no values yet.
        OSError: a file cannot be written.
    """
    family, config = _family(net, families)
    path = Path(folder)
    if path.is_file():
        raise ParameterError(f"save: needs a folder, got the file {path}")
    weights = list(family.weights(net))
    dtype = _dtype(weights)
    shards = list(_shards(weights, shard_bytes))
    path.mkdir(parents=True, exist_ok=True)
    has_head = config["architectures"][0] not in family.bodies
    places: dict[str, str] = {}
    for number, shard in enumerate(shards, 1):
        name = WHOLE if len(shards) == 1 else f"model-{number:05}-of-{len(shards):05}.safetensors"
        tensors = {family.file_name(one.name, has_head): one for one in shard}
        _write_tensors(path / name, tensors)
        places |= dict.fromkeys(tensors, name)
    _write_index(path, places, weights, len(shards))
    _write_json(path / _CONFIG, {**config, "dtype": dtype})


def _family(net: HybridBlock, families: Sequence[Family]) -> tuple[Family, dict[str, Any]]:
    """Returns the family of a network, and its settings."""
    config = getattr(net, "config", None)
    if isinstance(config, dict):
        for family in families:
            if config.get("model_type") in family.model_types:
                return family, config
    kinds = ", ".join(kind for family in families for kind in family.model_types)
    raise ParameterError(
        f"save: needs a network of the kinds {kinds}, got {type(net).__name__}; others are saved "
        "by net.save_parameters(file)"
    )


def _dtype(weights: Sequence[Weight]) -> str:
    dtypes = {as_dtype(one.parameter.dtype) for one in weights}
    if len(dtypes) > 1 or not dtypes <= set(DTYPES.values()):
        names = ", ".join(sorted(one.name for one in dtypes))
        raise DTypeError(f"save: all parameters must have one floating dtype, got {names}")
    return dtypes.pop().name


def _shards(weights: Sequence[Weight], most: int) -> Iterator[list[Weight]]:
    shard: list[Weight] = []
    size = 0
    for weight in weights:
        nbytes = int(np.prod(weight.shape)) * as_dtype(weight.parameter.dtype).itemsize
        if shard and size + nbytes > most:
            yield shard
            shard, size = [], 0
        shard.append(weight)
        size += nbytes
    yield shard


def _write_tensors(file: Path, tensors: dict[str, Weight]) -> None:
    library = import_safetensors("saving a network as a folder")
    arrays = {name: _host(weight) for name, weight in tensors.items()}
    with atomic_write(file) as target:
        library.save_file(arrays, target.name, _METADATA)


def _host(weight: Weight) -> NumpyArray:
    host: NumpyArray = weight.parameter.reduced().asnumpy()
    return np.ascontiguousarray(host.T if weight.transposed else host)


def _write_index(
    folder: Path, places: dict[str, str], weights: Sequence[Weight], shards: int
) -> None:
    """Writes the index of several files, and removes what would be read in the place of these."""
    if shards == 1:
        (folder / INDEX).unlink(missing_ok=True)
        return
    total = sum(int(np.prod(one.shape)) * as_dtype(one.parameter.dtype).itemsize for one in weights)
    _write_json(folder / INDEX, {"metadata": {"total_size": total}, "weight_map": places})
    (folder / WHOLE).unlink(missing_ok=True)


def _write_json(file: Path, values: dict[str, Any]) -> None:
    text = json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    with atomic_write(file) as target:
        target.write(text.encode())
