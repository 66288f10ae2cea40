"""What the documentation site has besides docs/: README, notebooks, labs, and the reference.

mkdocs calls `on_files` before it reads pages. README becomes the first page; each page of the
reference is written from what is installed: for every public name its signature, its docstring by
sections, and whether MXNet 1.9.1 has it, by the checklist of `hybridnet.compat_report`.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import re
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))  # mkdocs runs this file by its path
from lab_pages import lab_figures, lab_pages, with_links
from links import dead_links

from hybridnet.compat_report import Row, read_checklist
from hybridnet.labs.words import LANGUAGES

ROOT: Final = Path(__file__).resolve().parent.parent.parent
#: Pages of the reference: the title, and the modules whose names it holds, as users write them.
PAGES: Final = {
    "hybridnet": ("",),
    "nd": ("nd",),
    "nd.contrib": ("nd.contrib", "nd.image"),
    "nd.linalg": ("nd.linalg", "nd.random", "nd.sparse"),
    "np": ("np", "np.linalg", "np.random"),
    "npx": ("npx", "npx.image", "npx.random"),
    "sym": ("sym", "executor", "executor_manager"),
    "sym.contrib": ("sym.contrib", "sym.linalg", "sym.np.random", "sym.random", "sym.sparse"),
    "autograd": ("autograd",),
    "gluon": ("gluon", "gluon.loss", "gluon.utils"),
    "gluon.nn": ("gluon.nn",),
    "gluon.rnn": ("gluon.rnn",),
    "gluon.data": (
        *("gluon.data", "gluon.data.dataloader"),
        *("gluon.data.vision", "gluon.data.vision.transforms"),
    ),
    "gluon.model_zoo": ("gluon.model_zoo.vision", "gluon.model_zoo.model_store"),
    "gluon.contrib": tuple(
        f"gluon.contrib.{part}" for part in ("cnn", "data", "data.text", "estimator", "nn", "rnn")
    ),
    "module": ("module", "module.executor_group", "model", "callback", "monitor", "rnn"),
    "optimizer": ("optimizer", "optimizer.contrib", "lr_scheduler", "initializer", "metric"),
    "io": ("io", "recordio", "image"),
    "kv": ("kv", "distributed"),
    "session": ("session", "checkpoint", "passes"),
    "runtime": ("runtime", "engine", "profiler", "visualization"),
    "contrib": (
        *("onnx", "contrib.amp", "contrib.autograd", "contrib.io", "contrib.onnx"),
        *("contrib.quantization", "contrib.svrg_optimization", "contrib.tensorboard"),
        *("contrib.text", "contrib.text.embedding", "contrib.text.utils", "contrib.text.vocab"),
    ),
    "others": (
        *("attribute", "base", "context", "error", "log", "name"),
        *("operator", "random", "registry", "test_utils", "util"),
    ),
}
_MXNET: Final = "https://mxnet.apache.org/versions/1.9.1/api/python/docs/search.html?q="
#: Of methods that have nothing to say for themselves.
_SPECIAL: Final = "As Python calls it: for its operators, `len`, `in`, `with`, copies and pickles."
_TO_NOTEBOOK: Final = re.compile(r'href="((?:\.\./)*)(\d+_\w+)\.ipynb')
_TO_GUIDE: Final = re.compile(r'href="((?:\.\./)+)docs/([\w-]+)\.md')
_LINK: Final = re.compile(r"(\]\()((?!https?://|mailto:|#)[^)\s]+)(\))")


@event_priority(100)  # before the plugin that renders notebooks
def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are no file in docs/."""
    logging.getLogger("griffe").setLevel(logging.ERROR)  # signatures have no annotations to tell
    for title, path in (("index.md", "README.md"), ("contributing.md", "CONTRIBUTING.md")):
        files.append(
            File.generated(
                config, title, content=_from_root((ROOT / path).read_text(encoding="utf-8"))
            )
        )
    picture = ROOT / "benchmarks" / "eager.png"
    files.append(File.generated(config, "benchmarks/eager.png", abs_src_path=str(picture)))
    english, chinese = _notebooks("tutorials"), _notebooks("tutorials/zh")
    notebooks = ["tutorials/README.md", *english]
    for name in (*notebooks, *chinese):
        files.append(File(name, str(ROOT), config.site_dir, config.use_directory_urls))
    labs: dict[str, list[str]] = {}
    for language in LANGUAGES:
        texts = dict(lab_pages(language))
        labs[f"labs/{language}/"] = [*texts]
        for name, text in texts.items():
            files.append(File.generated(config, name, content=text))
    for name, figure in lab_figures():
        files.append(File.generated(config, name, content=figure))
    rows = {row.name: row for row in read_checklist()}
    contents = ["# Reference", ""]
    pages = ["reference/index.md"]
    for title, modules in PAGES.items():
        text = _page(title, modules, rows)
        name = f"reference/{title}.md"
        files.append(File.generated(config, name, content=text))
        pages.append(name)
        listed = ", ".join(f"`{module or 'hybridnet'}`" for module in modules)
        contents.append(f"- [{title}]({title}.md): {listed}")
    files.append(File.generated(config, "reference/index.md", content="\n".join(contents)))
    made = {"tutorials/": [*notebooks, {"中文": chinese}], "reference/": pages, **labs}
    config.nav = _with_lists(config.nav, made)
    return files


