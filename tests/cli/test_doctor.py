"""`hybridnet doctor`: what it finds in small projects and passes over; that it runs nothing."""

from __future__ import annotations

import json
import os
import pickle
import re
import struct
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import run_script
from hypothesis import given
from hypothesis import strategies as st
from places import ROOT

import hybridnet as hn
from hybridnet.cli.doctor.examine import examine
from hybridnet.cli.doctor.findings import Finding, Group
from hybridnet.cli.doctor.requirements import LEAST
from hybridnet.cli.doctor.texts import HONOURED
from hybridnet.cli.main import main

STOPS, CHANGE, DIFFERS, NOTE = Group


def write(folder: Path, **files: str | bytes) -> Path:
    """Writes files; a name has two underscores for its dot, and four for a slash."""
    for name, content in files.items():
        path = folder / name.replace("____", "/").replace("__", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def found(path: Path, *groups: Group) -> list[str]:
    """Returns what is found, each as its text and its places."""
    return [
        f"{one} @ {', '.join(str(place) for place, _ in one.places)}"
        for one in examine(path)[0]
        if one.group in (groups or Group)
    ]


def in_code(tmp_path: Path, code: str, *groups: Group) -> list[str]:
    return found(write(tmp_path, a__py=code), *groups)


# -- what is found ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code, group, said",
    [
        ("import mxnet as mx\nmx.nd.nope(1)", STOPS, "mx.nd.nope: hybridnet has none"),
        ("from mxnet.gluon import nope", STOPS, "mx.gluon.nope: hybridnet has none"),
        ("import mxnet as mx\nmx.np.random.nope", STOPS, "mx.np.random.nope: hybridnet has none"),
        ("import mxnet", NOTE, "for good, write `import hybridnet as mx` @ a.py:1"),
        ("import mxnet as mx\nself.nd = mx.nd.nope", STOPS, "mx.nd.nope: hybridnet has none"),
        ("import mxnet.nope", STOPS, "mx.nope: hybridnet has none"),
        ("from mxnet.gluon.loss import HuberLos", STOPS, "did you mean HuberLoss?"),
        ("from mxnet import nd as F\nF.contrib.hawkesll(1)", STOPS, "not supported by hybridnet"),
        ("import mxnet as mx\nmx.library.load('x.so')", STOPS, "mx.operator.CustomOp"),
        ("import mxnet as mx\nmx.rtc.CudaModule('x')", STOPS, "mx.rtc: not supported"),
        ("from mxnet.base import _LIB, check_call", STOPS, "there is no C library"),
        ("import mxnet as mx\nmx.nd.NDArray.nope", STOPS, "class has no such attribute"),
        (
            "import hybridnet as hn\nhn.gluon.nope",
            STOPS,
            "hybridnet.gluon.nope: hybridnet has none",
        ),
        ("from mxnet import nd\nF = nd.contrib\nG = F\nG.nope", STOPS, "mx.nd.contrib.nope"),
        (
            "from mxnet import nd\nnd.concat(x, y, axis=0)",
            STOPS,
            "mx.nd.concat takes no axis by name (nor does MXNet 1.9.1)",
        ),
        ("import mxnet as mx\nx.as_in_context(mx.gpu(0))", NOTE, "mx.gpu: GPUs are those that JAX"),
        ("from mxnet.context import num_gpus\nnum_gpus()", NOTE, "mx.context.num_gpus: GPUs are"),
        ("import mxnet as mx\nmx.nd.topk(x)", DIFFERS, "equal elements come in the order"),
        ("from mxnet import sym\nsym.RNN(x)", DIFFERS, "refused: projection_size"),
        ("from mxnet.gluon.data import DataLoader", DIFFERS, "worker processes are on `cpu()`"),
        ("from mxnet.gluon.data import *\nDataLoader(x)", DIFFERS, "mx.gluon.data.DataLoader: "),
        ("import numpy as np\nnp.product(x)", CHANGE, "numpy.product: `hybridnet run` gives it"),
        ("from numpy import asscalar", CHANGE, "numpy.asscalar: `hybridnet run` gives it back"),
        ("from numpy.lib.arraysetops import unique", CHANGE, "numpy.lib.arraysetops.unique"),
        ("import numpy\nnumpy.lib.pad(x)", CHANGE, "numpy.lib.pad: `hybridnet run` gives it back"),
        ("import numpy\nnumpy.lib.nope(x)", STOPS, "numpy.lib.nope: "),
        ("from collections import Mapping", CHANGE, "collections.Mapping: `hybridnet run`"),
        ("import inspect\ninspect.getargspec(f)", CHANGE, "inspect.getargspec: `hybridnet run`"),
        ("import formatter", STOPS, "formatter has left Python"),
        ("import urllib2, ConfigParser", STOPS, "urllib2, ConfigParser: of Python 2"),
        ("for i in xrange(3): print(unicode(i))", STOPS, "builtins.xrange went with Python 2"),
        ("import no_such_package.x", CHANGE, "no_such_package: not installed here"),
        ("import gluoncv", NOTE, "gluoncv: written for MXNet"),
        ("import horovod.mxnet as hvd", STOPS, "Trainer(kvstore='horovod')"),
        ("from nvidia.dali.plugin.mxnet import x", STOPS, "calls MXNet's C library"),
        ("import os\nos.environ['MXNET_HOME'] = '.'", NOTE, "MXNET_HOME: read here, too"),
        ("import os\nos.environ['MXNET_GPU_X'] = ''", NOTE, "MXNET_GPU_X: nothing reads it here"),
        ("def f(:", STOPS, "not Python 3: "),
        ("x = 1\nfrom __future__ import division", STOPS, "not Python 3: from __future__ imports"),
        ("async = True", STOPS, "keywords now"),
    ],
)
def test_code_is_told_what_it_is(tmp_path: Path, code: str, group: Group, said: str) -> None:
    texts = in_code(tmp_path, code, group)
    assert any(said in text for text in texts), texts


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.4.0", reason="NumPy takes it")
def test_numbers_of_whole_arrays_are_told(tmp_path: Path) -> None:
    assert any("x.asscalar()" in one for one in in_code(tmp_path, "y = float(x.asnumpy())", CHANGE))


