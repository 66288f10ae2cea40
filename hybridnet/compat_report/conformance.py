"""MXNet 1.9.1's own unit tests on hybridnet: the record of a run, which is bundled and shown.

The tests are not part of hybridnet. Who has a checkout of MXNet runs them with hybridnet under
MXNet's name, and records what came out: a JSON file with the outcome of each test. What counts are
the tests that pass on MXNet itself, which a run on MXNet says (the baseline).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, final

from hybridnet.base.errors import FormatError

_PASSED: Final = "passed"
#: What stands around the sentence in README.md that a record is written into.
_MARKS: Final = ("<!-- tests of MXNet -->\n", "\n<!-- end -->")


@final
@dataclass(frozen=True)
class Area:
    """The tests of one part of MXNet.

    Attributes:
        tests: how many pass on MXNet itself.
        passed: how many of these pass on hybridnet.
        failing: the names of the others, ``file::test``.
    """

    tests: int
    passed: int
    failing: list[str]


@final
@dataclass(frozen=True)
class Conformance:
    """The results of a run.

    Attributes:
        date: of the run, as ISO has it.
        versions: of what ran: hybridnet, mxnet, python, numpy, jax.
        areas: by name.
    """

    date: str
    versions: dict[str, str]
    areas: dict[str, Area]

    @property
    def tests(self) -> int:
        """The number of tests that pass on MXNet itself."""
        return sum(area.tests for area in self.areas.values())

    @property
    def passed(self) -> int:
        """The number of these that pass on hybridnet."""
        return sum(area.passed for area in self.areas.values())

    def sentence(self) -> str:
        """Returns the record in one sentence."""
        had = self.versions
        return (
            f"Of MXNet {had['mxnet']}'s own {self.tests} unit tests that pass on MXNet itself, "
            f"{self.passed} pass on hybridnet {had['hybridnet']} ({self.date[:10]}, Python "
            f"{had['python']}, NumPy {had['numpy']}, JAX {had['jax']})."
        )

    def table(self) -> str:
        """Returns how many pass by area, as aligned text."""
        rows = [(name, f"{area.passed}/{area.tests}") for name, area in self.areas.items()]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {share}" for name, share in rows)


def bundled_path() -> Traversable:
    """Returns where the bundled record is, which may be in an archive."""
    return files("hybridnet.data") / "mxnet-tests.json"


def read_record(path: Path | None = None) -> Conformance:
    """Reads a record; default the bundled one.

    Raises:
        FormatError: the file is no record.
        OSError: it cannot be read.
    """
    source = bundled_path() if path is None else path
    try:
        read = json.loads(source.read_text(encoding="utf-8"))
        areas = {name: Area(**area) for name, area in read["areas"].items()}
        return Conformance(read["date"], read["versions"], areas)
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{source}: must be a record of MXNet's tests, got {error!r}") from error


def record_run(run: Path, baseline: Path, out: Path | None = None) -> Conformance:
    """Makes a record of a run, and writes it.

    Args:
        run: what came out on hybridnet: JSON with "meta" (date and versions), and "tests", the
            outcome "o" of each by its name ``file::test``.
        baseline: the same of MXNet itself, with "areas", the files of each part.
        out: the record's file; default the bundled one.

    Raises:
        FormatError: a file is not such a run.
        OSError: one cannot be read, or the record not be written.
    """
    ran, wanted = _read_run(run, ("meta", "tests")), _read_run(baseline, ("areas", "tests"))
    areas = {}
    for name, names in wanted["areas"].items():
        ids = [
            one
            for one, outcome in wanted["tests"].items()
            if outcome["o"] == _PASSED and one.partition("::")[0] in names
        ]
        failing = [one for one in ids if ran["tests"].get(one, {}).get("o") != _PASSED]
        areas[name] = Area(len(ids), len(ids) - len(failing), failing)
    meta = ran["meta"]
    had = {"hybridnet": "target_version", "mxnet": "tag", "python": "python"}
    versions = {name: str(meta[key]) for name, key in had.items()}
    versions |= {name: str(meta[name]) for name in ("numpy", "jax")}
    made = Conformance(meta["date"], versions, areas)
    target = Path(str(bundled_path())) if out is None else out
    target.write_text(json.dumps(asdict(made), indent=1) + "\n", encoding="utf-8")
    return made


def _read_run(path: Path, keys: tuple[str, ...]) -> Mapping[str, Any]:
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{path}: must be JSON, got {error}") from error
    if not isinstance(read, dict) or not all(isinstance(read.get(key), dict) for key in keys):
        raise FormatError(f"{path}: must be a run of MXNet's tests with {' and '.join(keys)}")
    return read


def update_readme(record: Conformance, readme: Path) -> None:
    """Writes a record's sentence into a page, between the marks that stand there for it.

    Raises:
        FormatError: the marks are not there.
        OSError: the page cannot be read or written.
    """
    text = readme.read_text(encoding="utf-8")
    before, begin, rest = text.partition(_MARKS[0])
    _, end, after = rest.partition(_MARKS[1])
    if not begin or not end:
        raise FormatError(
            f"{readme}: must have the lines {_MARKS[0].strip()} and {_MARKS[1].strip()}"
        )
    readme.write_text(before + begin + record.sentence() + end + after, encoding="utf-8")
