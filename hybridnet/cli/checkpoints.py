"""The files that ``hybridnet train`` leaves of a network: checkpoints, and a table of epochs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hybridnet import model
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import MXNetError
from hybridnet.base.files import atomic_write

from .network import AbstractSpelling, Network

_HEADING: Final = "epoch\tloss\tval accuracy\tval loss\timages/s"


@dataclass(frozen=True)
class Checkpoints:
    """Checkpoints in MXNet's formats, one for each epoch.

    Attributes:
        prefix: how the names of all files begin.
    """

    prefix: Path

    def begin(self, resume: bool) -> int:
        """Returns the number of the last epoch whose checkpoint is whole; 0 where there is none.

        Args:
            resume: whether training is to go on after it.

        Raises:
            MXNetError: there is one, and training is not to go on after it.
        """
        name = re.compile(rf"{re.escape(self.prefix.name)}-(\d{{4,}})\.params")
        folder = self.prefix.parent
        found = [name.fullmatch(one.name) for one in folder.iterdir()] if folder.is_dir() else []
        numbers = [int(one[1]) for one in found if one is not None]
        last = max((one for one in numbers if self.states(one).exists()), default=0)
        if last and not resume:
            raise MXNetError(
                f"{self.prefix}-{last:04d}.params: is there already: --resume goes on after it, "
                "and another --out begins anew"
            )
        return last

    def states(self, epoch: int) -> Path:
        """Returns the file of the optimizer's states after an epoch."""
        return Path(f"{self.prefix}-{epoch:04d}.states")

    def save(self, epoch: int, spelling: AbstractSpelling, network: Network) -> None:
        """Writes a checkpoint; the parameters come last, and make it whole.

        Args:
            epoch: how many epochs are done.
            spelling: what is trained.
            network: what it is a spelling of.

        Raises:
            OSError: a file cannot be written.
        """
        spelling.save_states(self.states(epoch))
        weights, running = network.parted(spelling.weights())
        model.save_checkpoint(str(self.prefix), epoch, network.symbol(), weights, running)

    def load_weights(self, epoch: int, network: Network) -> dict[str, NumpyArray]:
        """Returns the parameters of a checkpoint, by name without the network's prefix.

        Raises:
            MXNetError: they are of another network.
            OSError: the file cannot be read.
        """
        weights, running = model.load_params(str(self.prefix), epoch)
        loaded = {**weights, **running}
        names = list(network.block().collect_params())
        if loaded.keys() != set(names) or loaded[names[-1]].shape[0] != network.classes:
            raise MXNetError(
                f"{self.prefix}-{epoch:04d}.params: is of another network, or of other classes "
                f"than the {network.classes} here"
            )
        return {
            name.removeprefix(network.prefix): value.asnumpy() for name, value in loaded.items()
        }

    def note(
        self, epoch: int, loss: float, scored: tuple[float, float] | None, speed: float
    ) -> None:
        """Prints what came of an epoch, and adds it to the table.

        Args:
            epoch: its number, from 1 on; rows of this and later ones are replaced.
            loss: the mean over its steps.
            scored: accuracy and loss on other images, if there are some.
            speed: images in a second.

        Raises:
            OSError: the file cannot be written.
        """
        table = Path(f"{self.prefix}-log.tsv")
        rows = table.read_text(encoding="utf-8").splitlines()[1:] if table.exists() else []
        kept = [row for row in rows if int(row.split("\t")[0]) < epoch]
        shown = [f"{one:.6f}" for one in scored] if scored else ["nan", "nan"]
        row = "\t".join([str(epoch), f"{loss:.6f}", *shown, f"{speed:.1f}"])
        with atomic_write(table) as file:
            file.write("\n".join([_HEADING, *kept, row, ""]).encode())
        text = f", val accuracy {scored[0]:.2%}, val loss {scored[1]:.4f}" if scored else ""
        print(f"{self.prefix.name}, epoch {epoch}: loss {loss:.4f}{text}, {speed:,.0f} images/s")
