"""Shows that MXNet 1.9.1's gluon reads what hybridnet's saves, in two steps of one folder::

    python tests/oracle/check_gluon.py write FOLDER    # with hybridnet
    python tests/oracle/check_gluon.py read FOLDER     # with mxnet==1.9.1 numpy==1.23.5

The first builds the network of `gluon_cases.make_saved` and saves it in every way there is, with
what it puts out. The second loads each file into MXNet's network and compares the outputs.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import gluon_cases as cases
import numpy as np


def write(folder: Path) -> None:
    """Saves with hybridnet."""
    hn = importlib.import_module("hybridnet")
    net = cases.make_saved(hn)
    net.initialize()
    inputs = cases.saved_inputs(hn)
    net(*inputs)
    for seed, one in enumerate(net.collect_params().values()):
        if not one.name.endswith("offset"):
            one.set_data(cases.numbers(300 + seed, one.shape, 0.3, 1.0))
    net.hybridize()
    hn.nd.save(folder / "outputs", list(net(*inputs)))
    net.save_parameters(folder / "whole")
    net.save_parameters(folder / "deduplicated", deduplicate=True)
    net.collect_params().save(folder / "dict", strip_prefix="saved_")
    net.export(str(folder / "net"), 7)


def compare(mx: Any, net: Any, folder: Path) -> None:
    """Runs a network with MXNet and compares what it gives."""
    outputs = mx.nd.load(str(folder / "outputs"))
    for found, wanted in zip(net(*cases.saved_inputs(mx)), outputs):  # noqa: B905
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)


def main() -> None:
    step, folder = sys.argv[1], Path(sys.argv[2])
    if step == "write":
        folder.mkdir(exist_ok=True)
        write(folder)
        return
    mx = importlib.import_module("mxnet")
    for name in ("whole", "deduplicated"):
        net = cases.make_saved(mx)
        net.load_parameters(str(folder / name))
        compare(mx, net, folder)
    net = cases.make_saved(mx)
    net.collect_params().load(str(folder / "dict"), restore_prefix="saved_")
    compare(mx, net, folder)
    net = mx.gluon.SymbolBlock.imports(
        str(folder / "net-symbol.json"), ["data0", "data1"], str(folder / "net-0007.params")
    )
    compare(mx, net, folder)
    print(f"MXNet {mx.__version__} loads all four and gives the same outputs")


if __name__ == "__main__":
    main()
