"""Prints a script that names everything public: of each module what is in its ``__all__``."""

import importlib
import pkgutil

import hybridnet

#: What users import from; beside these, all that stands in `hybridnet`.
MODULES = (
    "contrib",
    "gluon.data",
    "gluon.loss",
    "gluon.nn",
    "gluon.rnn",
    "gluon.utils",
    "ndarray.contrib",
    "ndarray.image",
    "ndarray.linalg",
    "ndarray.random",
    "ndarray.sparse",
    "numpy.linalg",
    "numpy.random",
    "numpy_extension.image",
    "numpy_extension.random",
    "symbol.contrib",
    "symbol.image",
    "symbol.linalg",
    "symbol.numpy",
    "symbol.random",
    "symbol.sparse",
)


def main() -> None:
    """Prints the script."""
    found = {name: getattr(hybridnet, name) for name in hybridnet.__all__}
    modules = {m.name for m in pkgutil.iter_modules(hybridnet.__path__)}
    print("import hybridnet")
    for name in [*sorted(modules & found.keys()), *MODULES]:
        module = importlib.import_module(f"hybridnet.{name}")
        print(f"import hybridnet.{name}")
        for public in getattr(module, "__all__", ()):
            print(f"hybridnet.{name}.{public}")
    for name in found:
        print(f"hybridnet.{name}")


if __name__ == "__main__":
    main()