def _notebooks(folder: str) -> list[str]:
    """The notebooks of a folder, by their numbers."""
    found = sorted((ROOT / folder).glob("*.ipynb"), key=lambda file: int(file.stem.split("_")[0]))
    return [f"{folder}/{file.name}" for file in found]


def _with_lists(entry: Any, made: Mapping[str, list[Any]]) -> Any:
    """The contents of mkdocs.yml with lists of pages in the places of their names."""
    if isinstance(entry, dict):
        return {key: _with_lists(value, made) for key, value in entry.items()}
    if isinstance(entry, list):
        return [_with_lists(one, made) for one in entry]
    return made.get(entry, entry)


@event_priority(100)
def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Has links of docs/ to files outside of it, which a site has not, name the file."""
    markdown = with_links(markdown, page.file.src_uri)
    return _LINK.sub(lambda link: _kept(link, page.file.src_uri), markdown)


@event_priority(-100)  # after the plugin that renders notebooks
def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Has links of notebooks lead to pages of the site, as those of docs/ do."""
    if not page.file.src_uri.endswith(".ipynb"):
        return output
    own = Path(page.file.src_uri).stem
    # A page is a folder, one step further in than its file; its own file can be had beside it.
    output = _TO_NOTEBOOK.sub(
        lambda x: x[0] if (x[1], x[2]) == ("", own) else f'href="../{x[1]}{x[2]}/', output
    )
    return _TO_GUIDE.sub(r'href="../\1\2/', output)


def on_post_build(config: MkDocsConfig) -> None:
    """Has the search answer a name with what is so named, and looks where all links lead.

    Raises:
        Abort: some lead nowhere, or the theme's search is not where it was.
    """
    _order_answers(Path(config.site_dir))
    dead = dead_links(Path(config.site_dir))
    if dead:
        raise Abort("links that lead nowhere:\n" + "\n".join(dead))


def _order_answers(site: Path) -> None:
    """Puts search.js before the theme's search worker, in the worker's own file."""
    workers = list((site / "assets" / "javascripts" / "workers").glob("search.*.min.js"))
    if len(workers) != 1:
        raise Abort(f"search.js stands before one worker of the theme's, found {workers}")
    first = (ROOT / "docs" / "_site" / "search.js").read_text(encoding="utf-8")
    then = workers[0].read_text(encoding="utf-8")
    # `mkdocs serve --dirty` leaves files of the theme as they are.
    workers[0].write_text(first + then.removeprefix(first), encoding="utf-8")


