"""The rules of the house, as functions over a source tree; tests/house/test_layers.py has tables.

Each rule returns findings: where a rule is broken, what is wrong, and how that is mended.
"""

from __future__ import annotations

import ast
import itertools
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from house_source import House, Import, Source, is_private

#: Rows of a table: a part of the house -> the parts just below it.
Rows = Mapping[str, Sequence[str]]

#: Python's own modules, with those that older ones lack, which are imported where they are.
_STDLIB = {*sys.stdlib_module_names, "annotationlib"}


@dataclass(frozen=True)
class Finding:
    """One place where a rule is broken.

    Attributes:
        key: names the breach in a list of known ones; free of line numbers, which change.
        where: ``path:line``.
        what: what is wrong there.
        mend: what to do about it.
    """

    key: str
    where: str
    what: str
    mend: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}. {self.mend}."


def news(findings: Iterable[Finding], known: Collection[str], name: str) -> str:
    """Says what is new among findings, and what is no longer found; "" if they are as known.

    Args:
        findings: those of one rule.
        known: keys of the findings that there are, and that wait for somebody to mend them.
        name: what the list of known ones is called.
    """
    found = list(findings)
    lines = [f"{one}\n    key: {one.key}" for one in found if one.key not in known]
    gone = sorted(set(known) - {one.key for one in found})
    lines += [f"{name}: {key!r} is mended. Take it off the list." for key in gone]
    return "\n".join(lines)


def allowed(part: str, rows: Rows) -> set[str]:
    """Returns all parts below a part of the house, itself among them only if rows are a circle."""
    found: set[str] = set()
    ahead = list(rows.get(part, ()))
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.add(one)
            ahead.extend(rows.get(one, ()))
    return found


# -- floors ----------------------------------------------------------------------------------


def floors(house: House, rows: Rows, lists: Collection[str] = ()) -> list[Finding]:
    """Every import goes to the own floor or one below.

    Args:
        house: the tree.
        rows: floor -> the floors just below it.
        lists: floors that may import ``hybridnet`` itself, which loads any of them.
    """
    found = _rows_that_are_wrong("the table of floors", rows)
    for source in _in_floors(house):
        if source.floor not in rows:
            where = f"{source.path}:1"
            what = f"{source.floor} is in no row of the table"
            found.append(Finding(source.floor, where, what, "Give the floor a row"))
            continue
        below = allowed(source.floor, rows) | {source.floor}
        for one in _of_the_house(source):
            target = (one.module.split(".") + [""])[1]
            if not target and (one.name in rows or one.name == "__version__"):
                target = one.name  # a floor that the tree lacks, or what all may know
            if target in below or (source.floor in lists and target in ("", "__version__")):
                continue
            what = f"imports {one}, but {target or 'hybridnet itself'} is not below {source.floor}"
            found.append(_breach(source, one, what, _DOWN))
    return found


_DOWN = (
    "Move what both need down to where both may look, or hand it in as an argument; if the table "
    "is wrong, change it there"
)


def folders(house: House, rows_of: Mapping[str, Rows]) -> list[Finding]:
    """Within a package with folders, every import that happens goes to the own part or one below.

    A part is a folder or a file of the package, or of a folder of it, such as "nn" and "nn/conv";
    it holds all that no longer name holds. "." stands for all files that lie in the package itself
    and have no row. Its ``__init__.py`` is above all parts, if it has no row.

    Args:
        house: the tree.
        rows_of: package, such as "tracing" or "compat/tf1" -> part -> the parts just below it.
    """
    found = []
    packages = {_module(name): rows for name, rows in rows_of.items()}
    parts = {f"{name}.{_dots(part)}" for name, rows in packages.items() for part in rows}
    for name, rows in packages.items():
        found += _rows_that_are_wrong(f"the table of {_path(name)}", rows)
    for source in _in_floors(house):
        parent = source.folder.rpartition(".")[0]
        is_inner = source.is_init and parent.count(".")  # a folder of a floor
        if is_inner and parent not in packages and source.folder not in parts:
            what = f"lies in {_path(parent)}, which has folders but no table"
            mend = f"Give {_path(parent)!r} a table of which of its parts are below which"
            found.append(Finding(source.folder, f"{source.path}:1", what, mend))
        for package, rows in packages.items():
            found += _upward_in(house, package, rows, source)
    return found


