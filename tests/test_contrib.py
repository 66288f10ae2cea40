"""The namespaces `nd.contrib` and `sym.contrib`, and names of MXNet's that are not supported."""

import numpy as np
import pytest

import hybridnet as mx
from hybridnet.base.unsupported import UNSUPPORTED, NotSupportedError, missing
from hybridnet.ops.registry import REGISTRY


def test_namespaces_hold_every_contrib_operator():
    names = [name.removeprefix("_contrib_") for name in REGISTRY if name.startswith("_contrib_")]
    assert "SyncBatchNorm" in names
    for name in names:
        assert callable(getattr(mx.nd.contrib, name))
        assert callable(getattr(mx.sym.contrib, name))


def test_isfinite_isinf_and_isnan():
    x = mx.nd.array([1.0, np.inf, -np.inf, np.nan])
    assert mx.nd.contrib.isfinite(x).asnumpy().tolist() == [1, 0, 0, 0]
    assert mx.nd.contrib.isinf(x).asnumpy().tolist() == [0, 1, 1, 0]
    assert mx.nd.contrib.isnan(x).asnumpy().tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    "namespace,name",
    [
        (namespace, name)
        for namespace, reasons in UNSUPPORTED.items()
        for names in reasons.values()
        for name in names.split()
    ],
)
def test_unsupported_names_say_so_and_are_not_there(namespace, name):
    owner = mx
    for part in namespace.split("."):
        owner = getattr(owner, part)
    assert not hasattr(owner, name)
    with pytest.raises(NotImplementedError, match=rf"{namespace}\.{name} of MXNet is not supp"):
        getattr(owner, name)


def test_unknown_names_are_no_rows_of_mxnet_and_suggest_near_ones():
    error = missing("nd.contrib", "box_nsm", ["box_nms", "fft"])
    assert not isinstance(error, NotSupportedError)
    assert (
        str(error) == "hybridnet.nd.contrib has no function 'box_nsm'; did you mean one of box_nms?"
    )
    with pytest.raises(AttributeError, match=r"hybridnet\.nd\.contrib has no function 'nothing'"):
        _ = mx.nd.contrib.nothing
