"""The page of the course names the labs that are there, in each language, and the site has each."""

import argparse
import re
import shlex

import pytest
from places import ROOT, site_module

from hybridnet.labs import NAMES
from hybridnet.labs.command import add_lab
from hybridnet.labs.lab import Lab
from hybridnet.labs.words import LANGUAGES

PAGES = {"en": ROOT / "docs" / "labs.md", "zh": ROOT / "docs" / "labs.zh.md"}
_TABLE = re.compile(r"(?m)^\| (?:lab|实验) \|.*\n\|.*\n((?:^\|.*\n)+)")


def tables(language):
    """Returns the cells of each row of each table of labs."""
    text = PAGES[language].read_text(encoding="utf-8")
    return [
        [[cell.strip() for cell in row.strip("|").split(" | ")] for row in table.splitlines()]
        for table in _TABLE.findall(text)
    ]


def names_in(table):
    return [row[0].strip("`") for row in table]


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_table_names_every_lab_in_its_order(language):
    assert len(tables(language)) == 3
    for table in tables(language):
        names = names_in(table)
        assert [name for name in names if name in NAMES] == list(NAMES)
        assert len(set(names)) == len(names)
        for name in names:  # a row may come before its lab, but not without one
            assert (ROOT / "hybridnet" / "labs" / "course" / name).is_dir(), name


def test_both_languages_have_the_same_rows():
    english, chinese = (tables(language) for language in LANGUAGES)
    assert [names_in(table) for table in english] == [names_in(table) for table in chinese]
    hours = [[int(row[1]) for row in course] for course, _, _ in (english, chinese)]
    assert hours[0] == hours[1]
    for language, path in PAGES.items():
        said = re.search(r"(?:reading: |合计 )(\d+)", path.read_text(encoding="utf-8"))
        assert int(said[1]) == sum(hours[0]), language
    assert [row[1] for row in english[2]] == [row[1] for row in chinese[2]]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_replaced_is_what_the_lab_says(name):
    (file,) = (row[1].strip("`") for row in tables("en")[2] if row[0] == f"`{name}`")
    assert file.rpartition("/")[2] in Lab(name).words("en")("ours")


@pytest.mark.parametrize("language", LANGUAGES)
def test_commands_are_understood(language):
    parser = argparse.ArgumentParser()
    add_lab(parser.add_subparsers())
    text = PAGES[language].read_text(encoding="utf-8")
    commands = re.findall(r"(?m)^ *hybridnet (lab .*?)(?: *#.*| >.*)?$", text)
    assert commands
    for command in commands:
        parser.parse_args(shlex.split(command))


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_site_has_a_page_with_its_figures_for_each_lab(language):
    site = site_module("lab_pages")
    pages, figures = dict(site.lab_pages(language)), dict(site.lab_figures())
    assert len(pages) == len(NAMES)
    linked = set()
    for name, (file, text) in zip(NAMES, pages.items(), strict=True):
        assert file == f"labs/{site.page_name(name, language)}"
        assert text.startswith("# ")
        assert f"`hybridnet lab start {name} my-{name}`" in text
        links = re.findall(r"\]\(([\w./-]+)\)", text)
        assert f"../{PAGES[language].name}" in links
        linked |= {f"labs/{link}" for link in links}
    assert figures.keys() <= linked
    assert all(len(content) > 500 for content in figures.values())


def test_lines_end_where_chinese_has_a_space():
    in_one_line = site_module("lab_pages").in_one_line
    code = "\n\n    九。\n    E\n```\n十\n十\n```\n"
    text = "# 一\n\n二，\nA 三\n四 B\n五\nC，\n`d`。\n\n- 六\n  七\n- 八" + code
    assert in_one_line(text) == "# 一\n\n二，A 三四 B\n五\nC，`d`。\n\n- 六七\n- 八" + code
    assert in_one_line("| 一 |\n| 二 |\nWords,\nwords") == "| 一 |\n| 二 |\nWords,\nwords"


def test_on_the_site_names_of_labs_lead_to_their_pages():
    with_links = site_module("lab_pages").with_links
    text = "| `engine` | 4 |\n| `nowhere` | 3 |\n`engine`"
    assert with_links(text, "labs.md").startswith("| [`engine`](labs/engine.md) | 4 |\n| `nowhere`")
    assert "(labs/engine.zh.md)" in with_links(text, "labs.zh.md")
    assert with_links(text, "memory.md") == text
