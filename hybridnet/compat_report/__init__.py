"""`python -m hybridnet.compat_report`: how far hybridnet is MXNet 1.9.1, by its tests and names.

How many of MXNet's own unit tests pass is a recorded run (`conformance.py`), by area, with its date
and versions; ``--record RUN.json --baseline FILE --readme README.md`` records another.

Each row of a checklist (bundled: what MXNet 1.9.1 offers, by tier of use) is looked up in
hybridnet and judged by itself:

- **present**: the name exists;
- **signature equal**: the same parameters in the same order with the same defaults, or a
  difference that `differences` lists with its reason;
- **tested**: there are answers of MXNet itself that hybridnet is compared with. That is known
  only in a source tree, where ``tests/oracle`` is, and asked only of operators and functions of
  arrays whose results are determined.
"""

from .judge import Verdict, is_attribute, judge
from .report import markdown, table
from .rows import Row, read_checklist

__all__ = ["Row", "Verdict", "is_attribute", "judge", "markdown", "read_checklist", "table"]
