"""Networks in Hugging Face's folders: a config.json, and tensors in safetensors files.

Nothing in a folder is run or unpickled. What a family says of its networks is in `family`, what a
config.json says in `settings`; `reading` and `writing` know no family, `tensors` knows the files,
and `places` where folders are.
"""

from .family import Family, Weight, weights_by_name, weights_of
from .json_files import read_object
from .places import local_folder
from .reading import read_folder
from .settings import Names, Settings, class_names
from .sizes import activation, check_count, check_sizes
from .writing import write_folder

__all__ = [
    "Family",
    "Names",
    "Settings",
    "Weight",
    "activation",
    "check_count",
    "check_sizes",
    "class_names",
    "local_folder",
    "read_folder",
    "read_object",
    "weights_by_name",
    "weights_of",
    "write_folder",
]
