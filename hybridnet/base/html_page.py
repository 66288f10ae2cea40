"""Pictures as pages of HTML: whole in one file, with nothing fetched, and shown by notebooks."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import Final, final

from .files import atomic_write
from .lazy import resources

_STYLE: Final = """\
:root { color-scheme: light dark; }
body { font: 13px/1.4 system-ui, sans-serif; margin: 8px; }
code { font: 12px/1.4 ui-monospace, monospace; }
button { border: 1px solid GrayText; border-radius: 4px; padding: 1px 7px; cursor: pointer;
  background: none; color: inherit; font: inherit; }
table { border-collapse: collapse; }
th, td { padding: 1px 10px; text-align: right; border-bottom: 1px solid #8884; }
td button { border: 0; padding: 0; text-align: left; }
td button:hover { text-decoration: underline; }
.wide { overflow-x: auto; }
.line { display: flex; flex-wrap: wrap; gap: 4px; align-items: center; margin: 4px 0; }
.line i { display: inline-block; width: 10px; height: 10px; margin-right: 4px; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1em; margin: 4px 0; }
dd { margin: 0; overflow-wrap: anywhere; }
"""
#: What scripts of pages may call.
_SHARED: Final = """\
const find = id => document.getElementById(id);
// Adds to a <dl> what is known under a name: a text, or a list of them.
function entry(list, key, value) {
  list.appendChild(document.createElement("dt")).textContent = key;
  const told = list.appendChild(document.createElement("dd"));
  if (Array.isArray(value)) {
    const inner = told.appendChild(document.createElement("ol"));
    value.forEach(one => inner.appendChild(document.createElement("li")).textContent = one);
  } else told.textContent = value;
}
// Has an element answer a click, Enter and the space bar, and have the focus again when what it did
// has drawn the page anew; its name is one that no other element has.
function pressable(element, name, action) {
  const press = () => {
    action();
    document.querySelector(`[data-name="${CSS.escape(name)}"]`)?.focus();
  };
  element.dataset.name = name;
  element.onclick = press;
  if (element.tagName === "BUTTON") return element;
  element.setAttribute("tabindex", 0);
  element.setAttribute("role", "button");
  element.onkeydown = event => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    press();
  };
  return element;
}
"""
# In a notebook's frame: as dark as the notebook is (JupyterLab and VS Code say so of themselves),
# and as high as what is in it.
_IN_FRAME: Final = """\
(() => {
  let frame, body;
  try { frame = window.frameElement; body = parent.document.body; } catch { return; }
  if (!frame) return;
  const theme = () => {
    const {jpThemeLight: jupyter, vscodeThemeKind: code} = body.dataset;
    const light = jupyter ? jupyter === "true" : code ? code.includes("light") : null;
    if (light !== null) document.documentElement.style.colorScheme = light ? "light" : "dark";
  };
  theme();
  new MutationObserver(theme).observe(body, {attributes: true});
  const high = () => Math.min(document.documentElement.offsetHeight + 20, 900);
  new ResizeObserver(() => frame.style.height = high() + "px").observe(document.body);
})();
"""


def json_element(name: str, data: object) -> str:
    """Returns data as an element that a page's script reads by its name, whatever is in it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{text}</script>'


@cache
def script_file(package: str, name: str) -> str:
    """Returns a script that stands beside the modules of a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


@final
@dataclass(frozen=True, slots=True)
class HtmlPage:
    """A picture as a page of HTML.

    Notebooks show it in a frame, so that its styles and its script stay within.

    Attributes:
        title: of the page.
        body: its HTML.
        style: its CSS.
        script: its JavaScript; run when the page is there. It may call the functions of `_SHARED`.
        height: of the frame in a notebook, in pixels.
    """

    title: str
    body: str
    style: str = ""
    script: str = ""
    height: int = 400

    def __str__(self) -> str:
        script = f"<script>\n{_IN_FRAME}{_SHARED}{self.script}</script>\n"
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width">\n'
            f"<title>{escape(self.title)}</title>\n<style>\n{_STYLE}{self.style}</style>\n</head>\n"
            f"<body>\n{self.body}\n{script}</body>\n</html>\n"
        )

    def __repr__(self) -> str:
        return f"<HtmlPage {self.title!r}: .save(path) writes it>"

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{escape(str(self))}" title="{escape(self.title)}" '
            f'style="width:100%;height:{self.height}px;border:0"></iframe>'
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page; the file appears whole or not at all.

        Args:
            path: the file, such as "timeline.html".

        Raises:
            OSError: it cannot be written.
        """
        with atomic_write(path) as file:
            file.write(str(self).encode())
