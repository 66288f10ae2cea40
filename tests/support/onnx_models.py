"""Symbols exported to ONNX, run by onnxruntime, and read back."""

import numpy as np
import onnxruntime

import hybridnet as hn
from hybridnet import nd

__all__ = ["Case", "close", "run_model", "values_of"]


class Case:
    """A symbol, what it is fed, and numbers for all other variables.

    Args:
        symbol: the network; `data` and whatever else `feeds` has are its inputs.
        feeds: arrays by name.
        params: arrays by name; those that are missing are drawn.
    """

    def __init__(self, symbol, params=None, **feeds):
        self.symbol = symbol
        self.feeds = {name: np.asarray(value) for name, value in feeds.items()}
        shapes = {name: value.shape for name, value in self.feeds.items()}
        shapes.update({name: value.shape for name, value in (params or {}).items()})
        arguments, _, states = symbol.infer_shape(**shapes)
        rng = np.random.default_rng(1)
        self.params = {}
        names = (*symbol.list_arguments(), *symbol.list_auxiliary_states())
        for name, shape in zip(names, (*arguments, *states), strict=True):
            if name in (params or {}):
                self.params[name] = nd.array(params[name], dtype=params[name].dtype)
            elif name not in self.feeds and not name.endswith("_label"):
                self.params[name] = nd.array(rng.uniform(0.2, 1, shape))

    def export(self, path, **options):
        names = [name for name in self.symbol.list_inputs() if name in self.feeds]
        return hn.onnx.export_model(
            self.symbol,
            self.params,
            [self.feeds[name].shape for name in names],
            [self.feeds[name].dtype for name in names],
            path,
            **options,
        )

    def answers(self, feeds=None):
        return values_of(self.symbol, self.params, feeds or self.feeds)


def values_of(symbol, params, feeds):
    """What a symbol computes outside training, as NumPy arrays."""
    wanted = set(symbol.list_inputs())
    given = {
        name: nd.array(value, dtype=value.dtype) for name, value in feeds.items() if name in wanted
    }
    labels = {
        name: nd.zeros(shape)
        for name, shape in zip(
            symbol.list_arguments(),
            symbol.infer_shape(**{n: v.shape for n, v in {**params, **given}.items()})[0],
            strict=True,
        )
        if name not in params and name not in given
    }
    return [one.asnumpy() for one in symbol.eval(**params, **given, **labels)]


def run_model(path, feeds):
    """What onnxruntime makes of a model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    wanted = {one.name for one in session.get_inputs()}
    return session.run(None, {name: value for name, value in feeds.items() if name in wanted})


def close(got, wanted, tolerance=1e-5):
    assert len(got) == len(wanted)
    for mine, theirs in zip(got, wanted, strict=True):
        assert mine.shape == theirs.shape
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=tolerance, atol=tolerance)
