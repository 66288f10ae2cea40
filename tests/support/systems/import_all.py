"""Imports every module of hybridnet; prints those that cannot be, and why."""

import importlib
import pkgutil
import sys
import traceback

import hybridnet

failed = []


def modules(package):
    """Yields the names of a package's modules, and imports what has some."""
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        if found.name.endswith(".__main__"):
            continue  # it runs something
        try:
            module = importlib.import_module(found.name)
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            failed.append(f"{found.name}: {error!r} at {last.filename}:{last.lineno}")
            continue
        yield found.name
        if found.ispkg:
            yield from modules(module)


known = {*modules(hybridnet)}
for name in ("engine", "kvstore"):  # an editable installation has them elsewhere
    known |= {*modules(importlib.import_module(f"hybridnet.{name}"))}
print(*failed, sep="\n")
print(sys.platform, len(known), "modules")
