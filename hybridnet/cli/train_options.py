"""The options of ``hybridnet train``; what runs it is elsewhere, so that help needs no JAX."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from hybridnet.base.context import Context

#: The spellings in which a network of the model zoo is trained.
WAYS: Final = ("eager", "hybridized", "function", "module")
#: The options that only a record file of images has.
ONLY_RECORDS: Final = (
    *("network", "val", "ways", "classes", "size", "resize"),
    *("augment", "threads", "lr_epochs", "resume"),
)


class _Formatter(argparse.ArgumentDefaultsHelpFormatter):
    """Says defaults, but for options that have none."""

    def _get_help_string(self, action: argparse.Action) -> str | None:
        if action.default is None or action.default is False:
            return action.help
        return super()._get_help_string(action)


def add_train(commands: Any) -> None:
    """Adds the command to the parser's commands."""
    parser = commands.add_parser(
        "train",
        help="train LeNet on MNIST digits three ways, or a network of the model zoo on images",
        description=(
            "Without --data, or with a folder of MNIST's files: trains LeNet as an eager loop, a "
            "bound symbol and a traced function, and compares them. With a record file of images, "
            "as `hybridnet im2rec` makes it: trains a network of gluon.model_zoo.vision, with a "
            "checkpoint after each epoch."
        ),
        formatter_class=_Formatter,
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="PATH",
        help=(
            "folder with MNIST's four IDX files, plain or .gz, or a record file, FILE.rec "
            "(default: 5,000 bundled digits)"
        ),
    )
    parser.add_argument("--epochs", type=_positive(int), default=5, help="passes over the images")
    parser.add_argument("--batch-size", type=_positive(int), default=64, help="images in a step")
    parser.add_argument("--lr", type=_positive(float), default=0.07, help="learning rate")
    parser.add_argument(
        "--ctx", type=_context, default="cpu(0)", help="device: cpu(0), gpu(0), ..."
    )
    parser.add_argument("--seed", type=_seed, default=0, help="of the weights and the order")
    parser.add_argument(
        "--kvstore",
        metavar="TYPE",
        help="digits: the type of key-value store, such as dist_sync under hybridnet launch",
    )
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    _add_records(parser.add_argument_group("images of a record file (--data FILE.rec)"))


def _add_records(group: Any) -> None:
    """Adds what only a record file has; no default stands here, see `ONLY_RECORDS`."""
    group.add_argument(
        "--network", metavar="NAME", help="of gluon.model_zoo.vision (default: resnet18_v1)"
    )
    group.add_argument(
        "--val", type=Path, metavar="FILE.rec", help="images to score after each epoch"
    )
    group.add_argument(
        "--ways",
        nargs="+",
        choices=WAYS,
        metavar="WAY",
        help=(
            f"{', '.join(WAYS)}: how the step is written; several are trained one after another, "
            "from the same weights and to the same numbers (default: hybridized)"
        ),
    )
    group.add_argument(
        "--classes", type=_positive(int), help="how many (default: as the labels have)"
    )
    group.add_argument(
        "--size",
        type=_positive(int),
        metavar="PIXELS",
        help=(
            "side of the squares that the network sees (default: the first image's shorter side, "
            "at most 224); ResNets for 64 pixels and less are those for thumbnails"
        ),
    )
    group.add_argument(
        "--resize", type=_positive(int), metavar="PIXELS", help="the shorter side is made so first"
    )
    group.add_argument(
        "--augment",
        action=argparse.BooleanOptionalAction,
        help=(
            "random crops and mirror images; images no larger than --size get an edge of an "
            "eighth of it first (default: yes)"
        ),
    )
    group.add_argument(
        "--threads", type=_positive(int), metavar="N", help="that decode images (default: 4)"
    )
    group.add_argument(
        "--lr-epochs",
        nargs="+",
        type=_positive(int),
        metavar="EPOCH",
        help="after each of these epochs the learning rate is a tenth",
    )
    group.add_argument(
        "--resume",
        action="store_true",
        help="go on after the last checkpoint in --out, as if nothing had come between",
    )


def _positive(kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"must be greater than 0, got {text}")
        return value

    read.__name__ = "number"
    return read


def _context(text: str) -> Context:
    kind, _, rest = text.partition("(")
    number = rest.removesuffix(")") or "0"
    if kind not in Context.devstr2type or not number.isdigit():
        raise argparse.ArgumentTypeError(f"must be like cpu, cpu(1) or gpu(0), got {text}")
    return Context(kind, int(number))


def _seed(text: str) -> int:
    value = int(text)
    if not 0 <= value < 2**32:
        raise argparse.ArgumentTypeError(f"must be from 0 to 2**32 - 1, got {text}")
    return value
