"""Modules that `import mxnet` has loaded, and numpy.lib's by their names of before NumPy 2.0."""

import multiprocessing
import urllib

import mxnet as mx
import numpy as np
from numpy.lib.function_base import percentile

with multiprocessing.pool.ThreadPool(2) as pool:
    print(sum(pool.map(lambda x: mx.nd.square(x).asscalar(), mx.nd.array([1, 2, 3]))))
print(urllib.request.Request("file:///a").type, hasattr(multiprocessing, "pools"))
print(np.lib.arraysetops.union1d([3, 1], [2, 1]).tolist(), float(percentile([1, 2, 3], 50)))
