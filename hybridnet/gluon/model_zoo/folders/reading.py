"""A network of a folder: made by its settings, and filled one tensor at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet.base.array_types import DTypeLike, NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.dtype import as_dtype, is_float
from hybridnet.base.errors import DTypeError, FormatError, ShapeError
from hybridnet.base.numpy_mode import mode
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.adopt import adopt
from hybridnet.ndarray.copies import aligned

from ...block import HybridBlock
from .family import Family, Weight
from .json_files import read_object
from .settings import Settings, class_names
from .shared_zeros import SharedZeros
from .tensors import DTYPES, Stored, files_of, open_tensors, read_tensor, stored_in

_CONFIG: Final = "config.json"
_SHOWN: Final = 5  # names in a message


class _Found(NamedTuple):
    """A tensor of a file, and where it goes."""

    name: str
    stored: Stored
    weight: Weight


def read_folder(
    folder: Path,
    families: Iterable[Family],
    dtype: DTypeLike | None = None,
    ctx: Context | Sequence[Context] | None = None,
    architecture: str | None = None,
    changes: Mapping[str, Any] | None = None,
) -> HybridBlock:
    """Returns the network of a folder.

    One tensor at a time is read, cast and put in its place.

    Args:
        folder: the path.
        families: what can be read.
        dtype: of the parameters; None for what the folder says, or else has.
        ctx: where they go; None for the current context.
        architecture: in the place of what config.json says; then a head may be new.
        changes: settings in the place of those in config.json.

    Raises:
        FormatError: a file is damaged, or says what is not implemented, or tensors are missing or
            too many.
        ShapeError: a tensor is of another size.
        DTypeError: `dtype`, or that of a tensor, is no floating-point one.
        OSError: a file is not there, or cannot be read.
    """
    settings = _settings(folder, dict(changes or {}))
    stored = [(file, stored_in(file)) for file in files_of(folder)]
    settings = Settings(settings.values, settings.where, sum(len(one) for _, one in stored))
    family = _family(settings, families)
    chosen = _architecture(settings, family, architecture)
    net: Any = family.build(settings, chosen)  # has a config
    net.config = {**net.config, **settings.values, "architectures": [chosen]}
    weights = {weight.name: weight for weight in family.weights(net)}
    found = _matched(folder, stored, family, weights, architecture is not None)
    missing = [name for name in weights if name not in {one.weight.name for one in found}]
    new = _check_missing(folder, family, missing, architecture is not None)
    net.cast(_dtype(settings, found, dtype))
    _fill(found, ctx)
    for name in new:
        weights[name].parameter.initialize(ctx=ctx)
    made: HybridBlock = net
    return made


def _settings(folder: Path, changes: dict[str, Any]) -> Settings:
    path = folder / _CONFIG
    if "num_labels" in changes:
        labels = Settings(changes, "load").size("num_labels")
        del changes["num_labels"]
        names = class_names(labels)
        changes["id2label"] = names
        changes["label2id"] = {name: int(number) for number, name in names.items()}
    settings = Settings({**read_object(path), **changes}, str(path))
    if settings.has("quantization_config"):
        raise FormatError(
            f"{path}: quantization_config: weights that are stored as whole numbers are not read; "
            "use the folder that was quantized"
        )
    return settings


def _family(settings: Settings, families: Iterable[Family]) -> Family:
    by_type = {one: family for family in families for one in family.model_types}
    found: Family = by_type[settings.choice("model_type", "", by_type)]
    return found


def _architecture(settings: Settings, family: Family, wanted: str | None) -> str:
    given = settings.values.get("architectures") or [family.default(settings)]
    chosen = given if wanted is None else [wanted]
    if not isinstance(chosen, list) or len(chosen) != 1 or chosen[0] not in family.architectures:
        names = ", ".join(family.architectures)
        raise settings.refuse("architectures", f"one of {names}, in a list", chosen)
    name: str = chosen[0]
    return name


# -- which tensors ---------------------------------------------------------------------------------


def _matched(
    folder: Path,
    files: Iterable[tuple[Path, Mapping[str, Stored]]],
    family: Family,
    weights: Mapping[str, Weight],
    replaces_head: bool,
) -> list[_Found]:
    """Returns the tensors that the network has, in the order of the files, each once."""
    found: dict[str, _Found] = {}
    surplus: list[str] = []
    for file, tensors in files:
        for name, stored in tensors.items():
            own = family.own_name(name)
            if own not in weights:
                is_old_head = replaces_head and own.startswith(family.replaced)
                if not is_old_head and not family.ignored.fullmatch(own):
                    surplus.append(f"{name!r} in {file.name}")
                continue
            if own in found:
                raise FormatError(
                    f"{file}: {name!r} is there twice: {found[own].stored.file.name} has "
                    f"{found[own].name!r}; remove one"
                )
            _check(name, stored, weights[own])
            found[own] = _Found(name, stored, weights[own])
    if surplus:
        raise FormatError(
            f"{folder}: has {_listed(surplus)}, which the network that {_CONFIG} describes does "
            "not have; the two are not of the same network, or it is one that is not implemented"
        )
    return list(found.values())


def _check(name: str, stored: Stored, weight: Weight) -> None:
    if stored.code not in DTYPES:
        raise DTypeError(
            f"{stored.file}: {name!r} must have one of the dtypes {', '.join(DTYPES)}, got "
            f"{stored.code}; weights that were quantized are not read"
        )
    if stored.shape != weight.shape:
        raise ShapeError(
            f"{stored.file}: {name!r} must have shape {weight.shape} by {_CONFIG}, got "
            f"{stored.shape}; the two are not of the same network"
        )


def _check_missing(
    folder: Path, family: Family, missing: Sequence[str], may_be_new: bool
) -> Sequence[str]:
    """Returns those that are missing and may be: a head, where another was asked for."""
    if may_be_new and all(name.startswith(family.replaced) for name in missing):
        return missing
    if missing:
        raise FormatError(
            f"{folder}: lacks {_listed([repr(name) for name in missing])}, which the network that "
            f"{_CONFIG} describes has; fetch the folder again, or correct {_CONFIG}"
        )
    return ()


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


# -- values ----------------------------------------------------------------------------------------


def _dtype(settings: Settings, found: Sequence[_Found], wanted: DTypeLike | None) -> Any:
    if wanted is None:
        name = "dtype" if settings.has("dtype") else "torch_dtype"  # as older files have it
        names = {one.name: one for one in DTYPES.values()}
        if settings.has(name):
            return names[settings.choice(name, "", names)]
        return DTYPES[found[0].stored.code] if found else np.dtype(np.float32)
    dtype = as_dtype(wanted)
    if not is_float(dtype):
        raise DTypeError(f"load: dtype must be a floating-point one, got {dtype}")
    return dtype


def _fill(found: Sequence[_Found], ctx: Context | Sequence[Context] | None) -> None:
    zeros = SharedZeros()
    for file in dict.fromkeys(one.stored.file for one in found):
        with open_tensors(file) as opened:
            for name, stored, weight in found:
                if stored.file == file:
                    host = read_tensor(opened, name, stored.code)
                    weight.parameter.take_over(partial(_placed, weight, host), ctx, zeros)


def _placed(weight: Weight, host: NumpyArray, ctx: Context) -> NDArray:
    """Returns a tensor of a file as the value of its parameter, of the parameter's dtype."""
    host = host.T if weight.transposed else host
    memory = aligned(host.shape, as_dtype(weight.parameter.dtype))
    memory[...] = host  # casts and transposes at once
    array = adopt(memory, ctx)
    array.wait_to_read()  # so that no more than one tensor is elsewhere than in its place
    return array.as_np_ndarray() if mode.array else array