@pytest.mark.parametrize(
    "code",
    [
        "import mxnet as mx\nfrom mxnet import autograd, gluon\nmx.nd.zeros((2,)).nope",
        "import mxnet as mx\nmx.nd.op.relu, mx.gluon.nn.basic_layers.Dense, mx.mod.Module",
        "from mxnet import nd\ndef f(nd): return nd.nope",
        "from mxnet import nd\nfor nd in x: nd.nope",
        "from mxnet import nd\nif x: nd = y\nnd.nope",
        "import mxnet as mx\nwith x as mx: mx.nope",
        "import mxnet as mx\n[mx.nope for mx in x]",
        "import mxnet as mx\nmatch x:\n    case {'a': mx}: pass\nmx.nope",
        "def f():\n    global np\n    np = g()\nimport numpy as np\nnp.nope",
        "import mxnet as mx\nmx.nd.mine = f\nmx.nd.mine(x)",
        "def f():\n    import time\n    def g():\n        nonlocal time; time = x\n    time.a",
        "class A:\n    import mxnet as mx\n    def f(self): return mx.nope",
        "import mxnet as mx\nmx.base.string_types.nope, mx.np.pi.nope, mx.cpu().nope",
        "from mxnet import sym\nsym.FullyConnected(x, num_hidden=1, lr_mult=2, __a__='b')",
        "from mxnet import nd, sym\nnd.concat(x, num_args=1); sym.relu(x, foo=1)",
        "from mxnet.gluon import nn\nnn.Dense(2, prefix='a_', nope=1)",
        "class B:\n    def hybrid_forward(self, F, x): return F.Variable, F.contrib.foreach",
        "class B:\n    def hybrid_forward(self, F, x):\n        F = g()\n        F.nope",
        "try:\n    from itertools import izip\nexcept ImportError:\n    izip = zip",
        "try:\n    from itertools import izip as z\nexcept ImportError:\n    z = zip\nz(1)",
        "try:\n    import string.a as a\nexcept ImportError:\n    import string as a\na.digits",
        "try:\n    xrange\nexcept NameError:\n    xrange = range",
        "import sys\nif sys.version_info[0] < 3:\n    import urllib2\n    xrange(2)",
        "import numpy as np\nnp.random.mtrand, np.testing.assert_equal, np.ndarray.nope",
        "from .nope import x\nfrom . import y\nimport b.c",
        "import time, string, os\ntime.perf_counter(); string.ascii_letters; os.startfile",
        "x = '''MXNET_ is the beginning of MXNET_HOME'''",
        "class A:\n    pass\n" + "x = " + "(" * 50 + "1" + ")" * 50,
    ],
)
def test_there_are_no_false_alarms(tmp_path: Path, code: str) -> None:
    write(tmp_path, b____c__py="", a__py=code)
    told = found(tmp_path, STOPS, CHANGE, NOTE)
    assert [text for text in told if "`import mxnet`" not in text] == []


