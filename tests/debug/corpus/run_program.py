"""Runs programs of the corpus, whose requests come by standard input, and says what became of each.

    echo '{"file": "x.py", "library": "hybridnet", "scopes": ["nans"]}' | python run_program.py

A line of JSON in, a line of JSON out: see `run`. What the programs print is dropped.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

#: What a library does before the memory is limited: threads and programs of its own take some.
_WARM = {
    "hybridnet": """
import jax, hybridnet as hn
jax.jit(lambda v: v + 1)(jax.numpy.ones((3, 3))).block_until_ready()
hn.nd.dot(hn.nd.ones((3, 3)), hn.nd.ones((3, 3))).asnumpy()
""",
    "torch": "import torch\ntorch.mm(torch.ones(3, 3), torch.ones(3, 3)).tolist()",
    "jax": "import jax\njax.jit(lambda v: v @ v)(jax.numpy.ones((3, 3))).block_until_ready()",
}


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Runs one program, as a main module.

    Args:
        request: its `file` and `library`; the `scopes` of `hybridnet.debug` that it runs in; the
            `limit` of its address space in MiB beside what is there, 0 for none; for JAX and
            PyTorch, whether `nans` are looked for by their own means.

    Returns:
        `raised`: the names of the error's classes, empty where there was none. `text`: its
        message, with warnings before it. `frames`: lines of the file in its traceback, innermost
        first. `results`: the program's `results` as nested lists.
    """
    file = request["file"]
    if request.get("servers"):
        return _launched(request)
    if request.get("limit"):
        exec(_WARM[request["library"]], {})
        _limit(request["limit"])
    space = {"__name__": "__main__", "__file__": file}
    raised: BaseException | None = None
    results: Any = None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            with _watched(request):
                with open(file, encoding="utf-8") as source:
                    code = compile(source.read(), file, "exec")
                exec(code, space)
                if request["library"] == "hybridnet":
                    sys.modules["hybridnet"].nd.waitall()
            results = [_plain(one) for one in space["results"]]
        except Exception as error:
            raised = error
    told = "\n".join(str(one.message) for one in warned)
    if raised is None:
        return {"raised": [], "text": told, "frames": [], "results": results}
    walked = traceback.walk_tb(raised.__traceback__)
    frames = [line for frame, line in walked if frame.f_code.co_filename == file]
    notes = getattr(raised, "__notes__", [])
    return {
        "raised": [kind.__name__ for kind in type(raised).__mro__],
        "text": "\n".join([told, str(raised), *notes]),
        "frames": frames[::-1],
        "results": None,
    }


def _launched(request: dict[str, Any]) -> dict[str, Any]:
    """Runs a program as the worker of a server that imports it, too."""
    file = Path(request["file"])
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer"
        again = json.dumps({**request, "servers": False, "answer": str(answer)})
        launch = [sys.executable, "-m", "hybridnet", "launch", "-n", "1", "-s", "1"]
        worker = [sys.executable, __file__, again]
        subprocess.run(
            [*launch, "--import", file.stem, *worker],
            cwd=file.parent,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        return json.loads(answer.read_text())


@contextlib.contextmanager
def _watched(request: dict[str, Any]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        if request["library"] == "hybridnet":
            import hybridnet as hn

            for name in request["scopes"]:
                stack.enter_context(getattr(hn.debug, name)())
        elif request["library"] == "torch" and request["scopes"]:
            stack.enter_context(importlib.import_module("torch").autograd.set_detect_anomaly(True))
        elif request["library"] == "jax":
            stack.enter_context(importlib.import_module("jax").debug_nans(bool(request["scopes"])))
        yield


def _limit(megabytes: int) -> None:
    import resource

    with open("/proc/self/status", encoding="utf-8") as status:
        used = int(re.search(r"VmSize:\s+(\d+)", status.read())[1]) * 1024
    resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20),) * 2)


def _plain(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value.tolist() if hasattr(value, "tolist") else value


def main() -> None:
    """Answers requests until there are no more, or the one that is given."""
    if sys.argv[1:]:
        request = json.loads(sys.argv[1])
        Path(request["answer"]).write_text(json.dumps(run(request)), encoding="utf-8")
        return
    answers = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    for line in sys.stdin:
        try:
            answer = json.dumps(run(json.loads(line)))
        except MemoryError:
            answer = json.dumps({"raised": ["MemoryError"], "text": "", "frames": []})
        answers.write(answer + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
