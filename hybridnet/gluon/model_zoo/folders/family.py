"""Families of networks: what each says of itself, so that folders of it are read and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from hybridnet.base.errors import ParameterError

from ...block import Block, HybridBlock
from ...parameter import Parameter
from .settings import Settings

#: Our names of the parameters of a layer -> Hugging Face's.
_NAMES: Final = {"weight": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}


class Weight(NamedTuple):
    """A tensor of a file, and the parameter that it is.

    Attributes:
        name: Hugging Face's, without the prefix of the network's body.
        parameter: ours.
        transposed: whether the file has (inputs, outputs), and we (outputs, inputs).
    """

    name: str
    parameter: Parameter
    transposed: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """As the file has it."""
        shape = self.parameter.shape or ()
        return shape[::-1] if self.transposed else shape


@dataclass(frozen=True)
class Family:
    """Networks whose folders are alike.

    Attributes:
        model_types: the ``model_type`` of a config.json.
        architectures: the ``architectures`` that can be read; those of the model types first.
        bodies: those of them without a head.
        prefix: what the names of the body's tensors begin with, in files of networks with a head.
        heads: what the names of tensors begin with that are not in the body.
        replaced: what those begin with that are new where another head is asked for.
        build: makes a network, without values, of the settings and an architecture.
        weights: lists the tensors of a network. Its ``config`` holds its settings, ready to be
            written, with the architecture.
        ignored: matches names, without the prefix, of tensors that files may have and that are not
            learned, or that are another tensor once more.
        renamed: what older files call otherwise: a pattern, and what takes its place.
    """

    model_types: tuple[str, ...]
    architectures: tuple[str, ...]
    bodies: tuple[str, ...]
    prefix: str
    heads: tuple[str, ...]
    replaced: tuple[str, ...]
    build: Callable[[Settings, str], HybridBlock]
    weights: Callable[[Any], Iterator[Weight]]
    ignored: re.Pattern[str]
    renamed: tuple[tuple[re.Pattern[str], str], ...] = ()

    def default(self, settings: Settings) -> str:
        """Returns the architecture of settings that name none."""
        number = self.model_types.index(settings.values["model_type"])
        return self.architectures[number]

    def own_name(self, name: str) -> str:
        """Returns the name of a file's tensor as `weights` lists it."""
        name = name.removeprefix(self.prefix)
        for pattern, instead in self.renamed:
            name = pattern.sub(instead, name)
        return name

    def file_name(self, name: str, has_head: bool) -> str:
        """Returns the name in a file of a tensor that `weights` lists."""
        return name if name.startswith(self.heads) or not has_head else self.prefix + name


def weights_of(name: str, layer: HybridBlock, transposed: bool = False) -> Iterator[Weight]:
    """Lists the tensors of a layer with a weight and perhaps a bias.

    Args:
        name: Hugging Face's name of the layer.
        layer: ours.
        transposed: see `Weight`; of the weight.
    """
    if not any(isinstance(getattr(layer, ours, None), Parameter) for ours in _NAMES):
        raise ParameterError(
            f"{name}: is a {type(layer).__name__}, which folders do not have; merge what was "
            "trained beside the weight first (gluon.contrib.nn.merge_lora)"
        )
    for ours, theirs in _NAMES.items():
        parameter = getattr(layer, ours, None)
        if isinstance(parameter, Parameter):
            yield Weight(f"{name}.{theirs}", parameter, transposed and ours == "weight")


def weights_by_name(
    block: Block, names: Mapping[str, str], prefix: str = "", transposed: bool = False
) -> Iterator[Weight]:
    """Lists the tensors of several layers of a block.

    Args:
        block: has the layers as attributes; one that is None is left out.
        names: Hugging Face's names of the layers -> ours.
        prefix: what Hugging Face's names begin with, too.
        transposed: see `Weight`.
    """
    for theirs, ours in names.items():
        layer = getattr(block, ours)
        if layer is not None:
            yield from weights_of(prefix + theirs, layer, transposed)
