"""The report of MXNet's names: reading its checklist, comparing signatures, counting, printing."""

from __future__ import annotations

from collections import Counter

import pytest
from oracle import sparse_cases

from hybridnet.base.attrs import REQUIRED
from hybridnet.base.errors import MXNetError
from hybridnet.compat_report import Row, judge, markdown, read_checklist, table
from hybridnet.compat_report.__main__ import main
from hybridnet.compat_report.differences import SIGNATURES
from hybridnet.compat_report.evidence import answered, is_testable, is_tested
from hybridnet.compat_report.signatures import Parameter, compare, of_operator, of_python

_CHECKLIST = """tier\tname\tkind\tsignature
core\tnd.relu\top\t(data: NDArray-or-Symbol) {op=relu}
core\tnd.no_such_operator\top\t(data: NDArray-or-Symbol) {op=no_such_operator}
common\tnd.softmax\top\t(data: NDArray-or-Symbol; axis: int, optional, default='7') {op=softmax}
common\trandom.seed\tfunction\t(seed_state, ctx='all')
skip\tnd.relu\top\t()
"""


@pytest.fixture
def checklist(tmp_path):
    path = tmp_path / "names.tsv"
    path.write_text(_CHECKLIST)
    return path


def test_the_bundled_checklist_is_whole():
    rows = read_checklist()
    assert Counter(row.tier for row in rows) == {"core": 1400, "common": 987, "rare": 571}
    assert Counter(row.namespace for row in rows)["nd"] == 164 + 2 + 123 + 23
    (softmax,) = (row for row in rows if row.name == "nd.softmax")
    assert (softmax.kind, softmax.operator, softmax.namespace) == ("op", "softmax", "nd")
    (method,) = (row for row in rows if row.name == "nd.NDArray.sum")
    assert (method.forwards, method.namespace) == ("nd.sum", "nd.NDArray")


def test_every_signature_of_the_checklist_can_be_read():
    for row in read_checklist():
        if row.kind == "op":
            inputs, parameters = of_operator(row.parameters)
            written = row.parameters.strip("()")
            assert len(inputs) + len(parameters) == (written.count("; ") + 1 if written else 0), row
        elif row.kind in ("class", "method") and row.tier == "core" and row.parameters[:1] == "(":
            assert of_python(row.parameters) is not None, row


def test_an_operators_row_is_read_with_types():
    inputs, parameters = of_operator(
        "(data: NDArray-or-Symbol; kernel: Shape(tuple), required; stride: Shape(tuple), optional, "
        "default=[]; sizes: tuple of <float>, optional, default=[0.5,1]; mode: {'a', 'b'}, "
        "optional, default='a'; keep: boolean, optional, default=1; axis: int or None, optional, "
        "default='None'; num_args: int, required)",
        count="num_args",
    )
    assert inputs == [Parameter("data")]
    assert [(one.name, one.default) for one in parameters] == [
        ("kernel", REQUIRED),
        ("stride", ()),
        ("sizes", (0.5, 1)),
        ("mode", "a"),
        ("keep", True),
        ("axis", None),
    ]


def test_a_python_row_is_read():
    found = of_python(
        "(start, stop=None, dtype=<numpy.float32>, ctx=cpu(0), *, k=-1, **kwargs) : Base"
    )
    assert found is not None
    assert [(one.name, one.default) for one in found] == [
        ("start", REQUIRED),
        ("stop", None),
        ("dtype", "numpy.float32"),
        ("ctx", "cpu(0)"),
        ("k", -1),
    ]
    assert of_python("(numpy builtin, no python signature)") is None


@pytest.mark.parametrize(
    "theirs,own,difference",
    [
        ("(a, b=0.9)", "(a, b=0.899999976)", ""),
        ("(a, b=0.9)", "(a, b=0.9, c=None)", ""),
        ("(a)", "(a=1)", ""),
        ("(a, shape=_Null)", "(a, shape=None)", ""),
        ("(a, b=0.9)", "(a, b=0.8)", "b=0.8, must be b=0.9"),
        ("(a, b=True)", "(a, b=False)", "b=False, must be b=True"),
        ("(a, b=1)", "(a, b)", "b, must be b=1"),
        ("(a, b)", "(b, a)", "order is b, a, must be a, b"),
        ("(a, b)", "(a)", "has no b"),
        ("(a)", "(a, b)", "also requires b"),
    ],
)
def test_signatures_are_compared_by_names_order_and_defaults(theirs, own, difference):
    if "_Null" in theirs:
        theirs = theirs.replace("_Null", "<_Null>")
    first, second = of_python(theirs), of_python(own)
    assert first is not None and second is not None
    assert compare(first, second) == difference