def _upward_in(house: House, package: str, rows: Rows, source: Source) -> list[Finding]:
    mine = _part(house, source.module, package, rows)
    if mine is None or (mine == "__init__" and mine not in rows):
        return []
    if mine not in rows:
        what = f"{mine} is in no row of the table of {_path(package)}"
        return [Finding(source.module, f"{source.path}:1", what, "Give it a row")]
    below = allowed(mine, rows) | {mine}
    found = []
    for one in _of_the_house(source):
        target = _part(house, one.module, package, rows)
        if one.typing or target is None or target in below:
            continue
        what = f"imports {one}, but {target} is not below {mine} in {_path(package)}"
        found.append(_breach(source, one, what, _DOWN))
    return found


def _part(house: House, module: str, package: str, rows: Rows) -> str | None:
    """Returns the part of a package that a module is in, if it is in the package."""
    if module == package:
        return "__init__"
    if not module.startswith(f"{package}."):
        return None
    names = module[len(package) + 1 :].split(".")
    for count in range(len(names), 0, -1):
        part = "/".join(names[:count])
        if part in rows:
            return part
    source = house.sources.get(module)
    is_file = source is not None and source.folder == package
    return "." if is_file and "." in rows else names[0]


def _rows_that_are_wrong(table: str, rows: Rows) -> list[Finding]:
    found = []
    for part, below in rows.items():
        if part in allowed(part, rows):
            mend = "Take out one of the rows that close the circle"
            found.append(Finding(part, table, f"{part} is below itself", mend))
        for one in below:
            if one not in rows:
                what = f"{part} is above {one}, which has no row"
                found.append(Finding(f"{part}: {one}", table, what, f"Give {one} a row"))
    return found


def by_folder(house: House) -> list[Finding]:
    """Nobody imports the engine or the key-value store by the name of its folder."""
    return [
        _breach(
            source,
            one,
            f"imports {one} by its folder, which would be a second copy",
            f"Import hybridnet.{one.module}",
        )
        for source in house.sources.values()
        for one in source.imports
        if one.module.split(".")[0] in ("engine", "kvstore")
    ]


# -- what comes from outside -----------------------------------------------------------------


def outside(house: House, users: Mapping[str, Collection[str]]) -> list[Finding]:
    """What is neither ours nor the standard library's is imported by few floors.

    JAX by the names of `hybridnet.base.lazy` counts as JAX.

    Args:
        house: the tree.
        users: module outside -> the floors that may import it, at once or lazily. Where these have
            reasons (a mapping), a floor that does not use its permission is a finding, too.
    """
    found = []
    used = set()
    for source in house.sources.values():
        for one in source.imports:
            top = (house.outside(one) or "").split(".")[0]
            if not top or top in _STDLIB or top in ("engine", "kvstore"):
                continue
            used.add((top, source.floor))
            if top not in users:
                what = f"imports {one}, and {top} is not among the modules that the house uses"
                mend = "Do without it, or say in the table which floors may import it"
                found.append(_breach(source, one, what, mend))
            elif source.floor not in users[top]:
                what = f"imports {one}, which is {top}, and {source.floor or 'the root'} may not"
                mend = f"Ask a floor that may ({', '.join(sorted(users[top]))}) to do it"
                found.append(_breach(source, one, what, mend))
    for top, floors_of in users.items():
        for floor in floors_of if isinstance(floors_of, Mapping) else ():
            if (top, floor) not in used:
                what = f"{floor} may import {top}, and does not"
                mend = "Take it off the list"
                found.append(Finding(f"{top}: {floor}", "the table of modules", what, mend))
    return found


# -- what is private -------------------------------------------------------------------------


