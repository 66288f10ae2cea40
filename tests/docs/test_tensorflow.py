"""The page on TensorFlow's names lists what the package has."""

from __future__ import annotations

import inspect
import re
from operator import attrgetter
from types import ModuleType

import pytest
from oracle.tf1_case import answers, signatures
from places import ROOT

import hybridnet.compat.tf1 as tf

PAGE = ROOT / "docs" / "tensorflow.md"
_ROW = re.compile(r"^\| `(tf[.\w]*)` \| (.*) \|$", re.M)
#: The namespaces of TensorFlow's that the package has.
_SPACES = (
    "app", "compat", "contrib.data", "contrib.framework", "contrib.layers",
    "contrib.legacy_seq2seq", "contrib.lookup", "contrib.losses", "contrib.rnn", "contrib.seq2seq",
    "contrib.slim", "contrib.tensorboard.plugins.projector", "contrib.training", "data",
    "debugging", "distributions", "errors", "flags", "gfile", "image", "initializers", "io",
    "layers", "linalg", "logging", "lookup", "losses", "math", "metrics", "nest", "nn",
    "nn.rnn_cell", "python_io", "random", "sparse", "strings", "summary", "test", "train",
)  # fmt: skip


def _names(module: ModuleType) -> set[str]:
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return set(listed)
    found = {name: one for name, one in vars(module).items() if not name.startswith("_")}
    return {name for name, one in found.items() if not isinstance(one, ModuleType)} - {
        "annotations"
    }


def _written() -> dict[str, set[str]]:
    return {name: set(re.findall(r"`(\w+)`", row)) for name, row in _ROW.findall(PAGE.read_text())}


def test_the_page_lists_the_namespaces():
    assert _written().keys() == {"tf", *(f"tf.{one}" for one in _SPACES)}


@pytest.mark.parametrize("space", ["", *_SPACES])
def test_the_page_lists_the_names(space: str):
    module = attrgetter(space)(tf) if space else tf
    written = _written()[f"tf.{space}" if space else "tf"]
    assert written == _names(module), "change the table in docs/tensorflow.md"


@pytest.mark.parametrize("space", ["", *_SPACES])
def test_functions_and_classes_say_what_they_do(space: str):
    module = attrgetter(space)(tf) if space else tf
    for name in _names(module):
        one = getattr(module, name)
        if callable(one):
            assert inspect.getdoc(one), name


#: Parameters that TensorFlow 2 has added, and those that mean something there alone.
_NEWER = frozenset(
    [
        "accum_name",
        "align",
        "allow_fast_lookup",
        "bad_indices_policy",
        "beta",
        "expand_composites",
        "experimental_is_anonymous",
        "grad_a",
        "grad_b",
        "import_scope",
        "index_type",
        "k",
        "l2_shrinkage_regularization_strength",
        "layout",
        "linear_name",
        "local_init_feed_dict",
        "num_cols",
        "num_rows",
        "output_type",
        "padding_value",
        "queue_runner_def",
        "save_graph_def",
        "value_index_offset",
    ]
)
#: Those that TensorFlow had before 1.0, which scripts of then still give.
_OLDER = frozenset(["replica_id"])
#: Where ours are others: messages and classes that only the package makes, lists of options, and
#: an enum, whose constructor is Python's.
_OTHERWISE = re.compile(
    r"tf\.(\w*(Options|Proto|Def|Metadata)|(summary\.)?(Event|Summary)|DType|Operation|QueueBase|Tensor"
    r"|VariableScope|get_local_variable|variable_op_scope|is_variable_initialized|all_variables"
    r"|data\.(Dataset|Iterator)|nn\.rnn_cell\.LSTMStateTuple|(linalg\.)?matvec|nest\..*|flags\..*|ConditionalAccumulatorBase"
    r"|(python_)?io\.TFRecord(Options|CompressionType)|ReaderBase|train\.(Sequence)?Example|train\.(Bytes|Float|Int64)List|train\.Feature\w*|errors\..*|train\.NewCheckpointReader|shape|UnconnectedGradients)"
)
#: What stands for options that we name.
_OPTIONS = {"args", "kwargs", "indexing", "name", "options"}


def test_parameters_have_tensorflows_names_in_its_order():
    ours, theirs = signatures(tf), answers()["signatures"]
    different = {}
    for name, wanted in theirs.items():
        if _OTHERWISE.fullmatch(name) or name not in ours:
            continue
        own = [one for one in ours[name] if one not in _OLDER]
        own = [one for one in own if "kwargs" not in wanted or one not in _OPTIONS]
        known = [one for one in wanted if one in ours[name] or one not in _NEWER]
        known = [one for one in known if "kwargs" not in wanted or one not in _OPTIONS]
        if own != known:
            different[name] = (own, known)
    assert not different


def test_app_runs_main_and_ends_with_what_it_returns():
    with pytest.raises(SystemExit) as ended:
        tf.app.run(lambda argv: len(argv), ["script", "one"])
    assert ended.value.code == 2


def test_logging_is_that_of_python(caplog: pytest.LogCaptureFixture):
    before = tf.logging.get_verbosity()
    try:
        tf.logging.set_verbosity(tf.logging.WARN)
        tf.logging.info("not shown")
        tf.logging.warn("step %d", 3)
    finally:
        tf.logging.set_verbosity(before)
    assert [one.getMessage() for one in caplog.records] == ["step 3"]
