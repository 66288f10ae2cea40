"""Mistakes that type checkers find: each line that ends in a comment, and no other.

It is not run; `test_checkers.py` has it checked.
"""

import hybridnet as hn
from hybridnet import nd, np, npx, sym

x = nd.ones((2, 3))
p = np.ones((2, 3))
s = sym.var("s")

hn.foo()  # no such name in the package
nd.fully_connected(x, x)  # nor in nd
sym.FullyConected(s, num_hidden=3)  # nor in sym
np.concatnate([p, p])  # nor in np
npx.softmx(p)  # nor in npx
nd.random.normall(0, 1)  # nor in a module of nd
np.linalg.normm(p)  # nor in one of np
x.summ()  # nor among the methods
nd.dot(x, x, wrong=4)  # an argument that it does not take
nd.FullyConnected(x, x, x, number_hidden=3)  # of an operator with several signatures
s.sum(axes=1)  # of a method
np.exp(p, wrong=1)  # of a function of NumPy's
nd.relu(x, 1, 2)  # too many
nd.dot(x)  # too few
sym.Activation(s)  # too few, where inputs need not be given
nd.dot("x", x)  # a text where an array is asked
np.exp("x")  # also where lists are taken
nd.Convolution(x, x, kernel={}, num_filter=3)  # a parameter: of several signatures
nd.Convolution(x, x, kernel=(3, 3), num_filter=object())  # a whole number
nd.sum(x, axis=1.5)  # an axis
x.sum(axis=1.5)  # of a method
sym.sum(s, axis=1.5)  # of a symbol
nd.Dropout(x, p=[0.5])  # a number
nd.topk(x, k=(1, 2))  # one where several are given
nd.Activation(x, act_type=3)  # a choice
nd.cast(x, dtype=3)  # an element type
nd.sum(x, keepdims=[])  # yes or no
npx.pooling(p, kernel={})  # of npx
