"""`onnx`: networks leave for other frameworks, and arrive from them, as ONNX models.

`export_model` writes a symbol with its parameters; `import_model` reads a model as one. The package
onnx does the files; ``pip install 'hybridnet[onnx]'`` brings it.
"""

from .exporting.model import export_model as export_model
from .exporting.model import get_operator_support as get_operator_support
from .importing.model import get_model_metadata as get_model_metadata
from .importing.model import import_model as import_model
from .importing.model import import_to_gluon as import_to_gluon
from .protos import OPSET as OPSET

__all__ = [
    "OPSET",
    "export_model",
    "get_model_metadata",
    "get_operator_support",
    "import_model",
    "import_to_gluon",
]
