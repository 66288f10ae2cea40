"""Compiled libraries of the cache: what was checked is what is loaded, whoever renames meanwhile.

Another user, who may write in the folder above the cache, has a library of the same name elsewhere,
and swaps the two folders without end. Opened by its path after it was looked at, the other one was
loaded within some tens of tries.
"""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import pytest
from strangers import STRANGER, needs_strangers, open_folder, stranger

from hybridnet.native import onednn

pytestmark = needs_strangers

GOOD = "int whose(void) { return 1; }"
EVIL = """
    #include <stdio.h>
    __attribute__((constructor)) static void run(void) { puts("evil"); fflush(stdout); }
    int whose(void) { return 2; }
"""
SWAPS = """
    here, evil = (os.path.join(sys.argv[1], one).encode() for one in ("cache", "evil"))
    print("begun", flush=True)
    while True:
        libc.renameat2(-100, here, -100, evil, 2)  # RENAME_EXCHANGE, at the present folder
"""
#: Loads the library of the cache again and again; says whose it was. Without the check of the
#: folders above, only that what is loaded was looked at keeps the other one out.
LOADS = """
    import _ctypes, ctypes, json, os, shutil, sys
    from pathlib import Path
    from hybridnet.base import files
    from hybridnet.native import onednn
    good, checks_above, tries = sys.argv[1], sys.argv[2] == "True", int(sys.argv[3])
    if not checks_above:
        files._check_way = lambda path: None
    def compiled(package, file):
        shutil.copy(good, file)
        os.chmod(file, 0o700)
        return file
    onednn._compiled = compiled
    onednn._file_name = lambda package: "onednn-1.so"
    found = set()
    for _ in range(tries):
        try:
            library = onednn._open(None)
        except OSError:
            continue  # the folder was away just now
        found.add(library.whose())
        _ctypes.dlclose(library._handle)
    print(json.dumps(sorted(found)))
"""


@pytest.fixture
def compiled(tmp_path):
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")

    def compile(name, text):
        source = tmp_path / f"{name}.c"
        source.write_text(textwrap.dedent(text))
        made = tmp_path / f"{name}.so"
        subprocess.run([compiler, "-shared", "-fPIC", str(source), "-o", str(made)], check=True)
        return made

    return compile


def loads(good, folder, checks_above, tries=500):
    """Whose libraries were loaded, and what they printed."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LOADS), str(good), str(checks_above), str(tries)],
        env={**os.environ, "HYBRIDNET_CACHE_DIR": str(folder)},
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("checks_above", [False, True])
def test_a_rename_between_check_and_use_loads_nothing_else(compiled, checks_above):
    good, evil = compiled("good", GOOD), compiled("evil", EVIL)
    with open_folder(0o777) as above:
        cache = above / "cache"
        os.mkdir(cache, 0o700)
        # Made while nobody disturbs, so that there is a library to be found.
        assert "[1]" in loads(good, cache, False, 1)
        planted = above / "evil" / "native"
        planted.mkdir(parents=True)
        shutil.copy(evil, planted / "onednn-1.so")
        for one in (planted.parent, planted, planted / "onednn-1.so"):
            os.chown(one, STRANGER, STRANGER)
            one.chmod(0o755)
        with stranger(SWAPS, above):
            printed = loads(good, cache, checks_above)
        assert "evil" not in printed
        assert set(json.loads(printed.splitlines()[-1])) <= {1}


def test_the_folder_of_another_is_not_used(compiled, monkeypatch):
    with open_folder(0o777) as above:
        monkeypatch.setenv("HYBRIDNET_CACHE_DIR", str(above / "cache"))
        assert onednn._folder() is None
        above.chmod(0o1777)
        assert onednn._folder() == above / "cache" / "native"
