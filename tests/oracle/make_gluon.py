"""Records what MXNet 1.9.1's gluon gives for the cases of `gluon_cases.py`.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_gluon.py

It writes, beside it: ``gluon.json`` (names, texts, signatures), ``gluon.npz`` (outputs and
gradients), and in ``files/`` what gluon saves: ``saved.params``, ``saved-deduplicated.params``,
``saved-dict.params``, ``saved-symbol.json`` with ``saved-0003.params``, and ``saved-io.params``,
the outputs of that network.
"""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path
from typing import Any

import gluon_cases as cases
import mxnet as mx
import numpy as np

HERE = Path(__file__).resolve().parent
FILES = HERE / "files"


def reprs() -> dict[str, list[str]]:
    """Returns the texts of layers before and, where shapes are found, after the first input."""
    found = {}
    for text, shape in cases.LAYERS.items():
        layer = cases.make_layer(mx, text)
        before = repr(layer)
        layer.initialize()
        layer(mx.nd.ones(shape))
        found[text] = [before, repr(layer)]
    for text in cases.MORE_REPRS:
        found[text] = [repr(cases.make_layer(mx, text))]
    with mx.name.NameManager():
        net = mx.gluon.nn.HybridSequential()
        inner = mx.gluon.nn.HybridSequential()
        inner.add(mx.gluon.nn.Dense(2, "relu"), mx.gluon.nn.Dense(1))
        net.add(inner, mx.gluon.nn.Flatten())
    found["nested"] = [repr(net)]
    found["param"] = [repr(inner[0].weight), repr(inner[0].bias)]
    found["dict"] = [repr(inner[0].collect_params()), repr(mx.gluon.ParameterDict())]
    found["loss"] = [repr(mx.gluon.loss.L2Loss()), repr(mx.gluon.loss.SoftmaxCELoss(weight=2))]
    return found


def signatures() -> dict[str, list[list[Any]]]:
    """Returns the arguments of every layer and loss here, with defaults that JSON can hold."""
    found = {}
    for module in (mx.gluon.nn, mx.gluon.loss, mx.gluon):
        for name in module.__all__ if hasattr(module, "__all__") else dir(module):
            member = getattr(module, name)
            is_ours = getattr(member, "__module__", "").startswith("mxnet.gluon")
            if not is_ours or not inspect.isclass(member) or issubclass(member, Exception):
                continue
            params = []
            for one in inspect.signature(member).parameters.values():
                plain = isinstance(one.default, (int, float, str, tuple, type(None)))
                params.append([one.name, one.kind.name, repr(one.default) if plain else None])
            found[f"{module.__name__.split('.', 1)[1]}.{name}"] = params
    return found


def numbers() -> dict[str, np.ndarray]:
    """Returns all outputs and gradients by case and name."""
    found = {}
    for text in cases.LAYERS:
        for name, array in cases.run_layer(mx, text).items():
            found[f"layer {text} {name}"] = array
    for index in range(len(cases.LOSSES)):
        for name, array in cases.run_loss(mx, index).items():
            found[f"loss {index} {name}"] = array
    for index in range(len(cases.TRAINERS)):
        for place, array in enumerate(cases.run_trainer(mx, index)):
            found[f"trainer {index} {place}"] = array
    return found


def save_files() -> None:
    """Saves one network in every way there is."""
    net = cases.make_saved(mx)
    net.initialize()
    inputs = cases.saved_inputs(mx)
    net(*inputs)
    learned = [one for one in net.collect_params().values() if "offset" not in one.name]
    for seed, one in enumerate(learned):
        low = 0.3 if one.name.endswith("var") else -1.0
        one.set_data(mx.nd.array(cases.numbers(200 + seed, one.shape, low, 1.0)))
    net.hybridize()
    outputs = net(*inputs)
    mx.nd.save(str(FILES / "saved-io.params"), list(outputs))
    net.save_parameters(str(FILES / "saved.params"))
    net.save_parameters(str(FILES / "saved-deduplicated.params"), deduplicate=True)
    net.collect_params().save(str(FILES / "saved-dict.params"), strip_prefix="saved_")
    net.export(str(FILES / "saved"), epoch=3)
    # The default text of a constant's initializer ends in an address.
    symbol = FILES / "saved-symbol.json"
    symbol.write_text(re.sub(r"(Constant_saved_offset)_\d+", r"\1", symbol.read_text()))


def main() -> None:
    answer = {
        "mxnet": mx.__version__,
        "names": {kind: cases.names(mx, kind) for kind in cases.NAMES},
        "reprs": reprs(),
        "signatures": signatures(),
    }
    (HERE / "gluon.json").write_text(json.dumps(answer, indent=0) + "\n")
    np.savez_compressed(HERE / "gluon.npz", **numbers())
    save_files()


if __name__ == "__main__":
    main()
