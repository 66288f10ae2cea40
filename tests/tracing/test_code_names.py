"""What a function reads, by its instructions, which every Python names in other ways."""

from __future__ import annotations

import sys
import warnings

import numpy as np

import hybridnet as hn
from hybridnet import nd
from hybridnet.tracing.code_names import Item, paths_of

config = {"rate": 2, "layers": [1, {3: 5}]}


def test_variables_with_what_is_read_from_them():
    outer = config

    def read(x, y, z):
        first = config["layers"][1][3]
        second = outer["rate"].real + x.shape[0] - y[-7].T[300]
        first, second = second, first
        for each in z.parts:
            first += each.size
        return first, second, [z.rate for z in (x, y)], lambda: z["rate"]

    found = set(paths_of(read.__code__))
    assert found >= {
        (True, "config", (Item("layers"), Item(1), Item(3))),
        (False, "outer", (Item("rate"), "real")),
        (False, "x", ("shape", Item(0))),
        (False, "y", (Item(-7), "T", Item(300))),
        (False, "z", ("parts",)),
        (False, "each", ("size",)),
        (False, "z", ("rate",)),
        (False, "z", (Item("rate"),)),
    }
    # And nothing that it does not read. (Until 3.11 a list is made by a function, of ".0".)
    assert {name for _, name, _ in found} - {".0"} == {
        *("config", "outer", "x", "y", "z", "first", "second", "each")
    }


def test_what_changes_is_seen():
    local = {1: [1, 2, 3]}

    @hn.function
    def scaled(x):
        return x * config["rate"] + config["layers"][0] * local[1][2]

    x = np.array([1.0, 2.0], np.float32)
    for rate, layer, number in ((2, 1, 3), (5, 1, 3), (5, 4, 3), (5, 4, 300)):
        config["rate"], config["layers"][0], local[1][2] = rate, layer, number
        np.testing.assert_allclose(scaled(nd.array(x)).asnumpy(), x * rate + layer * number)


def test_annotations_are_no_control_flow():
    """Python 3.14 makes a function of them, which has an `if`; here its source cannot be read."""
    names = {}
    lines = ["def f(x):", "    def inner(y: Missing) -> Missing:", "        return y + 1"]
    lines = ["from __future__ import annotations"] * (sys.version_info < (3, 14)) + lines
    exec(compile("\n".join([*lines, "    return inner(x)"]), "<typed>", "exec", 0, True), names)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert hn.function(names["f"])(nd.array([1.0])).asnumpy() == [2]
    assert paths_of(names["f"].__code__) == (
        (False, "inner", ()),
        (False, "x", ()),
        (False, "y", ()),
    )
