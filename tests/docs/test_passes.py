"""The page on passes lists every rule as it is."""

from places import ROOT

from hybridnet import passes
from hybridnet.passes.table import rules_table

PAGE = ROOT / "docs" / "passes.md"


def test_the_page_lists_the_rules_as_they_are():
    page = PAGE.read_text()
    assert page.endswith(rules_table()), "run python -m hybridnet.passes.table"


def test_the_page_names_every_pass_in_order():
    order = " → ".join(one.name for one in passes.pipeline)
    assert order in PAGE.read_text()


def test_the_example_of_a_pass_works(capsys):
    (example,) = [part for part in PAGE.read_text().split("```python") if "softplus" in part]
    exec(example.split("```")[0], {})
    shown = capsys.readouterr().out
    assert "log1p(%1" in shown and shown.rstrip().endswith("softplus")


def test_no_two_rules_have_one_name():
    names = [rule.name for one in passes.pipeline for rule in one.rules]
    assert len(set(names)) == len(names)
