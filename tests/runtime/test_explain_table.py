"""`explaining` as a table: what ran each operator, times, memory and lines."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest
from helpers import run_script

import hybridnet as hn
from hybridnet import nd


def tables_of(explanation) -> list[tuple[str, list[list[str]]]]:
    """Returns the caption and the rows of each table."""
    text = explanation._repr_html_()
    found = []
    for table in re.findall(r"(?s)<table>(.*?)</table>", text):
        (caption,) = re.findall(r"<caption[^>]*>(.*?)</caption>", table)
        rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in table.splitlines()]
        found.append((caption, [[html.unescape(cell) for cell in row] for row in rows if row]))
    return found


def test_each_operator_is_a_row():
    x = nd.ones((256, 2))
    x.wait_to_read()
    with hn.runtime.explaining() as seen:
        y = nd.tanh(x * 2)
        nd.exp(x)  # nobody wants it
        y.wait_to_read()
    ((caption, rows),) = tables_of(seen)
    assert caption.startswith("3 operators on cpu(0)") and " in all; 4.0 KiB of results" in caption
    by_name = {row[1].split("(")[0]: row for row in rows}
    assert by_name["input"][2:4] == ["float32[256,2]", "2.0 KiB"]
    assert by_name["tanh"][2:4] == ["float32[256,2]", "2.0 KiB"]
    assert "test_explain_table.py" in by_name["tanh"][6] and by_name["tanh"][7] == "output"
    assert by_name["exp"][7] == "not needed"


def test_operators_that_run_one_by_one_have_tiers_and_times():
    size = int(np.random.default_rng().integers(1000, 100_000))  # a structure that was never seen
    x = nd.ones((size,))
    x.wait_to_read()
    with hn.runtime.explaining() as seen:
        y = nd.sqrt(nd.abs(x - 0.5))
        y.wait_to_read()
    ((caption, rows),) = tables_of(seen)
    assert "one by one" in caption
    operators = rows[1:]
    assert [row[4] in ("NumPy", "program") for row in operators] == [True] * 3
    assert all(re.fullmatch(r"[\d.]+(e[+-]\d+)? (us|ms)", row[5]) for row in operators)


def test_a_launch_tells_its_time_only_to_who_listens():
    x = nd.ones((3,))
    (x + 1).wait_to_read()
    with hn.runtime.explaining() as seen:
        (x + 1).wait_to_read()
    assert all(launch.seconds >= 0 for launch in seen)
    with hn.runtime.explaining() as nothing:
        pass
    assert nothing._repr_html_() == "<p>Nothing was launched.</p>"


def test_repeats_are_one_table():
    with hn.runtime.explaining() as seen:
        nd.tanh(nd.ones((2, 3))).wait_to_read()
    (launch,) = seen
    for _ in range(4):
        seen.add(launch)
    text = seen._repr_html_()
    assert text.count("<table>") == 1 and text.endswith("<p>and the same 4 times more</p>")


def test_lines_of_a_notebook_are_those_of_its_cells():
    """As IPython runs it, which names the files of cells by hashes."""
    pytest.importorskip("IPython")
    said = run_script(
        """
        from IPython.core.interactiveshell import InteractiveShell

        run = InteractiveShell.instance().run_cell
        run("import hybridnet as hn", store_history=True)
        run("def f(x):\\n    return x + 1", store_history=True)
        run(
            "with hn.runtime.explaining() as seen:\\n"
            "    f(hn.nd.ones((2,))).wait_to_read()\\n"
            "print(seen)",
            store_history=True,
        )
        """
    )
    assert "Cell In[2]:2, output" in said and "launched at Cell In[3]:2" in said
