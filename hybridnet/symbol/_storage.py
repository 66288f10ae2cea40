"""The storage types of variables as they are written in graphs: MXNet's numbers."""

from typing import Final

#: Storage type -> the attribute ``__storage_type__``.
CODE_OF_STYPE: Final = {"default": "0", "row_sparse": "1", "csr": "2"}
STYPE_OF_CODE: Final = {code: stype for stype, code in CODE_OF_STYPE.items()}