def private(house: House) -> list[Finding]:
    """What begins with an underscore is used in its own folder only."""
    found = []
    for source in house.sources.values():
        for one in _of_the_house(source):
            owner = _owner(house, one.module, one.name)
            if owner not in (None, source.folder):
                what = f"imports {one}, which is private to {_path(owner or '')}/"
                found.append(_breach(source, one, what, _PUBLIC))
        for line, module, name in house.used_attributes(source):
            owner = _owner(house, module, name)
            if owner not in (None, source.folder):
                what = f"uses {module}.{name}, which is private to {_path(owner or '')}/"
                key = f"{source.path}: {module}.{name}"
                found.append(Finding(key, f"{source.path}:{line}", what, _PUBLIC))
    return found


_PUBLIC = (
    "Use what that folder offers under a public name; if it should offer this, rename it without "
    "the underscore"
)


def _owner(house: House, module: str, name: str) -> str | None:
    """Returns the folder that a private name or module belongs to; None if nothing is private."""
    parts = module.split(".")
    for place, part in enumerate(parts):
        if is_private(part):
            return ".".join(parts[:place])
    if is_private(name):
        return house.folder_of(module) if module in house.sources else module
    return None


# -- faces -----------------------------------------------------------------------------------

#: The most modules that a floor shows to others.
MOST_MODULES = 12


def faces(house: House, shown: Rows) -> list[Finding]:
    """Other floors use what a floor shows them, and nothing inside of it.

    Args:
        house: the tree.
        shown: floor -> the modules that others may import from, "." for its ``__init__``. Floors
            that are not named show all of their modules.
    """
    found = []
    used = set()
    modules = {floor: {_shown(floor, one) for one in row} for floor, row in shown.items()}
    for source in _in_floors(house):
        for one in _of_the_house(source):
            floor = (one.module.split(".") + [""])[1]
            if floor == source.floor or floor not in modules:
                continue
            taken = _taken_from(house, one)
            used.add(taken)
            if taken not in modules[floor]:
                what = f"imports {one}, which is inside of {floor}"
                found.append(_breach(source, one, what, _FACE))
    for floor, row in modules.items():
        table = f"the faces of {floor}"
        if len(row) > MOST_MODULES:
            what = f"{len(row)} modules are shown, and {MOST_MODULES} may be"
            found.append(Finding(floor, table, what, "Show names of several in one"))
        for one in sorted(row - used):
            what = f"{one} is shown, and nobody outside imports from it"
            found.append(Finding(one, table, what, "Take it off the list"))
    return found


_FACE = "Import it from a module that the floor shows; if others should have it, show it there"


def _shown(floor: str, module: str) -> str:
    return f"hybridnet.{floor}" if module == "." else f"hybridnet.{floor}.{module}"


def _taken_from(house: House, one: Import) -> str:
    """Returns the module that an import names; of a name that is a module's, too, the package."""
    package, _, last = one.module.rpartition(".")
    if one.name or package not in house.sources or package == "hybridnet":
        return one.module
    offered = {each.bound for each in house.sources[package].imports}
    return package if last in offered and one.bound else one.module


def borrowed(house: House, rows: Rows) -> list[Finding]:
    """A package that stands on the house as a stranger's would imports few modules of it.

    Args:
        house: the tree.
        rows: package, such as "compat/tf1" -> all modules that it may import from. A package whose
            ``__init__`` shows names is one; a module inside of it is another.
    """
    found = []
    for name, row in rows.items():
        package, modules, used = _module(name), {_module(one) for one in row}, set()
        for source in house.sources.values():
            if not f"{source.module}.".startswith(f"{package}."):
                continue
            for one in _of_the_house(source):
                taken = _taken_from(house, one)
                if f"{taken}.".startswith(f"{package}."):
                    continue
                used.add(taken)
                if taken not in modules:
                    what = f"imports {one}, and {name} may not import from {_path(taken)}"
                    found.append(_breach(source, one, what, _FEW))
        table = f"what {name} borrows"
        if len(modules) > MOST_MODULES:
            what = f"{len(modules)} modules are imported, and {MOST_MODULES} may be"
            found.append(Finding(name, table, what, "Have the faces below show what it needs"))
        for one in sorted(modules - used):
            what = f"{one} is in the table, and {name} imports nothing from it"
            found.append(Finding(one, table, what, "Take it off the list"))
    return found