def test_a_name_that_the_code_can_do_without_is_only_told(tmp_path: Path) -> None:
    code = "import mxnet as mx\ntry:\n    f = mx.nd.nope\nexcept AttributeError:\n    f = None"
    assert in_code(tmp_path, code, STOPS, CHANGE) == []
    assert "can do without it @ a.py:3" in in_code(tmp_path, code, NOTE)[1]


def test_a_front_end_must_have_a_name_in_both_forms_to_be_missed(tmp_path: Path) -> None:
    code = "class B:\n    def hybrid_forward(self, F, x):\n        def g(): return F.nope(x)\n"
    (text,) = in_code(tmp_path, code)
    assert "mx.nd.nope: hybridnet has none" in text and text.endswith("a.py:3")


def test_one_finding_has_all_its_places(tmp_path: Path) -> None:
    code = "import mxnet as mx\nmx.nd.nope\nmx.nd.nope()\n"
    write(tmp_path, b__py=code)
    (text,) = in_code(tmp_path, code, STOPS)
    assert text.endswith("@ a.py:2, a.py:3, b.py:2, b.py:3")


# -- other files -----------------------------------------------------------------------------


def test_requirements(tmp_path: Path) -> None:
    write(
        tmp_path,
        requirements__txt="mxnet-cu101==1.6.0\nnumpy>=1.14,<1.20\ntyping  # mxnet is not meant\n",
        environment__yml="dependencies:\n  - python=3.7\n  - numpy=1.16.*\n  - pip:\n    - mxnet\n",
        setup__py="setup(install_requires=['mxnet>=1.3', \"numpy\"], python_requires='>=3.6,<3.9',"
        " keywords=['mxnet'])\n",
        pyproject__toml='[tool.poetry.dependencies]\nnumpy = "^1.16"\npython = "~3.8"\n',
    )
    assert found(tmp_path) == [
        "python=3.7 is too old: hybridnet needs 3.11 or newer @ environment.yml:2",
        "numpy=1.16.* is too old: hybridnet needs 2.0 or newer @ environment.yml:3",
        "mxnet, mxnet-cu101==1.6.0, mxnet>=1.3: require hybridnet in its place "
        "@ environment.yml:5, requirements.txt:1, setup.py:1",
        "numpy^1.16 is too old: hybridnet needs 2.0 or newer @ pyproject.toml:2",
        "python~3.8 is too old: hybridnet needs 3.11 or newer @ pyproject.toml:3",
        "numpy>=1.14,<1.20 is too old: hybridnet needs 2.0 or newer @ requirements.txt:2",
        "python>=3.6,<3.9 is too old: hybridnet needs 3.11 or newer @ setup.py:1",
    ]
    write(tmp_path / "b", requirements__txt="numpy>=1.7\nnumpy~=2.0\nnumpy<3\nnumpy!=1.20\n")
    assert found(tmp_path / "b") == []


def test_scripts_and_operators_in_cpp(tmp_path: Path) -> None:
    write(
        tmp_path,
        run__sh="#!/bin/sh\nexport MXNET_HOME=/x\nMXNET_NOTHING=1 python a.py\necho $MXNET_ECHO\n",
        op____my__cc="// mine\n#include <vector>\n#include <mxnet/base.h>\n",
        op____lib__cu='#include "../lib_api.h"\nREGISTER_OP(x)\n',
        op____old__cc="MXNET_REGISTER_OP_PROPERTY(Mine, MineProp);\n",
        op____other__cc="#include <vector> // not mxnet/base.h\n",
        layers__pyx="cdef int x\n",
    )
    stops = found(tmp_path, STOPS)
    assert len(stops) == 1 and "@ op/lib.cu:1, op/my.cc:3, op/old.cc:1" in stops[0]
    assert found(tmp_path, NOTE) == [
        "MXNET_HOME: read here, too @ run.sh:2",
        "MXNET_NOTHING: nothing reads it here @ run.sh:3",
    ]
    assert "layers.pyx: is Cython" in found(tmp_path, CHANGE)[0]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder with a model's files, all of them whole."""
    out = hn.sym.FullyConnected(hn.sym.var("data"), num_hidden=2, name="fc")
    weights = {"fc_weight": hn.nd.ones((2, 3)), "fc_bias": hn.nd.zeros((2,))}
    hn.model.save_checkpoint(str(tmp_path / "net"), 1, out, weights, {})
    with hn.recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w") as file:
        for key in range(3):
            file.write_idx(key, b"record")
    (tmp_path / "empty.rec").touch()
    updater = hn.optimizer.get_updater(hn.optimizer.create("sgd", momentum=0.9))
    updater(0, hn.nd.ones((2,)), hn.nd.ones((2,)))
    (tmp_path / "ours.states").write_bytes(updater.get_states())
    (tmp_path / "theirs.states").write_bytes(pickle.dumps({0: None}))
    return tmp_path


