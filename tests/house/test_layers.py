"""The floors of the house: who may import whom, what is private, and where imports stand.

The tables are here; the rules are in tests/support/house_rules.py, and test_house_rules.py shows
that each bites. Breaches that there are, and that wait for somebody to mend them, are in `KNOWN`,
which must name all of them and nothing else.
"""

import house_rules as rules
import pytest
from house_source import House
from places import ROOT

#: Floor -> the floors just below it. A floor may import from itself, from what its row names, and
#: from what those may import; never from above.
BELOW = {
    "engine": (),
    "kvstore": ("engine",),
    "_checkout": (),
    "base": ("engine", "_checkout"),
    "native": ("base",),
    "ops": ("native",),
    "graph": ("ops", "engine"),
    "passes": ("graph",),
    "runtime": ("passes", "engine", "attribute"),
    "tape": ("runtime",),
    "ndarray": ("tape",),
    "context": ("runtime",),
    "random": ("ndarray",),
    "autograd": ("ndarray", "symbol"),
    "operator": ("symbol",),
    "tuning": ("symbol",),
    "util": ("context",),
    "numpy": ("ndarray", "util"),
    "numpy_extension": ("numpy", "random"),
    "recordio": ("base",),
    "events": ("base",),
    "numpy_op_signature": ("numpy_extension",),
    "registry": ("base",),
    "lr_scheduler": ("registry",),
    "initializer": ("random", "registry"),
    "optimizer": ("lr_scheduler", "ndarray"),
    "distributed": ("tracing", "kvstore"),
    "kv": ("kvstore", "optimizer", "random", "distributed"),
    "metric": ("ndarray", "registry"),
    "name": ("base",),
    "attribute": ("base",),
    # The symbolic front end reaches arrays through its executor, and nowhere else.
    "executor": ("ndarray",),
    "symbol": ("executor", "name", "attribute", "numpy"),
    "tracing": ("ndarray", "autograd"),
    "exported": ("tracing", "symbol"),
    "io": ("ndarray", "recordio", "util"),
    "image": ("io", "numpy"),
    "gluon": (
        *("tracing", "symbol", "autograd", "initializer", "kv", "image"),
        *("context", "metric", "vocabulary"),
    ),
    "rnn": ("initializer", "io", "model"),
    "parallel": ("gluon",),
    "checkpoint": ("gluon", "session"),
    "vocabulary": ("base",),
    "log": ("base",),
    "error": ("base",),
    "saved_model": ("symbol", "ndarray"),
    "callback": ("saved_model",),
    "monitor": ("ndarray",),
    "module": ("callback", "executor", "io", "metric", "initializer", "kv"),
    "model": ("module",),
    "executor_manager": ("module",),
    "onnx": ("gluon",),
    "contrib": ("model", "gluon", "onnx", "events"),
    "profiler": ("runtime", "kvstore"),
    "debug": ("exported",),
    "visualization": ("gluon",),
    "session": ("symbol", "executor"),
    "clusters": ("session", "kvstore"),
    "compat": ("session", "checkpoint", "clusters", "profiler", "events"),
    "lenet": ("gluon",),
    "labs": ("lenet", "profiler", "visualization", "session"),
    "cli": (
        *("lenet", "labs", "model", "io", "metric", "compat", "compat_report", "contrib"),
        "debug",
    ),
    "compat_report": ("ops",),
    "stubs": ("symbol", "numpy_extension"),
    "test_utils": ("gluon", "io", "optimizer"),
}
#: Package with folders -> its parts -> the parts just below them. A part is a folder or a file, as
#: "tuning", "nn/conv" or "decorator"; "." stands for all files that lie in the package itself and
#: have no row of their own.
INSIDE = {
    "cli": {"doctor": (), ".": ("doctor",)},
    "clusters": {"errors": (), "shared": ("errors",), ".": ("shared",)},
    "compat": {"mxnet": (), "tf1": ()},
    "compat/mxnet": {"path": (".",), ".": ()},
    "compat/tf1": {
        # TensorFlow's own small modules, which everything speaks in.
        "dtypes": (),
        "errors": (),
        "nest": (),
        "gfile": ("errors",),
        "examples": ("dtypes",),
        "graph": ("dtypes", "errors"),
        "session": ("graph",),
        "operations": ("nest", "graph"),
        "operations/nn": ("operations",),
        "operations/sparse": ("operations", "session"),
        "variables": ("operations", "session"),
        "queues": ("operations",),
        "summaries": ("session", "images"),
        "tables": ("operations/sparse", "gfile"),
        "losses": ("operations/nn",),
        "distributions": ("operations/nn",),
        "contrib": ("recurrent", "training", "losses", "distributions", "files"),
        "dataset": ("operations", "session"),
        "files": ("queues", "dataset", "operations/sparse", "gfile"),
        "training": ("variables", "queues", "tables", "summaries"),
        "images": ("operations",),
        "layer": ("variables", "operations/nn"),
        "recurrent": ("layer",),
        "testing": ("nest", "session"),
        ".": ("files", "images", "training", "contrib", "testing"),
        "__init__": (".",),
        "python": ("__init__",),
    },
    "compat/tf1/contrib": {"tensorboard": (), ".": ("tensorboard",)},
    "compat/tf1/contrib/tensorboard": {"plugins": ()},
    "compat/tf1/examples": {"tutorials": ()},
    "compat/tf1/examples/tutorials": {"mnist": ()},
    "contrib": {
        "block_symbols": (),
        "board_values": (),
        "amp": ("block_symbols",),
        "caffe": (),
        "quantization": ("block_symbols",),
        "svrg_optimization": (),
        "text": (),
        ".": ("amp", "board_values", "caffe", "quantization", "svrg_optimization", "text"),
    },
    "gluon": {
        "model_zoo": ("contrib",),
        "contrib": ("rnn", "data", "loss"),
        "data": ("nn",),
        "rnn": ("nn",),
        "loss": (".",),
        "nn": (".",),
        ".": (),
    },
    "gluon/contrib": {"cnn": (), "data": (), "estimator": (), "nn": (), "rnn": (), ".": ()},
    "gluon/model_zoo": {
        "folders": (),
        "vision": ("folders", "."),
        "text": ("vision",),
        ".": (),
    },
    "gluon/data": {
        "sampler": (),
        "samples": (),
        "dataset": ("sampler", "samples"),
        "fetching": ("dataset",),
        "threads": ("fetching",),
        "workers": ("fetching",),
        "vision": (".",),
        ".": ("threads", "workers"),
    },
    "gluon/data/vision": {"transforms": (), ".": ("transforms",)},
    "labs": {"course": (".",), ".": ()},
    "labs/course": dict.fromkeys(
        (
            "engine",
            "gradient",
            "memory",
            "fusion",
            "placement",
            "partition",
            "executor",
            "loops",
            "branches",
            "ring",
            "server",
            "convolution",
        ),
        (),
    ),
    "kvstore": {
        # What all of it speaks of, and the settings and the secret that come with the process.
        "errors": (),
        "messages": (),
        "system": ("errors",),
        "own_folder": ("errors",),
        "mapped_file": ("errors", "own_folder", "system"),
        "run_token": ("errors",),
        "user_token": ("run_token", "own_folder"),
        "protocol": (),
        "cluster": ("errors", "protocol", "run_token", "system"),
        "transport": ("protocol", "cluster", "mapped_file", "user_token", "system"),
        "storage": ("messages", "transport"),
        "traffic": ("messages",),
        "drivers": ("storage", "traffic"),
        "supervise": ("drivers",),
        ".": ("drivers",),
    },
    "kvstore/protocol": {"words": (), ".": ("words",)},
    "debug": {"memory": (), ".": ("memory",)},
    "ndarray": {"sparse": (".",), ".": ()},
    "onnx": {
        "draft": (),
        "protos": ("draft",),
        "exporting": ("protos",),
        "importing": ("protos",),
        ".": ("exporting", "importing"),
    },
    "ops": {
        "host": (),
        "core": ("host",),
        "state": ("core",),
        "random": ("core",),
        "math": ("core",),
        "linalg": ("core",),
        "shape": ("core",),
        "sparse": ("core",),
        "optimizer": ("core",),
        "numpy": ("math", "random"),
        "nn/conv": ("core",),
        "nn/rnn": ("random", "nn/conv"),
        "nn/attention": ("random",),
        "nn": ("math", "nn/attention", "nn/rnn"),
        "vision": ("random", "nn/conv"),
        ".": ("state", "linalg", "shape", "sparse", "optimizer", "numpy", "nn", "vision"),
    },
    "runtime": {
        "tiers": (),
        "platform": ("tiers",),
        "segments": (),
        "observe": ("segments",),
        "programs": ("observe", "platform", "tiers"),
        "devices": ("programs",),
        "checks": ("programs",),
        "live": ("programs",),
        "record": ("devices", "checks", "live"),
        "graphs": ("record",),
        "tuning": ("programs",),
        "specialize": ("graphs", "tuning"),
        "executor": ("graphs",),
        "explain": ("record",),
        ".": ("executor", "explain", "specialize"),
    },
    "tracing": {
        "cached_op": ("traced",),
        "decorator": ("traced",),
        "traced": ("relaxed",),
        "relaxed": ("bucketed",),
        "bucketed": ("autograph",),
        "autograph": (".",),
        ".": (),
    },
}
#: Floor -> its face: the modules that other floors may import from, "." for its `__init__`, which
#: lists the names. What a floor that is not here shows is up to its `__init__` and `__all__`.
FACES = {
    "checkpoint": (".",),
    "clusters": (".",),
    "events": (".",),
    "graph": (".",),
    "ndarray": (
        *(".", "internal", "copies", "random", "sparse", "adopt", "share"),
        *("control_flow", "indexing", "placed"),
    ),
    "ops": (
        *("core", "core.registry", "core.stub", "host", "nn", "random", "shape", "sparse"),
        *("state", "alternatives"),
    ),
    "passes": (".",),
    "profiler": (".",),
    "runtime": (
        *(".", "recording", "traces", "calls", "tasks", "contexts", "placing", "between_tasks"),
        *("tuner", "watching", "asking"),
    ),
    "session": (".", "step"),
    "symbol": (".", "optimization"),
    "tape": (".",),
    "tracing": (".",),
}
#: Package that stands on the house as a stranger's would -> all that it imports of it.
BORROWED = {
    "compat/tf1": (
        *("base", "checkpoint", "clusters", "engine", "events", "graph", "ndarray", "ops/core"),
        *("passes", "profiler", "session", "symbol"),
    ),
}
#: Attributes with an underscore that others named, and that are meant to be used.
FOREIGN = {
    "_fields": "of named tuples",
    "_make": "of named tuples",
    "_exit": "of `os`",
    "_is_owned": "of `threading.RLock`; says whether this thread holds it",
    "_actions": "of `argparse`: the switches of a parser",
    "_attributes": "of nodes of `ast`",
    # MXNet's own, which classes of users override or read.
    "_active": "of hybrid blocks",
    "_all_index_update_counts": "of optimizers",
    "_alpha": "of `LeakyReLU`",
    "_cached_graph": "of hybrid blocks",
    "_children": "of blocks",
    "_exec_group": "of modules",
    "_forward_hooks": "of blocks",
    "_forward_pre_hooks": "of blocks",
    "_params": "of trainers",
    "_set_attr": "of symbols",
    "_set_current_context": "of optimizers",
    # TensorFlow's own.
    "_dims": "of shapes",
    "_ref": "of readers",
    "_save_slice_info": "of variables",
    "_shape": "of tensors",
    "_variable": "of variables",
}
#: Floors that look at the whole package from outside.
LISTS = ("cli", "compat_report", "stubs")
#: Floors that may import nothing but the standard library and their own.
STDLIB_ONLY = ("engine",)
#: Module outside the house -> the floors that may import it, at once or by `hybridnet.base.lazy`,
#: and what for.
OUTSIDE = {
    "jax": {
        "base": "holds the names that load it when they are used",
        "native": "registers compiled functions with XLA and calls them",
        "ops": "lowerings are functions of JAX's",
        "graph": "lowerings of loops and branches",
        "passes": "constants are computed as the operators would be; loops get lowerings",
        "runtime": "compiles and runs programs, and owns devices",
        "ndarray": "shares memory with JAX, copies between devices, lowers assignment",
        "exported": "reads and writes the files of `jax.export`",
        "cli": "prints its version",
        "labs": "compiles the kernels of a device of their own, and times convolutions",
        "distributed": "connects processes, and runs programs that span them",
    },
    "numpy": set(BELOW) - set(STDLIB_ONLY),
    "ml_dtypes": {
        "base": "bfloat16, which NumPy lacks; JAX brings it",
        "kvstore": "keys of bfloat16",
    },
    "jaxlib": {
        "base": "loads it at its first use, and holds the names that are not public",
        "runtime": "hands NumPy arrays to XLA in a tenth of the time of JAX's public function",
    },
    "cloudpickle": {"gluon": "sends datasets that are defined in scripts to worker processes"},
    "malt": {"tracing": "converts control flow"},
    "cv2": {
        "base": "loads it at its first use",
        "recordio": "encodes and decodes images",
        "io": "decodes, resizes and frames images",
        "image": "draws boxes",
        "compat": "decodes and encodes images in a graph",
    },
    "onnx": {
        "base": "loads it at its first use",
        "onnx": "reads, writes and checks its files, and computes what is constant in them",
    },
    "fsspec": {"base": "loads it at its first use, and opens files that are not on this machine"},
    "google": {
        "base": "loads it at its first use",
        "contrib": "reads files of Caffe's",
        "compat": "reads and writes TensorFlow's Examples",
    },
    "farmhash": {
        "base": "loads it at its first use",
        "compat": "the hash that TensorFlow's tables spread unknown words by",
    },
    "matplotlib": {"cli": "draws what a training run did"},
    "ray": {"kvstore": "places and names processes on the machines of a cluster"},
    "rich": {"cli": "tables and progress"},
    "hypothesis": {"labs": "looks for the smallest examples"},
    "tqdm": {"callback": "a bar on terminals and in notebooks"},
    "threadpoolctl": {
        "base": "loads it at its first use",
        "runtime": "how many threads NumPy's OpenBLAS has",
    },
    "safetensors": {
        "checkpoint": "its files of tensors",
        "gluon": "the tensors of Hugging Face's folders",
    },
    "huggingface_hub": {"gluon": "fetches folders of networks"},
    "tokenizers": {"gluon": "text as numbers and back"},
    "jinja2": {"gluon": "how a conversation is written as one text"},
    "zmq": {"kvstore": "messages between processes and machines"},
    "scipy": {
        "base": "loads it at its first use",
        "ops": "special functions of host forms; JAX brings it",
        "ndarray": "gives and takes its sparse arrays",
        "test_utils": "the chi-square distribution; JAX brings it",
    },
}
#: ``file: what it imports inside a function`` -> why that waits for a call.
LATE = {
    "hybridnet/base/jax_private.py: jax._src.compiler": "private to JAX; may be missing",
    "hybridnet/base/jax_private.py: jax._src.core": "private to JAX; may be missing",
    "hybridnet/base/jax_private.py: jax._src.distributed": "private to JAX; may be missing",
    "hybridnet/base/jax_private.py: jax._src.interpreters.pxla": "private to JAX; may be missing",
    "hybridnet/base/jax_private.py: jax._src.lax.linalg.initialize_lapack": "private to JAX",
    "hybridnet/base/jax_private.py: jax._src.lib.xla_client": "private to JAX; may be missing",
    "hybridnet/base/jax_private.py: jax._src.stages": "private to JAX; may be missing",
    "hybridnet/base/jax_private.py: jax._src.xla_bridge": "private to JAX; may be missing",
    "hybridnet/base/jax_private.py: jaxlib._jax": "private to JAX; may be missing",
    "hybridnet/gluon/data/workers/sending.py: hybridnet.gluon.data.workers.pickler.Pickler": (
        "brings in cloudpickle, which only loaders with worker processes need"
    ),
    "hybridnet/ops/random/state.py: jax.extend.random": "brings in JAX; when a program is built",
    "hybridnet/checkpoint/tensor_file.py: safetensors": "an extra",
    "hybridnet/gluon/model_zoo/folders/tensors.py: safetensors": "an extra",
    "hybridnet/gluon/model_zoo/folders/tensors.py: safetensors.numpy": "of that extra",
    "hybridnet/gluon/model_zoo/folders/places.py: huggingface_hub": "only hf:// needs it",
    "hybridnet/gluon/model_zoo/text/tokenizer.py: tokenizers": "an extra",
    "hybridnet/gluon/model_zoo/text/tokenizer.py: jinja2": "an extra",
    "hybridnet/gluon/model_zoo/text/tokenizer.py: jinja2.sandbox": "of that extra",
    "hybridnet/cli/main.py: hybridnet.cli.info.print_info": "brings in JAX; help must not wait",
    "hybridnet/cli/main.py: hybridnet.cli.cache.run_cache": "brings in JAX; help must not wait",
    "hybridnet/cli/main.py: hybridnet.cli.train.train": "brings in JAX; help must not wait",
    "hybridnet/cli/doctor/command.py: hybridnet.cli.doctor.examine.examine": "brings in all of nd",
    "hybridnet/cli/chat.py: hybridnet.random": "brings in JAX; help must not wait",
    "hybridnet/cli/chat.py: hybridnet.gluon.model_zoo.text": "brings in JAX; help must not wait",
    "hybridnet/cli/replay.py: hybridnet.debug.steps.replay": "brings in JAX; help must not wait",
    "hybridnet/cli/convert.py: hybridnet.contrib.caffe.import_caffe": "brings in JAX",
    "hybridnet/cli/convert.py: hybridnet.onnx.import_model": "brings in JAX",
    "hybridnet/cli/convert.py: hybridnet.model.save_checkpoint": "brings in JAX",
    "hybridnet/cli/train.py: hybridnet.cli.report": "draws with an extra",
    "hybridnet/callback.py: tqdm.auto.tqdm": "an extra",
    "kvstore/storage/dtypes.py: ml_dtypes": "only servers with keys of bfloat16 need it",
    "kvstore/cluster.py: fcntl": "only POSIX has it; only one setting needs it",
    "kvstore/supervise/ray.py: ray": "an extra",
    "kvstore/supervise/ray.py: ray.util": "of that extra",
    "kvstore/supervise/ray.py: ray.util.scheduling_strategies.PlacementGroupSchedulingStrategy": (
        "of that extra"
    ),
    "kvstore/supervise/tenant.py: ray.util": "of that extra",
    "hybridnet/ndarray/sparse/csr.py: scipy.sparse": "may be missing; only one method needs it",
    "hybridnet/test_utils/distributions.py: scipy.special.chdtrc": "may be missing; one check",
    "kvstore/transport/zmq_library.py: zmq": "an extra",
    "kvstore/transport/zmq_library.py: zmq.utils.z85": "an extra",
    "hybridnet/tracing/autograph/conversion.py: hybridnet.tracing.autograph.transpile": (
        "brings in the library that converts"
    ),
}
#: Breaches of each rule that there are, by their keys. Mend one, and take it off; add none.
KNOWN: dict[str, set[str]] = {
    "floors": set(),
    "folders": set(),
    "outside": {
        # This asks for the rounding error of a dtype.
        "hybridnet/tracing/padding_check.py: hybridnet.base.lazy.jnp",
    },
    "private": set(),
    "faces": set(),
    "borrowed": set(),
    "attributes": {
        # These look at each argument of each call of a traced function; a call more for each array
        # would be felt.
        "hybridnet/tracing/admission.py: _edge",
        "hybridnet/tracing/admission.py: _storage",
        "hybridnet/tracing/admission.py: _type",
        "hybridnet/tracing/concrete.py: _edge",
        "hybridnet/tracing/concrete.py: _offset",
        "hybridnet/tracing/concrete.py: _storage",
        # It stands between a trainer and its last step, as MXNet's does.
        "hybridnet/contrib/amp/training.py: _update",
        # A block of a user's may have an attribute of any name without an underscore.
        "hybridnet/gluon/contrib/estimator/checkpoint_handler.py: _as_symbol",
    },
    # The imports that close circles: all for types.
    "circles": {
        # TensorFlow's tensors know their graph, and graphs their tensors.
        "hybridnet/compat/tf1/graph/graph_def.py: hybridnet.compat.tf1.graph.tensor.Operation",
        "hybridnet/compat/tf1/graph/tensor.py: hybridnet.compat.tf1.graph.graph.Graph",
    },
    "inside functions": set(),
    "class names": set(),
}


