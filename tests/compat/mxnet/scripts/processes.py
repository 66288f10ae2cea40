"""Processes that a script starts see `mxnet`, too; classes of the script travel between them."""

import multiprocessing
import pickle
import subprocess
import sys

import mxnet as mx


class Sample:
    def __init__(self, number):
        self.number = number

    def double(self):
        return mx.nd.array([self.number]) * 2


def work(sample):
    import mxnet.ndarray as nd

    return float(nd.sum(sample.double()).asscalar())


if __name__ == "__main__":
    assert sys.argv[1:] == ["--flag", "value"], sys.argv
    array = pickle.loads(pickle.dumps({"x": mx.nd.array([1, 2]), "ctx": mx.cpu(0)}))
    assert array["x"].asnumpy().tolist() == [1, 2] and array["ctx"] == mx.cpu()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(work, [Sample(1), Sample(2)]))
    code = "import numpy, mxnet.gluon.nn as nn; print(nn.Dense.__name__, numpy.float is float)"
    subprocess.check_call([sys.executable, "-c", code])
    sys.exit(7)
