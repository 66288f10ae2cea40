"""``python -m hybridnet``: the same as the command ``hybridnet``."""

from hybridnet.cli.main import program as main

if __name__ == "__main__":
    main()
