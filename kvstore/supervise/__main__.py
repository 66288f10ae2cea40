"""``python -m hybridnet.kvstore.supervise``: see `tether`."""

import sys

from hybridnet.kvstore.supervise.tether import main

if __name__ == "__main__":
    sys.exit(main())
