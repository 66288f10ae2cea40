"""The command ``python -m hybridnet.compat_report``."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from .judge import judge
from .report import details, markdown, table
from .rows import TIERS, read_checklist


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the report; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m hybridnet.compat_report",
        description="Which of MXNet 1.9.1's names hybridnet has, and how far they are the same.",
    )
    parser.add_argument("--checklist", type=Path, metavar="FILE", help="default: the bundled one")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there too")
    parser.add_argument("--tier", choices=TIERS, action="append", help="only this tier; repeatable")
    parser.add_argument(
        "--missing",
        metavar="NAMESPACE",
        help="list what is missing, differs or is untested there (nd.random, np, ... or all)",
    )
    chosen = parser.parse_args(arguments)
    rows = read_checklist(chosen.checklist)
    namespaces = {row.namespace for row in rows}
    if chosen.missing not in (None, "all", *namespaces):
        parser.error(f"--missing must be all or one of {', '.join(sorted(namespaces))}")
    verdicts = [judge(row) for row in rows if not chosen.tier or row.tier in chosen.tier]
    if chosen.missing is not None:
        print(details(verdicts, chosen.missing) or f"nothing is missing in {chosen.missing}")
    else:
        print(table(verdicts))
    if chosen.markdown is not None:
        chosen.markdown.write_text(markdown(verdicts))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
