"""A worker that pushes what goes by files in memory and what does not; or a process of a gang."""

import sys

import hybridnet as hn
from hybridnet import nd

if sys.argv[1] == "store":
    store = hn.kv.create("dist_sync")
    sums = []
    for key, size in ((1, 3), (2, 300_000)):
        out = nd.zeros((size,))
        store.init(key, out)
        store.push(key, nd.ones((size,)) * (store.rank + 1))
        store.pull(key, out=out)
        sums.append(float(out.mean().asscalar()))
    text = f"store {sums}"
else:
    hn.distributed.initialize()
    text = f"gang {hn.distributed.all_reduce(nd.ones(2) * (hn.distributed.rank() + 1)).asnumpy()}"
sys.stdout.write(f"{sys.platform} {text}\n")  # as one piece, since several processes write
