"""``python -m hybridnet``: the same as the command ``hybridnet``."""

from __future__ import annotations

import sys

from hybridnet.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
