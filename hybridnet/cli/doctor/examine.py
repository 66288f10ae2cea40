"""The examination of a project: every file is read, and what is found is collected."""

from __future__ import annotations

from pathlib import Path

from hybridnet.compat import mxnet

from .attempt import try_imports
from .findings import Findings, Group, Spot
from .models import look_at_models
from .names import Names
from .packages import is_foreign, look_at_import
from .project import Project
from .requirements import look_at_requirements
from .sources import Source, read_sources
from .texts import look_at_code, look_at_texts
from .uses import Use, find_uses


def examine(root: Path, with_imports: bool = False) -> tuple[Findings, int]:
    """Reads a project and says what of it will run.

    Args:
        root: a folder or a file.
        with_imports: whether to run the imports of packages, too, in a process of their own.

    Returns:
        What was found, and how many files there are.
    """
    project, findings = Project(root), Findings()
    for folder in project.closed:
        findings.add(Group.NOTE, "cannot be looked into", project.place(folder), folder.name)
    with mxnet.installed():
        names = Names(findings)
        statements: dict[str, list[Spot]] = {}
        for source in read_sources(project, findings):
            for use in _uses(source, findings):
                place = source.place(use.line)
                if use.imported:
                    look_at_import(use, place, project, findings)
                    if is_foreign(use, place, project):
                        statements.setdefault(use.statement, []).append(place)
                names.look_at(use, place)
            look_at_code(source, findings)
        look_at_texts(project, findings)
        look_at_requirements(project, findings)
        look_at_models(project, findings)
    if with_imports and statements:
        try_imports(statements, project.folder, findings)
    return findings, len(project.files)


def _uses(source: Source, findings: Findings) -> list[Use]:
    try:
        return find_uses(source.tree)
    except RecursionError:
        place = source.place(1)
        findings.add(Group.NOTE, "is nested too deep to be looked at", place, place.file)
        return []
