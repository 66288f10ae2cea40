"""`contrib.onnx`: the names of `hybridnet.onnx` at the place that MXNet had them first."""

from hybridnet.onnx import export_model as export_model
from hybridnet.onnx import get_model_metadata as get_model_metadata
from hybridnet.onnx import import_model as import_model
from hybridnet.onnx import import_to_gluon as import_to_gluon

# MXNet's functions without a word on where they will be.
export_model_ = export_model
get_model_metadata_ = get_model_metadata
import_model_ = import_model
import_to_gluon_ = import_to_gluon

__all__ = [
    "export_model",
    "get_model_metadata",
    "get_model_metadata_",
    "import_model",
    "import_model_",
    "import_to_gluon",
    "import_to_gluon_",
]
