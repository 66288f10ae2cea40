"""A script without a guard, whose dataset is its own, read by worker processes."""

import mxnet as mx
from mxnet import gluon, nd

SCALE = nd.array([2.0])


class Squares(gluon.data.Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, idx):
        print("sample", flush=True)
        return mx.nd.full((1,), idx) ** 2


loader = gluon.data.DataLoader(
    Squares().transform_first(lambda x: x * SCALE), batch_size=2, num_workers=2
)
print([batch.asnumpy().ravel().tolist() for batch in loader])
