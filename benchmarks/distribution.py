"""What the parameter server costs, encrypted and not, beside MXNet: `push_pull.py` by its other
name.

    python benchmarks/distribution.py --mxnet-python PYTHON [--turns 3] [--only NAME ...]
"""

from __future__ import annotations

import sys

from push_pull import main

if __name__ == "__main__":
    sys.exit(main())
