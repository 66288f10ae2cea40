"""The configuration of TensorBoard's projector, which shows vectors with names and pictures.

The projector reads vectors from TensorFlow's checkpoints; hybridnet's checkpoints have another
format. So write the vectors as lines of numbers separated by tabs
(``numpy.savetxt(path, vectors, delimiter="\\t")``), and give that file's path as `tensor_path`.
"""

from __future__ import annotations

import os
from typing import Any, final

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]


def _lines(message: object, space: str = "") -> list[str]:
    """Returns its fields as protobuf's text has them; those that are empty are left out."""
    found = []
    for name, value in vars(message).items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(one, (EmbeddingInfo, SpriteMetadata)):
                inner = _lines(one, space + "  ")
                found += [f"{space}{name} {{", *inner, f"{space}}}"] if inner else []
            elif isinstance(one, int):
                found.append(f"{space}{name}: {one}")
            elif one:
                text = one.replace("\\", "\\\\").replace('"', '\\"')
                found.append(f'{space}{name}: "{text}"')
    return found


@final
class SpriteMetadata:
    """The pictures of vectors, all in one file.

    Attributes:
        image_path: the file, whose pictures come row by row.
        single_image_dim: width and height of one.
    """

    def __init__(self) -> None:
        self.image_path = ""
        self.single_image_dim: list[int] = []


@final
class EmbeddingInfo:
    """One table of vectors.

    Attributes:
        tensor_name: the name of the variable.
        metadata_path: a file with a line for each vector.
        bookmarks_path: a file with views that were kept.
        sprite: the pictures of the vectors.
        tensor_path: a file with the vectors, a line for each.
    """

    def __init__(self) -> None:
        self.tensor_name = ""
        self.metadata_path = ""
        self.bookmarks_path = ""
        self.sprite = SpriteMetadata()
        self.tensor_path = ""


class _Listed(list[EmbeddingInfo]):
    """A list to which a table is added as protobuf does."""

    def add(self) -> EmbeddingInfo:
        """Adds a table; returns it."""
        self.append(EmbeddingInfo())
        return self[-1]


@final
class ProjectorConfig:
    """The configuration of the projector: the embeddings that it shows.

    Attributes:
        model_checkpoint_path: the TensorFlow checkpoint that vectors are read from.
        embeddings: the embeddings, each a table of vectors; ``embeddings.add()`` adds one.
        model_checkpoint_dir: the folder of checkpoints.
    """

    def __init__(self) -> None:
        self.model_checkpoint_path = ""
        self.embeddings = _Listed()
        self.model_checkpoint_dir = ""

    def __str__(self) -> str:
        return "".join(f"{line}\n" for line in _lines(self))


def visualize_embeddings(summary_writer: Any, config: ProjectorConfig) -> None:
    """Writes what is shown into the folder of a writer of summaries, for TensorBoard to find.

    Args:
        summary_writer: a `tf.summary.FileWriter`, or a folder.
        config: what is shown.
    """
    folder = summary_writer if isinstance(summary_writer, str) else summary_writer.get_logdir()
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "projector_config.pbtxt"), "w", encoding="utf-8") as file:
        file.write(str(config))
