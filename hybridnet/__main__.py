"""``python -m hybridnet``: the same as the command ``hybridnet``."""

from __future__ import annotations

from hybridnet.cli.main import program as main

if __name__ == "__main__":
    main()
