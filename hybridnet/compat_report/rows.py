"""The checklist: one row for each name of MXNet 1.9.1."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Final, final

from hybridnet.base.errors import MXNetError

#: How much a name is used: all the time, as documented, hardly ever.
TIERS: Final = ("core", "common", "rare")

_BUNDLED: Final = "mxnet-1.9.1.tsv.gz"
# These packages are namespaces of their own one level deeper: nd.random, gluon.nn, np.ndarray.
_NAMESPACES: Final = ("nd", "sym", "np", "npx", "gluon")
_NOTE: Final = re.compile(r" ?\{(op|forwards to|stub|numpy fallback|python signature override)")


@final
@dataclass(frozen=True)
class Row:
    """One name.

    Attributes:
        tier: one of `TIERS`.
        name: relative to the package, as 'nd.random.uniform'.
        kind: op, function, class, method, property or constant.
        signature: its parameters; for an op with their types, else as Python writes them.
    """

    tier: str
    name: str
    kind: str
    signature: str

    @cached_property
    def namespace(self) -> str:
        """The part of the API that it is counted in."""
        parts = self.name.split(".")
        if parts[0] in _NAMESPACES:
            return ".".join(parts[:2]) if len(parts) > 2 else parts[0]
        return parts[0] if len(parts) > 1 else "(top level)"

    @cached_property
    def parameters(self) -> str:
        """The signature without the notes behind it."""
        found = _NOTE.search(self.signature)
        return self.signature[: found.start()] if found else self.signature

    @cached_property
    def operator(self) -> str:
        """The canonical name of the operator that it is, or empty."""
        return self._note(r"\{op=(\w+)")

    @cached_property
    def forwards(self) -> str:
        """The name of the function that a method forwards to, or empty."""
        return self._note(r"\{forwards to ([\w.]+)\}")

    @cached_property
    def raises(self) -> bool:
        """Whether MXNet itself only raises an error there."""
        return "{stub: raises" in self.signature

    def _note(self, pattern: str) -> str:
        found = re.search(pattern, self.signature)
        return found[1] if found else ""


def read_checklist(path: Path | None = None) -> list[Row]:
    """Reads a checklist: lines of tier, name, kind and signature between tabs, below a heading.

    Args:
        path: of the file, gzipped where it ends in .gz; default the bundled one.

    Raises:
        MXNetError: a line has not four columns.
    """
    source = files("hybridnet.data") / _BUNDLED if path is None else path
    data = source.read_bytes()
    if source.name.endswith(".gz"):
        data = gzip.decompress(data)
    rows = []
    for number, line in enumerate(data.decode().splitlines()[1:], 2):
        columns = line.split("\t")
        if len(columns) != 4:
            raise MXNetError(
                f"{source.name}:{number}: requires tier, name, kind and signature between tabs, "
                f"got {len(columns)} columns"
            )
        rows.append(Row(*columns))
    return [row for row in rows if row.tier in TIERS]
