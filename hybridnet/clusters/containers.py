"""Containers: what a task holds is by name in a container, and is forgotten with it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from hybridnet.graph import Node

#: The attribute of a variable that says in which container it is; without it in the default one.
CONTAINER: Final = "__container__"
#: Stands between container and name; no name of a container has it.
_MARK: Final = "|"


def in_container(container: str, name: str) -> str:
    """Returns the name by which a task knows something in a container; '' is the default one."""
    return f"{container}{_MARK}{name}" if container else name


def held_name(node: Node) -> str:
    """Returns the name by which a task knows a variable."""
    return in_container(node.attrs.get(CONTAINER, ""), node.name)


def is_in(name: str, containers: Collection[str] | None) -> bool:
    """Whether something of a name is in one of some containers; None: of all."""
    container = name.partition(_MARK)[0] if _MARK in name else ""
    return containers is None or container in containers