def _kept(link: re.Match[str], page: str) -> str:
    target = link[2]
    if page.startswith(("reference/", "labs/")) or not target.startswith("../"):
        return link[0]
    found = target.removeprefix("../")
    if page.startswith("tutorials/") and found.startswith("docs/"):
        return f"{link[1]}../{found.removeprefix('docs/')}{link[3]}"
    if found.startswith("benchmarks/eager.png"):
        return f"{link[1]}{found}{link[3]}"
    if found.startswith("tutorials/") and found.endswith(".ipynb"):
        return f"{link[1]}{found}{link[3]}"
    if found.startswith("CONTRIBUTING.md"):
        return f"{link[1]}contributing.md{found.removeprefix('CONTRIBUTING.md')}{link[3]}"
    if found.startswith("README.md"):
        return f"{link[1]}index.md{found.removeprefix('README.md')}{link[3]}"
    return f"{link[1]}architecture.md#the-folders{link[3]}"


def _from_root(text: str) -> str:
    """A page of the repository's root, with its links as seen from docs/."""

    def moved(link: re.Match[str]) -> str:
        target = link[2].removeprefix("docs/").replace("CONTRIBUTING.md", "contributing.md")
        return link[1] + target + link[3]

    return _LINK.sub(moved, text)


# The reference -----------------------------------------------------------------------------------


def _page(title: str, modules: tuple[str, ...], rows: dict[str, Row]) -> str:
    lines = [f"# {title}", ""]
    for path in modules:
        module = importlib.import_module("hybridnet")
        for part in filter(None, path.split(".")):
            module = getattr(module, part)
        lines += [f"## {path or 'hybridnet'}", "", inspect.getdoc(module) or "", ""]
        mxnet = {name.rpartition(".")[2] for name in rows if name.rpartition(".")[0] == path}
        for name, value in _public(module, mxnet):
            lines += _entry(f"{path}.{name}".removeprefix("."), value, rows)
        lines += _constants(path, module, mxnet)
    return "\n".join(lines)


def _constants(path: str, module: Any, mxnet: set[str]) -> list[str]:
    """A list of the numbers that a module has as MXNet's does, and of its modules' other names."""
    found = []
    for name in sorted(mxnet):
        value = getattr(module, name, mxnet)
        full = f"{path}.{name}".removeprefix(".")
        if isinstance(value, types.ModuleType):
            told = value.__name__.removeprefix("hybridnet.")
            if told != full:
                what = f"another name of `{told}`"
                found.append(f"- {_anchored(full, full)}: {what} ({_in_mxnet(full)})")
        elif value is None or isinstance(value, int | float | str | tuple | dict | list):
            found.append(f"- {_anchored(full, full)}: `{value!r}` ({_in_mxnet(full)})")
    return ["### Constants and other names", "", *found, ""] if found else []


def _public(module: Any, mxnet: set[str]) -> Iterator[tuple[str, Any]]:
    """The names that a module offers, and what they are; modules have pages of their own.

    Args:
        module: the module.
        mxnet: what MXNet's has, some of which is there without being listed.
    """
    listed = getattr(module, "__all__", None) or dir(module)
    for name in sorted({*listed, *mxnet}):
        value = getattr(module, name, None)
        if value is None or name.startswith("_") or isinstance(value, types.ModuleType):
            continue
        if callable(value) or not isinstance(value, int | float | str | tuple | dict | list):
            yield name, value