@pytest.fixture(scope="module")
def house():
    return House(ROOT)


def check(findings, rule):
    news = rules.news(findings, KNOWN[rule], f"KNOWN[{rule!r}]")
    assert not news, f"\n{news}"


# -- the tree --------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_whole_tree_is_read(house):
    """An empty tree, or lazy names that are not found, would break no rule."""
    assert {source.floor for source in house.sources.values()} >= set(BELOW)
    parts = {f"hybridnet/{name}/{one}" for name, rows in INSIDE.items() for one in rows}
    named = {one.replace("/", ".") for one in parts if not one.endswith(("/.", "/__init__"))}
    assert named <= set(house.sources)
    jax = {"jax", "jax_core", "jnp", "lax", "linalg", "mlir", "special", "xla_client"}
    assert set(house.lazy) == jax | {
        *(
            "cv2",
            "numpy",
            "hashlib",
            "metadata",
            "resources",
            "subprocess",
            "tempfile",
            "threadpoolctl",
        ),
        *("pickletools", "farmhash", "fsspec", "onnx", "protobuf"),
    }


def test_imports_go_down(house):
    check(rules.floors(house, BELOW, LISTS), "floors")


def test_imports_go_down_inside_packages(house):
    check(rules.folders(house, INSIDE), "folders")


def test_few_import_what_comes_from_outside(house):
    assert not any(floor in users for floor in STDLIB_ONLY for users in OUTSIDE.values())
    check(rules.outside(house, OUTSIDE), "outside")


def test_nobody_imports_the_engine_by_its_folder(house):
    assert rules.by_folder(house) == []


@pytest.mark.slow
def test_what_is_private_stays_in_its_folder(house):
    check(rules.private(house), "private")


def test_other_floors_use_what_a_floor_shows(house):
    check(rules.faces(house, FACES), "faces")


def test_a_layer_over_the_house_borrows_little_of_it(house):
    check(rules.borrowed(house, BORROWED), "borrowed")


def test_attributes_that_are_private_stay_in_their_folder(house):
    check(rules.attributes(house, FOREIGN), "attributes")


def test_no_files_need_each_other(house):
    findings = rules.circles(house, KNOWN["circles"])
    assert not findings, "\n".join(map(str, findings))


def test_imports_stand_at_the_top(house):
    check(rules.inside_functions(house, LATE), "inside functions")


def test_classes_have_names_of_their_own(house):
    check(rules.class_names(house, borrowing=["compat", "events"]), "class names")