def test_whole_models_are_nothing_to_tell(model: Path) -> None:
    (model / "net.onnx").write_bytes(b"\x08\x07")
    assert found(model) == [
        "ONNX models: `hybridnet convert onnx` and hybridnet.onnx read them @ net.onnx"
    ]


def test_damaged_files_are_told(model: Path) -> None:
    whole = (model / "net-0001.params").read_bytes()
    write(
        model,
        cut__params=whole[:-9],
        other__params=b"no parameters",
        lfs__params=b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
        cut__states=(model / "ours.states").read_bytes()[:-5],
        cut__rec=struct.pack("<II", 0xCED7230A, 100) + b"less",
        text__rec="no records",
        a__idx="0\t0\n1\t99999\n",
    )
    (model / "bad-symbol.json").write_text('{"nodes": [')
    (model / "empty-symbol.json").write_text("[]")
    stops = found(model, STOPS)
    told = sorted(text.rpartition(" @ ")[2] for text in stops)
    assert told == [
        *("a.idx", "bad-symbol.json", "cut.params", "cut.rec", "cut.states"),
        *("empty-symbol.json", "other.params", "text.rec"),
    ]
    assert any("at byte" in text and "cut.params" in text for text in stops)
    assert found(model, CHANGE) == ["lfs.params: is not here yet: `git lfs pull` @ lfs.params"]


def test_operators_of_symbols_are_looked_up(model: Path) -> None:
    whole = json.loads((model / "net-symbol.json").read_text())
    for name, kind in (("a", "_sg_mkldnn_conv"), ("b", "Custom")):
        whole["nodes"][-1].update(op=kind, attrs={"op_type": "mine"})
        (model / f"{name}-symbol.json").write_text(json.dumps(whole))
    assert found(model) == [
        "a symbol's operator _sg_mkldnn_conv: hybridnet has none of that name @ a-symbol.json",
        "a symbol has the operator 'mine' in Python: register it before it is loaded "
        "@ b-symbol.json",
    ]


# -- sources ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "print 'x'",
        "try:\n    pass\nexcept A, e:\n    pass",
        "raise A, 'x'",
        "x = 0777",
        "x = 10L",
        "if a <> b:\n    pass",
        "exec 'x'",
        "if a:\n\tb\n        c",
    ],
)
def test_python_2_is_told_and_the_rest_read_on(tmp_path: Path, code: str) -> None:
    write(tmp_path, a__py=code, b__py="import mxnet\nmxnet.nope")
    python_2, other = found(tmp_path, STOPS)
    assert python_2.startswith("Python 2 (") and "2to3" in python_2 and "a.py:" in python_2
    assert other.endswith("b.py:2")


def notebook(*cells: str) -> str:
    listed: list[dict[str, Any]] = [{"cell_type": "markdown", "source": ["import no.such"]}]
    listed += [{"cell_type": "code", "source": one.splitlines(keepends=True)} for one in cells]
    return json.dumps({"cells": listed, "nbformat": 4})


def test_notebooks_are_read_cell_by_cell(tmp_path: Path) -> None:
    cells = (
        "%matplotlib inline\n!pip install x\nimport mxnet as mx\nmx.nd?\n",
        "%%bash\nthis is no Python (\n",
        "%%time\nfiles = !ls\nif files:\n    %pwd\nmx.nd.nope1",
        "print('%d'\n      % 3)\n",
        "    mx.nd.nope2\n    mx.nd.zeros(2)\n",
        "print 'x'",
        "\r\nfrom __future__ import division\r\nmx.nd.nope3; await mx.nd.zeros\r\n",
    )
    write(tmp_path, a__ipynb=notebook(*cells), bad__ipynb="{", odd__ipynb='{"cells": [3]}')
    told = [re.sub(r"[:(].* @", " @", text) for text in found(tmp_path, STOPS)]
    assert told == [
        "Python 2  @ a.ipynb:cell 6:1",
        "mx.nd.nope1 @ a.ipynb:cell 3:5",
        "mx.nd.nope2 @ a.ipynb:cell 5:1",
        "mx.nd.nope3 @ a.ipynb:cell 7:3",
    ]
    assert found(tmp_path, NOTE)[1] == (
        "bad.ipynb, odd.ipynb: is no notebook that can be read, and was left out "
        "@ bad.ipynb, odd.ipynb"
    )


