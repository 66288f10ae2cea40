"""Objects in JSON files, whose errors name the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hybridnet.base.errors import FormatError, MissingFileError


def read_object(path: Path) -> dict[str, Any]:
    """Returns the object in a JSON file.

    Raises:
        FormatError: it is none.
        MissingFileError: there is no such file.
    """
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise MissingFileError(error.errno, error.strerror, str(path)) from error
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: is no JSON: {error}; fetch it again") from error
    if not isinstance(found, dict):
        raise FormatError(f"{path}: must hold an object, got {type(found).__name__}")
    return found
