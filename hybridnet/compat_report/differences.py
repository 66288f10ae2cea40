"""Signatures that differ from MXNet's on purpose, each with its reason."""

from __future__ import annotations

import fnmatch
from typing import Final

_NAMED_OTHERWISE: Final = (
    "all", "any", "diag", "diagflat", "diagonal", "repeat", "roll", "sometrue", "trace",
)  # fmt: skip

#: Pattern of a name in the checklist -> why its signature differs.
SIGNATURES: Final[dict[str, str]] = {
    "nd.BatchNorm_v1": "one operator with BatchNorm, whose moving averages are inputs",
    "nd.from_numpy": "arrays are of one class; `array_cls` chose between two inside MXNet",
    "nd.ravel_multi_index": "MXNet too requires `shape`: its default None is refused",
    "nd.unravel_index": "MXNet too requires `shape`: its default None is refused",
    **dict.fromkeys(
        (f"np.{name}" for name in _NAMED_OTHERWISE),
        "named as in NumPy and in MXNet's help, whose call takes `data`; usually by position",
    ),
    "sym.Symbol": "`handle` is a pointer of MXNet's C library; symbols are made by sym.var",
    "executor.Executor": "`handle` is a pointer of MXNet's C library; made by Symbol.bind",
    "kv.KVStore": "`handle` is a pointer of MXNet's C library; stores are made by kv.create",
    "*.random.randint": "`dtype` says int32, which is what MXNet draws by default",
    "metric.CompositeEvalMetric.update_dict": "named `label` and `pred` as in every other metric",
    "sym.Group": "symbols are of one class; `create_fn` chose between two inside MXNet",
}


def reason(name: str) -> str:
    """Returns why the signature of a name differs from MXNet's; empty: no reason is known."""
    found = (why for pattern, why in SIGNATURES.items() if fnmatch.fnmatchcase(name, pattern))
    return next(found, "")
