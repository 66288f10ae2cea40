"""``tf.train.Example``: named lists of numbers or bytes, as messages of protocol buffers.

The package protobuf has the messages, an extra (``tf1``); descriptors are made at the first use.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from hybridnet.base import protobuf

__all__ = [
    "BytesList", "Example", "Feature", "FeatureList", "FeatureLists", "Features", "FloatList",
    "Int64List", "SequenceExample",
]  # fmt: skip

#: Message -> its fields: name, number, kind (a star: any number of them; ``{}``: by name).
_MESSAGES: Final = {
    "BytesList": "value 1 bytes*",
    "FloatList": "value 1 float*",
    "Int64List": "value 1 int64*",
    "Feature": "bytes_list 1 BytesList; float_list 2 FloatList; int64_list 3 Int64List",
    "Features": "feature 1 Feature{}",
    "Example": "features 1 Features",
    "FeatureList": "feature 1 Feature*",
    "FeatureLists": "feature_list 1 FeatureList{}",
    "SequenceExample": "context 1 Features; feature_lists 2 FeatureLists",
}


@cache
def _classes() -> dict[str, Any]:
    kinds = protobuf.descriptor_pb2.FieldDescriptorProto
    file = protobuf.descriptor_pb2.FileDescriptorProto(
        name="hybridnet_example.proto", package="tensorflow", syntax="proto3"
    )
    for name, rows in _MESSAGES.items():
        message = file.message_type.add(name=name)
        if name == "Feature":
            message.oneof_decl.add(name="kind")
        for row in rows.split("; "):
            key, number, kind = row.split()
            field = message.field.add(name=key, number=int(number), label=kinds.LABEL_OPTIONAL)
            if name == "Feature":
                field.oneof_index = 0
            if kind.endswith("{}"):
                kind = _add_entry(message, key, kind.removesuffix("{}")) + "*"
            if kind.endswith("*"):
                field.label = kinds.LABEL_REPEATED
            _set_kind(field, kind.removesuffix("*"))
    pool = protobuf.descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = {name: pool.FindMessageTypeByName(f"tensorflow.{name}") for name in _MESSAGES}
    return {name: protobuf.message_factory.GetMessageClass(one) for name, one in found.items()}


def _add_entry(message: Any, key: str, kind: str) -> str:
    """Adds the message that a field's pairs of name and value are; returns its name."""
    kinds = protobuf.descriptor_pb2.FieldDescriptorProto
    name = "".join(part.title() for part in key.split("_")) + "Entry"
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    for number, (part, of) in enumerate((("key", "string"), ("value", kind)), 1):
        field = entry.field.add(name=part, number=number, label=kinds.LABEL_OPTIONAL)
        _set_kind(field, of)
    return f"{message.name}.{name}"


def _set_kind(field: Any, kind: str) -> None:
    kinds = protobuf.descriptor_pb2.FieldDescriptorProto
    if kind[0].islower():
        field.type = getattr(kinds, f"TYPE_{kind.upper()}")
    else:
        field.type, field.type_name = kinds.TYPE_MESSAGE, f".tensorflow.{kind}"


class _Message:
    """A factory of messages of one type; the class of protobuf's is made at the first use.

    Args:
        name: the name of the type.
        doc: its docstring.
    """

    def __init__(self, name: str, doc: str) -> None:
        self._name = name
        self.__doc__ = doc

    def __call__(self, **fields: Any) -> Any:
        """Returns a message with these fields.

        Raises:
            ModuleNotFoundError: the package protobuf is missing.
        """
        return _classes()[self._name](**fields)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(_classes()[self._name], name)


BytesList = _Message("BytesList", "A list of byte strings: ``BytesList(value=[b'...'])``.")
FloatList = _Message("FloatList", "A list of float32 numbers.")
Int64List = _Message("Int64List", "A list of whole numbers.")
Feature = _Message("Feature", "One of the lists: ``Feature(int64_list=Int64List(value=[1]))``.")
Features = _Message("Features", "Features by name: ``Features(feature={'label': ...})``.")
Example = _Message("Example", "What is known of one example: ``Example(features=Features(...))``.")
FeatureList = _Message("FeatureList", "A feature at each of several steps.")
FeatureLists = _Message("FeatureLists", "Such by name.")
SequenceExample = _Message("SequenceExample", "Features of a whole, and of each of its steps.")
