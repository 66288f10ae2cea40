"""hybridnet from a zip file on Python's path, as a wheel or a zipapp is one."""

import os
import subprocess
import sys
import zipfile

import pytest
from places import ROOT

SCRIPT = """
import sys
import hybridnet as hn
from hybridnet import engine, kvstore
from hybridnet.cli.doctor.differences import Differences
from hybridnet.compat_report import read_checklist
from hybridnet.compat_report.conformance import read_record
from hybridnet.io import load_mnist
from hybridnet.native import onednn
from hybridnet.runtime.programs.program_key import source_digest

for module in (hn, engine, kvstore):
    assert module.__file__.startswith(sys.argv[1]), module.__file__
assert [part.shape for part in load_mnist()][0] == (4000, 28, 28)
assert len(read_checklist()) > 1000 and read_record().tests > 900
assert Differences(str)._operators
assert "onednn.cc" in onednn._sources()
net = hn.gluon.nn.Dense(2)
net.initialize()
net.hybridize()
data = hn.gluon.data.ArrayDataset(hn.nd.ones((8, 3)).asnumpy())
for batch in hn.gluon.data.DataLoader(data, 4, num_workers=1):  # a process finds it there, too
    assert net(batch).shape == (4, 2)
print(source_digest().hex())
"""


@pytest.mark.slow
def test_an_archive_has_all_that_it_needs(tmp_path):
    digests = []
    for name, last in (("a.zip", ""), ("b.zip", "# another version\n")):
        archive = tmp_path / name
        with zipfile.ZipFile(archive, "w") as made:
            for folder, place in (
                ("hybridnet", ""),
                ("engine", "hybridnet/"),
                ("kvstore", "hybridnet/"),
            ):
                for path in (ROOT / folder).rglob("*"):
                    if path.is_file() and "__pycache__" not in path.parts:
                        made.write(path, place + path.relative_to(ROOT).as_posix())
            made.writestr("last.py", last)
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(archive)],
            env={**os.environ, "PYTHONPATH": str(archive)},
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        digests.append(done.stdout.strip())
    # Programs that are kept on disk are those of one version.
    assert len(set(digests)) == 2