_FEW = "Import it from a module in the table; if that lacks it, show it in that one's `__init__`"


def attributes(house: House, foreign: Collection[str] = ()) -> list[Finding]:
    """An attribute that begins with an underscore is used in the folder that gives it.

    Args:
        house: the tree.
        foreign: names that others than the house gave, such as `_fields` of a named tuple.
    """
    givers: dict[str, set[str]] = defaultdict(set)
    for source in house.sources.values():
        for name in _given(source.tree):
            givers[name].add(source.folder)
    found = []
    for source in house.sources.values():
        modules = {one.bound for one in source.imports if not one.name}
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Attribute) or not is_private(node.attr):
                continue
            if node.attr in foreign:
                continue
            if isinstance(node.value, ast.Name) and node.value.id in ("self", "cls", *modules):
                continue
            folders = givers.get(node.attr, set())
            if folders and source.folder not in folders:
                where = f"{source.path}:{node.lineno}"
                owner = ", ".join(sorted(_path(one) for one in folders))
                what = f"uses the attribute {node.attr}, which is private to {owner}/"
                found.append(Finding(f"{source.path}: {node.attr}", where, what, _PUBLIC))
    return found


def _given(tree: ast.Module) -> Iterable[str]:
    """Yields the private names that classes define, and those that are set on `self`."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(body=body):
                for one in body:
                    match one:
                        case ast.FunctionDef(name=name) if is_private(name):
                            yield name
                        case ast.AnnAssign(target=ast.Name(id=name)) if is_private(name):
                            yield name
                        case ast.Assign(targets=targets):
                            yield from _private_names(targets)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name, ctx=ast.Store()):
                if is_private(name):
                    yield name


def _private_names(targets: Iterable[ast.expr]) -> Iterable[str]:
    for one in targets:
        if isinstance(one, ast.Name) and is_private(one.id):
            yield one.id


# -- circles ---------------------------------------------------------------------------------


def circles(house: House, known: Collection[str] = ()) -> list[Finding]:
    """No file needs itself by way of others; imports inside functions and for types count, too.

    Where files need each other, all of them are one finding, with a shortest circle among them.

    Args:
        house: the tree.
        known: ``path: name`` of the imports that are known to close a circle. One that closes none
            is a finding.
    """
    edges: dict[str, dict[str, int]] = {one: {} for one in house.sources}
    closing: dict[str, tuple[str, str]] = {}
    for source in house.sources.values():
        for one in source.imports:
            if one.module not in edges or one.module == source.module:
                continue
            key = f"{source.path}: {one}"
            if key in known:
                closing[key] = (source.module, one.module)
            else:
                edges[source.module].setdefault(one.module, one.line)
    found = []
    for group in _groups(edges):
        ring = _shortest(min(group), group, edges)
        steps = [
            f"{house.sources[one].path}:{edges[one][other]} imports {other}"
            for one, other in itertools.pairwise(ring)
        ]
        key = " ".join(sorted(house.sources[one].path for one in group))
        what = f"{len(group)} files need each other: {', '.join(steps)}"
        found.append(Finding(key, steps[0].split(" ")[0], what, _APART))
    for key in known:
        start, end = closing.get(key, ("", ""))
        if not start or start not in _reached(end, edges):
            path, name = key.split(": ")
            what = f"{name} is listed as an import that closes a circle, and closes none"
            found.append(Finding(key, path, what, "Take it off the list"))
    return found


_APART = "Put what they share into a file that imports none of them, or hand it in as an argument"


def _reached(start: str, edges: Mapping[str, Iterable[str]]) -> set[str]:
    """Returns a module and all that it needs, by way of others too."""
    found = {start}
    ahead = [start]
    while ahead:
        new = set(edges.get(ahead.pop(), ())) - found
        found |= new
        ahead.extend(new)
    return found


def _groups(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Returns the sets of modules each of which leads to each other, of two and more (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    path: list[str] = []
    found = []
    for start in edges:
        if start in order:
            continue
        stack = [(start, iter(edges[start]))]
        order[start] = low[start] = len(order)
        path.append(start)
        while stack:
            one, ahead = stack[-1]
            for other in ahead:
                if other not in order:
                    order[other] = low[other] = len(order)
                    path.append(other)
                    stack.append((other, iter(edges[other])))
                    break
                if other in path:
                    low[one] = min(low[one], order[other])
            else:
                stack.pop()
                if stack:
                    low[stack[-1][0]] = min(low[stack[-1][0]], low[one])
                if low[one] == order[one]:
                    at = path.index(one)
                    if len(path) - at > 1:
                        found.append(path[at:])
                    del path[at:]
    return found


def _shortest(start: str, group: Iterable[str], edges: Mapping[str, Iterable[str]]) -> list[str]:
    """Returns a shortest way from a module of a group back to itself."""
    inside = set(group)
    came: dict[str, str] = {}
    ahead = [start]
    while start not in came:
        one = ahead.pop(0)
        for other in edges[one]:
            if other in inside and other not in came:
                came[other] = one
                ahead.append(other)
    ring = [start, came[start]]
    while ring[-1] != start:
        ring.append(came[ring[-1]])
    return ring[::-1]


# -- imports in functions, and names ---------------------------------------------------------


def inside_functions(house: House, reasons: Mapping[str, str]) -> list[Finding]:
    """Imports stand at the top of a module, but for those with a reason.

    Args:
        house: the tree.
        reasons: ``path: module`` -> why that import waits for a call.
    """
    found = []
    for source in house.sources.values():
        for one in source.imports:
            breach = _breach(
                source,
                one,
                f"imports {one} inside {one.inside}",
                "Import it at the top; if that is a circle, take that apart; if loading it must "
                "wait, list it with the reason",
            )
            if one.inside and breach.key not in reasons:
                found.append(breach)
    keys = {
        _breach(source, one, "", "").key
        for source in house.sources.values()
        for one in source.imports
        if one.inside
    }
    for key in reasons:
        if key not in keys:
            path, name = key.split(": ")
            what = f"{name} is listed as an import inside a function, and is none"
            found.append(Finding(key, path, what, "Take it off the list"))
    return found


def class_names(house: House, borrowing: Collection[str] = ()) -> list[Finding]:
    """No two classes of a floor have the same name, and no three of the house a public one.

    Args:
        house: the tree.
        borrowing: floors whose names are another system's; they are not counted across floors.
    """
    within: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    across: dict[str, dict[str, str]] = defaultdict(dict)
    for source in house.sources.values():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                where = f"{source.path}:{node.lineno}"
                within[source.floor, node.name].setdefault(source.path, where)
                if source.floor not in borrowing and not is_private(node.name):
                    across[node.name].setdefault(source.path, where)
    found = [
        _namesakes(f"{floor}: {name} x{len(places)}", name, "its floor", list(places.values()))
        for (floor, name), places in within.items()
        if len(places) > 1
    ]
    found += [
        _namesakes(f"{name} x{len(places)}", name, "the house", list(places.values()))
        for name, places in across.items()
        if len(places) > 2
    ]
    return found


def _namesakes(key: str, name: str, where: str, places: Sequence[str]) -> Finding:
    what = f"class {name} has namesakes in {where}: {', '.join(places[:-1])}"
    return Finding(key, places[-1], what, "Give each a name that says what is its own")


# -- shared ----------------------------------------------------------------------------------


def _in_floors(house: House) -> Iterable[Source]:
    """Returns the modules that lie in a floor: all but hybridnet's own, and the data."""
    return [one for one in house.sources.values() if one.floor not in ("", "__main__", "data")]


def _of_the_house(source: Source) -> list[Import]:
    return [one for one in source.imports if one.module.split(".")[0] == "hybridnet"]


def _breach(source: Source, one: Import, what: str, mend: str) -> Finding:
    return Finding(f"{source.path}: {one}", f"{source.path}:{one.line}", what, mend)


def _path(module: str) -> str:
    return module.removeprefix("hybridnet.").replace(".", "/")


def _module(path: str) -> str:
    return f"hybridnet.{_dots(path)}"


def _dots(path: str) -> str:
    return path.replace("/", ".")