def test_files_may_be_anything(tmp_path: Path) -> None:
    write(
        tmp_path,
        latin__py="# coding: latin-1\nimport mxnet\nx = 'é'; mxnet.nope\n".encode("latin-1"),
        wrong__py=b"x = '\xff'",
        binary__py=bytes(range(256)),
        empty__py=b"",
        bom__py=b"\xef\xbb\xbfimport mxnet\nmxnet.nope",
        deep__py="x = " + "(" * 5000,
        chain__py="x = " + "+".join(["1"] * 50_000),
        huge__py=b"#" * (9 << 20),
        venv____a__py="import mxnet\nmxnet.nope",
        mine____pyvenv__cfg="",
        mine____lib____a__py="import mxnet\nmxnet.nope",
        _git____a__py="import mxnet\nmxnet.nope",
    )
    (tmp_path / "_git").rename(tmp_path / ".git")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "itself.py").symlink_to(tmp_path / "itself.py")
    os.mkfifo(tmp_path / "pipe.py")
    texts = found(tmp_path)
    assert any("@ bom.py:2, latin.py:3" in text for text in texts)
    assert any("no text" in text and "binary.py" in text for text in texts)
    assert any("longer than 8 MiB" in text and "huge.py" in text for text in texts)
    assert any("wrong.py" in text for text in texts)
    assert not any("venv" in text or "mine" in text or ".git" in text for text in texts)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_what_cannot_be_read_is_told(tmp_path: Path) -> None:
    write(tmp_path, a__py="", b__params="", requirements__txt="", c____a__py="")
    for path in tmp_path.iterdir():
        path.chmod(0)
    texts = found(tmp_path)
    (tmp_path / "c").chmod(0o700)  # so that it can be removed
    assert sorted(texts) == [
        "a.py, requirements.txt, b.params: cannot be read: Permission denied "
        "@ a.py, requirements.txt, b.params",
        "c: cannot be looked into @ c",
    ]


_KINDS = "py ipynb params states rec idx onnx sh cc yml toml txt json"
_SUFFIXES = _KINDS.split()


@pytest.mark.slow
@given(st.sampled_from(_SUFFIXES), st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_no_bytes_make_it_fail(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / f"requirements-symbol.{suffix}").write_bytes(data)
    (folder / "requirements-symbol.rec").touch()
    examine(folder)


_CODE = """import mxnet as mx
|from mxnet import nd, *
|def f(|F=|):
  |mx.|nd.|nope |(a=1)|class A:
  |try:
  |
except ImportError:
  |global mx
|lambda mx: |[mx for mx in |]| if x else """
_WORDS = st.sampled_from(_CODE.split("|"))


@given(st.lists(_WORDS, max_size=20).map("".join))
def test_no_code_makes_it_fail(tmp_path_factory: pytest.TempPathFactory, code: str) -> None:
    folder = tmp_path_factory.mktemp("any")
    examine(write(folder, a__py=code, a__ipynb=notebook(code, code)))


# -- the command -----------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *words: Any) -> tuple[int, str]:
    status = main(["doctor", *map(str, words)])
    return status, capsys.readouterr().out


def test_the_status_says_whether_it_will_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, tmp_path) == (
        0,
        f"{tmp_path}, 0 files: nothing was found that stops it, 0 to change, "
        "0 in which it differs\n",
    )
    write(tmp_path, a__py="import mxnet as mx\nmx.nd.topk(x)\nimport no_such_package")
    status, out = run(capsys, tmp_path)
    assert status == 0 and "to change (1)\n  no_such_package: not installed here\n" in out
    write(tmp_path, b__py="import mxnet as mx\n" + "mx.nd.nope\n" * 5)
    status, out = run(capsys, tmp_path)
    assert status == 1
    assert out.startswith("will not run (1)\n  mx.nd.nope: hybridnet has none (it is not in the ")
    assert "\n      b.py:2, b.py:3, b.py:4, and 2 more\n" in out
    assert out.endswith("2 files: 1 thing will not run, 1 to change, 1 in which it differs\n")
    assert run(capsys, tmp_path / "a.py")[0] == 0
    assert main(["doctor", str(tmp_path / "none")]) == 2
    assert "there is no such folder or file" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main(["doctor"])


