"""gluon's model zoo, run, and its recurrent layers, trained, against MXNet and PyTorch.

hybridnet and MXNet run the same lines (``works/zoo.py``, ``works/recurrent.py``) from the same
weights, by turns, each in processes of its own; see ``nets.py``, whose switches it has, for how
they are compared, and for the same kinds of networks against more frameworks.

    python benchmarks/models.py [--works zoo-densenet121 gru-layer-step] [--mxnet-python PATH]
        [--torch-python PATH] [--json FILE]
"""

from __future__ import annotations

from nets import main
from rows import MODELS

if __name__ == "__main__":
    main(MODELS, (__doc__ or "").splitlines()[0])