@pytest.mark.parametrize(
    "name,kind,signature,present,difference",
    [
        ("nd.relu", "op", "(data: NDArray-or-Symbol) {op=relu}", True, ""),
        ("nd.no_such", "op", "(data: NDArray-or-Symbol) {op=no_such}", False, ""),
        ("nd.clip", "op", "(data: NDArray-or-Symbol; low: float, required)", True, "has no low"),
        ("nd.relu", "function", "(data, beta=1)", True, "has no beta"),
        ("nd.NDArray.copyto", "method", "(other)", True, ""),
        ("nd.NDArray.shape", "property", "read-only", True, ""),
        ("gluon.nn.Dense", "constant", "int = 3", True, None),
        ("gluon.Parameter.name", "property", "read-only", True, ""),
        ("Context", "class", "alias of context.Context", True, ""),
    ],
)
def test_a_row_is_judged(name, kind, signature, present, difference):
    verdict = judge(Row("core", name, kind, signature))
    assert verdict.present is present
    if difference is None:
        assert verdict.difference.endswith("must be 3")
    else:
        assert verdict.difference == difference


def test_operators_with_answers_of_mxnet_count_as_tested():
    op = "(data: NDArray-or-Symbol) {op=relu}"
    assert judge(Row("core", "nd.relu", "op", op)).tested is True
    assert (
        judge(Row("core", "nd.NDArray.relu", "method", "() {forwards to nd.relu}")).tested is True
    )
    assert judge(Row("core", "nd.save", "function", "(fname, data)")).tested is None
    assert judge(Row("core", "nd.none", "op", "() {op=no_such_operator}")).tested is False


def test_functions_count_where_a_case_with_an_answer_calls_them():
    names = answered()
    assert names is not None
    # By operator, by path, as a file says what it calls, and as a method of such a function.
    called = {"_plus_scalar", "np.add", "nd.full", "sym.maximum", "sym.contrib.foreach"}
    assert called <= names
    of_sparse = {one for one in map(sparse_cases.called, sparse_cases.CASES) if one}
    assert of_sparse == {one for one in names if one.startswith("nd.sparse.")}
    split = Row("core", "nd.NDArray.split_v2", "method", "() {forwards to nd.split_v2}")
    assert judge(split).tested is True
    for name in ("nd.cast_storage", "np.full_like_that", "sym.contrib.no_loop"):
        assert is_tested(Row("core", name, "function", "()")) is False


@pytest.mark.parametrize("name", ["nd.gamma", "np.var", "nd.random_pdf_gamma", "nd.sparse.array"])
def test_what_is_determined_has_an_answer_to_compare(name):
    assert is_testable(Row("core", name, "function", "()"))


@pytest.mark.parametrize("name", ["nd.random_gamma", "sym.var", "np.deg2rad", "npx.cpu_pinned"])
def test_what_is_not_has_none(name):
    assert not is_testable(Row("core", name, "function", "()"))


def test_counts_and_lists(checklist, tmp_path, capsys):
    assert main(["--checklist", str(checklist)]) == 0
    told, shares, counts = capsys.readouterr().out.split("\n\n")
    assert told.startswith("Of MXNet 1.9.1's own 914 unit tests") and "gluon " in shares
    assert [line.split() for line in counts.splitlines()][1:] == [
        ["nd", "core", "2", "1/2", "50%", "1/1", "100%", "1/2", "50%"],
        ["nd", "common", "1", "1/1", "100%", "0/1", "0%", "1/1", "100%"],
        ["random", "common", "1", "1/1", "100%", "1/1", "100%", "-"],
        ["total", "core", "2", "1/2", "50%", "1/1", "100%", "1/2", "50%"],
        ["total", "common", "2", "2/2", "100%", "1/2", "50%", "1/1", "100%"],
    ]
    file = tmp_path / "report.md"
    main(["--checklist", str(checklist), "--missing", "nd", "--markdown", str(file)])
    out = capsys.readouterr().out
    assert "core    missing    nd.no_such_operator" in out
    assert "common  signature  nd.softmax: axis=-1, must be axis=7" in out
    assert "random.seed" not in out
    assert "| nd | common | 1 | 1/1 100% | 0/1 0% | 1/1 100% |" in file.read_text()
    main(["--checklist", str(checklist), "--missing", "random"])
    assert capsys.readouterr().out == "nothing is missing in random\n"


def test_an_unknown_namespace_is_answered_with_the_known_ones(checklist, capsys):
    with pytest.raises(SystemExit):
        main(["--checklist", str(checklist), "--missing", "nd.rand"])
    assert "--missing must be all or one of nd, random" in capsys.readouterr().err


def test_a_broken_checklist_is_named_with_the_line(tmp_path):
    path = tmp_path / "names.tsv"
    path.write_text("tier\tname\tkind\tsignature\ncore\tnd.relu\n")
    with pytest.raises(
        MXNetError, match=r"names.tsv:2: requires tier, name, kind .* got 2 columns"
    ):
        read_checklist(path)


def test_listed_differences_are_real_and_shown_with_their_reasons():
    verdicts = [judge(row) for row in read_checklist()]
    explained = {one.reason for one in verdicts if one.reason}
    assert explained == set(SIGNATURES.values())
    text = markdown(verdicts)
    assert all(why in text for why in SIGNATURES.values())
    assert len(table(verdicts).splitlines()) > 100