def test_json_has_all_places(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, a__py="import mxnet as mx\n" + "mx.nd.topk\nmx.nd.sort\n" * 3)
    status, out = run(capsys, tmp_path, "--json")
    read = json.loads(out)
    assert status == 0 and read["runs"] is True and read["files"] == 1
    assert read["path"] == str(tmp_path) and "1 in which it differs" in read["verdict"]
    one, note = read["findings"]
    assert note["group"] == "for your information"
    assert one["group"] == "differs" and "std::sort" in one["text"]
    assert one["places"][1] == {"file": "a.py", "line": 3, "cell": 0, "name": "mx.nd.sort"}
    assert len(one["places"]) == 6


def test_the_examples_are_clean() -> None:
    assert found(ROOT / "examples") == []


def test_nothing_of_the_project_is_run(tmp_path: Path) -> None:
    """Not by names that packages have either, in the folder that Python looks in first."""
    names = "setup train conftest matplotlib gluoncv horovod sklearn urllib2 imp __init__ mxnet"
    code = "open('run', 'w')\nimport " + ", ".join(names.split()[:-2]) + ", mxnet.nd, numpy.lib.x\n"
    write(tmp_path, **{f"{name}__py": code for name in names.split() if name != "__init__"})
    (tmp_path / "__init__.py").write_text(code)

    class Evil:
        def __reduce__(self) -> Any:
            return open, (str(tmp_path / "run"), "w")

    for name in ("a.states", "a.params", "a.pkl"):
        (tmp_path / name).write_bytes(pickle.dumps(Evil()))
    done = subprocess.run(
        [sys.executable, "-m", "hybridnet", "doctor", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and done.stderr == "", done.stderr
    assert "a.states" in done.stdout and "a.params" in done.stdout
    assert not (tmp_path / "run").exists()


def test_imports_are_tried_where_that_is_asked_for(tmp_path: Path, capsys: Any) -> None:
    write(
        tmp_path,
        a__py="import mxnet as mx\nfrom mxnet import nd\nimport no_such_package, own\n",
        own__py="raise SystemExit('is not imported')",
    )
    status, out = run(capsys, tmp_path, "--try")
    assert status == 1
    assert "import no_such_package: tried: ModuleNotFoundError: No module named" in out
    assert "import mxnet" not in out.partition("to change")[0] and "own" not in out


def test_a_process_that_an_import_ends_is_told(tmp_path: Path, capsys: Any) -> None:
    ending = tmp_path / "packages" / "ending_package"
    write(ending, __init____py="")
    (ending / "__init__.py").write_text("import os; os._exit(3)")
    project = write(tmp_path / "project", a__py="import ending_package\nimport json as after\n")
    before = os.environ.get("PYTHONPATH", "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([str(ending.parent), before]))
        _, out = run(capsys, project, "--try")
    assert "import ending_package: tried: it ended the process" in out
    assert "import json: was not tried" in out


def test_it_loads_no_jax(tmp_path: Path) -> None:
    write(
        tmp_path, a__py="import mxnet as mx\nmx.nd.zeros, mx.gluon.nn.Dense, mx.np.sum, mx.sym.var"
    )
    script = f"""
        import sys
        from hybridnet.cli.main import main
        main(["doctor", {str(tmp_path)!r}])
        print(any(name in sys.modules for name in ("jax", "mxnet")))
    """
    assert run_script(script).splitlines()[-1] == "False"


# -- its tables ------------------------------------------------------------------------------


def test_the_settings_that_are_honoured_are_those_that_are_read() -> None:
    read = set()
    for folder in ("hybridnet", "engine", "kvstore"):
        for path in (ROOT / folder).rglob("*.py"):
            if path.parent.name != "doctor":
                read |= set(re.findall(r'"(MXNET_[A-Z_]*[A-Z])"', path.read_text()))
    assert read == HONOURED


def test_the_least_versions_are_those_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"].startswith(f">={'.'.join(map(str, LEAST['python']))},")
    assert f"numpy>={'.'.join(map(str, LEAST['numpy']))}" in project["dependencies"]


def test_findings_say_of_what_and_where() -> None:
    assert str(Finding(CHANGE, "is old")) == "is old"