def _entry(name: str, value: Any, rows: dict[str, Row]) -> list[str]:
    lines = [f"### {name} {{: #{name} }}", "", "```python", _signature(name, value), "```", ""]
    lines += _documented(value, name, rows)
    if name in rows:
        lines += [_in_mxnet(name), ""]
    if inspect.isclass(value):
        mxnet = {row.rpartition(".")[2] for row in rows if row.rpartition(".")[0] == name}
        said = "\n".join(lines)
        for method, member in _methods(value, mxnet):
            if f"{{: #{name}.{method} }}" in said:
                continue  # it is among the attributes
            lines += [_anchored(_signature(method, member), f"{name}.{method}"), ""]
            text = inspect.getdoc(member) or ""
            if method.startswith("__") and text == inspect.getdoc(getattr(object, method, None)):
                text = _SPECIAL
            text = " ".join(text.partition("\n\n")[0].split()) or _SPECIAL
            if f"{name}.{method}" in rows:
                text += f" ({_in_mxnet(f'{name}.{method}')})"
            lines += [f":   {text}", ""]
    return lines


def _in_mxnet(name: str) -> str:
    """MXNet's own name of the same, which leads to what its documentation says of it."""
    return f"MXNet 1.9.1: [`mx.{name}`]({_MXNET}{name.rpartition('.')[2]})"


def _anchored(code: str, name: str) -> str:
    """Code that links lead to; of a name with __, which are marks of bold text, by a tag."""
    return f'<a id="{name}"></a>`{code}`' if "__" in name else f"`{code}`{{: #{name} }}"


def _signature(name: str, value: Any) -> str:
    if isinstance(value, property):
        return name
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return name
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    if plain and plain[0].name == "self":
        plain = plain[1:]
    return name + re.sub(r" at 0x[0-9a-f]+", "", str(inspect.Signature(plain)))


def _documented(value: Any, name: str, rows: dict[str, Row]) -> list[str]:
    """A docstring, by its sections; attributes have anchors, and MXNet's names, as methods have."""
    lines: list[str] = []
    parsed = griffe.Docstring(inspect.getdoc(value) or "", parser="google").parse(
        returns_multiple_items=False, returns_named_value=False
    )
    for section in parsed:
        match section.kind.value:
            case "text":
                lines += [section.value.replace("::\n", ":\n"), ""]
            case "returns" | "yields":
                lines += [f"**{section.kind.value.capitalize()}**", ""]
                for item in section.value:  # what comes before a colon need not be a type
                    words = [item.annotation, item.description]
                    lines += [" ".join(": ".join(filter(None, words)).split()), ""]
            case "parameters" | "attributes" | "raises":
                lines += [f"**{section.kind.value.capitalize()}**", ""]
                for item in section.value:
                    known = getattr(item, "name", "") or getattr(item, "annotation", None) or ""
                    what = " ".join(item.description.split())
                    full = f"{name}.{known}"
                    mark = f"{{: #{full} }}" if section.kind.value == "attributes" else ""
                    if mark and full in rows:
                        what += f" ({_in_mxnet(full)})"
                    lines.append(f"- `{known}`{mark}: {what}" if known else f"- {what}")
                lines.append("")
            case "examples":
                lines += [f"```python\n{text}\n```" for _, text in section.value] + [""]
            case "admonition":
                lines += [f"**{section.title}**", "", section.value.description, ""]
    return lines


def _methods(value: type, mxnet: set[str]) -> Iterator[tuple[str, Any]]:
    """A class's methods, properties and fields; of Python's special ones those that MXNet lists."""
    for name in sorted({*dir(value), *mxnet}):
        if name.startswith("_") and not (name in mxnet and name.endswith("__")):
            continue
        member = inspect.getattr_static(value, name, mxnet)
        if member is mxnet or (member is None and name not in mxnet):
            continue  # not here, or taken away from what a base class has
        if isinstance(member, property) or name in getattr(value, "_fields", ()):
            yield name, property(doc=inspect.getdoc(member))
        elif name in mxnet and not callable(getattr(value, name)):
            yield name, property(doc="A value of the class.")
        elif callable(getattr(value, name)) and not inspect.isclass(getattr(value, name)):
            yield name, getattr(value, name)
