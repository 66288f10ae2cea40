"""Run by ``hybridnet run``: does the imports that the doctor asks it for, and notes what fails.

Its arguments are a file of JSON, a list of import statements, and the file that it writes: a line
of JSON for each statement, with the error or null. The last line tells which ended the process.
"""

import json
import sys

_FAILED = "it ended the process"


def main() -> None:
    """Does the imports."""
    with open(sys.argv[1], encoding="utf-8") as file:
        statements = json.load(file)
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        for statement in statements:
            begin = out.tell()
            print(json.dumps([statement, _FAILED]), file=out, flush=True)
            error = _error_of(statement)
            out.seek(begin)
            out.truncate()
            print(json.dumps([statement, error]), file=out, flush=True)


def _error_of(statement: str) -> str | None:
    try:
        exec(statement, {})
    except (Exception, SystemExit) as error:  # whatever a stranger's module raises
        return f"{type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    main()
