"""The command ``python -m hybridnet.compat_report``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .conformance import read_record, record_run, update_readme
from .judge import judge
from .report import details, markdown, table
from .rows import TIERS, read_checklist


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the report; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m hybridnet.compat_report",
        description="How many of MXNet 1.9.1's own tests pass on hybridnet, and which of its names "
        "hybridnet has, and how far they are the same.",
    )
    parser.add_argument("--checklist", type=Path, metavar="FILE", help="default: the bundled one")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there too")
    parser.add_argument("--tier", choices=TIERS, action="append", help="only this tier; repeatable")
    parser.add_argument(
        "--missing",
        metavar="NAMESPACE",
        help="list what is missing, differs or is untested there (nd.random, np, ... or all)",
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="RUN.json",
        help="record a run of MXNet's own tests on hybridnet; needs --baseline",
    )
    parser.add_argument(
        "--baseline", type=Path, metavar="FILE", help="the same run on MXNet itself"
    )
    parser.add_argument("--readme", type=Path, metavar="FILE", help="write what was recorded there")
    parser.add_argument(
        "--failing", action="store_true", help="list the tests of MXNet's that do not pass"
    )
    chosen = parser.parse_args(arguments)
    if chosen.record is not None:
        return _record(parser, chosen)
    record = read_record()
    if chosen.failing:
        print("\n".join(name for area in record.areas.values() for name in area.failing))
        return 0
    rows = read_checklist(chosen.checklist)
    namespaces = {row.namespace for row in rows}
    if chosen.missing not in (None, "all", *namespaces):
        parser.error(f"--missing must be all or one of {', '.join(sorted(namespaces))}")
    verdicts = [judge(row) for row in rows if not chosen.tier or row.tier in chosen.tier]
    if chosen.missing is not None:
        print(details(verdicts, chosen.missing) or f"nothing is missing in {chosen.missing}")
    else:
        print(record.sentence(), record.table(), table(verdicts), sep="\n\n")
    if chosen.markdown is not None:
        chosen.markdown.write_text(markdown(verdicts), encoding="utf-8")
    return 0


def _record(parser: argparse.ArgumentParser, chosen: argparse.Namespace) -> int:
    if chosen.baseline is None:
        parser.error("--record needs --baseline, the same tests on MXNet itself")
    record = record_run(chosen.record, chosen.baseline)
    if chosen.readme is not None:
        update_readme(record, chosen.readme)
    print(record.sentence(), record.table(), sep="\n\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
