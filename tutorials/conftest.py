"""Which notebooks ``pytest --nbmake tutorials`` runs."""

import os

# Those in Chinese are the same programs, which tests/docs/test_notebooks.py says.
if not os.environ.get("HYBRIDNET_TEST_NIGHTLY"):
    collect_ignore = ["zh"]
