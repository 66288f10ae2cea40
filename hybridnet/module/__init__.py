"""`module` (also `mod`): symbols that are trained with an iterator over data.

mod = mx.mod.Module(symbol)
mod.fit(train_data, optimizer="adam", num_epoch=5)
mod.predict(test_data)
"""

from .base_module import BaseModule as BaseModule
from .bucketing_module import BucketingModule as BucketingModule
from .module import Module as Module
from .python_module import PythonLossModule as PythonLossModule
from .python_module import PythonModule as PythonModule
from .sequential_module import SequentialModule as SequentialModule

__all__ = [
    "BaseModule",
    "BucketingModule",
    "Module",
    "PythonLossModule",
    "PythonModule",
    "SequentialModule",
]
