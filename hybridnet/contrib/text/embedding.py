"""Vectors for words, from files such as those of GloVe and fastText.

Nothing is downloaded: `GloVe` and `FastText` read a file of that name that is in `embedding_root`,
where earlier versions of MXNet, or the user, have put it.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from hybridnet import ndarray as nd
from hybridnet import registry
from hybridnet.base.config import data_dir
from hybridnet.base.errors import FormatError, MXNetError, ParameterError
from hybridnet.base.remote import PathLike
from hybridnet.ndarray import NDArray

from .vocab import Vocabulary

__all__ = [
    "CompositeEmbedding",
    "CustomEmbedding",
    "FastText",
    "GloVe",
    "TokenEmbedding",
    "create",
    "get_pretrained_file_names",
    "register",
]

_Filler = Callable[..., NDArray]


class TokenEmbedding(Vocabulary):
    """Numbers for tokens, and a vector for each; the base of embeddings.

    Args:
        kwargs: what `Vocabulary` takes.
    """

    #: The files that belong to it.
    pretrained_file_names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._vec_len = 0
        self._idx_to_vec: Any = None

    @property
    def vec_len(self) -> int:
        """The length of the vectors."""
        return self._vec_len

    @property
    def idx_to_vec(self) -> Any:
        """The vectors in the order of the tokens' numbers: (tokens, vec_len)."""
        return self._idx_to_vec

    def _load_embedding(
        self,
        pretrained_file_path: PathLike,
        elem_delim: str,
        init_unknown_vec: _Filler,
        encoding: str = "utf8",
    ) -> None:
        """Reads a file with a token and its vector in each line.

        Raises:
            ParameterError: there is no such file.
            FormatError: a line is of another form.
        """
        path = Path(pretrained_file_path).expanduser()
        if not path.is_file():
            raise ParameterError(f"{type(self).__name__}: there is no file {path}")
        logging.info("Loading pre-trained token embedding vectors from %s", path)
        rows: list[list[float]] = []
        unknown: list[float] | None = None
        with path.open(encoding=encoding) as file:
            for number, line in enumerate(file, 1):
                token, *texts = line.rstrip().split(elem_delim)
                vector = _numbers(path, number, texts)
                if token == self.unknown_token and unknown is None:
                    unknown = vector
                elif token in self._token_to_idx:
                    warnings.warn(f"{path}: line {number}: {token!r} is there again", stacklevel=4)
                elif len(vector) == 1:
                    warnings.warn(f"{path}: line {number} seems to be a header", stacklevel=4)
                else:
                    if rows and len(vector) != len(rows[0]):
                        raise FormatError(
                            f"{path}: line {number}: all vectors must have {len(rows[0])} numbers, "
                            f"got {len(vector)}"
                        )
                    rows.append(vector)
                    self._token_to_idx[token] = len(self._idx_to_token)
                    self._idx_to_token.append(token)
        if not rows:
            raise FormatError(f"{path}: holds no vectors")
        self._vec_len = len(rows[0])
        start = np.zeros((len(self) - len(rows), self._vec_len), np.float32)
        self._idx_to_vec = nd.array(np.concatenate([start, np.asarray(rows, np.float32)]))
        first = init_unknown_vec(shape=self._vec_len) if unknown is None else nd.array(unknown)
        self._idx_to_vec[0] = first

    def _take_over(self, vocabulary: Vocabulary, embeddings: Sequence[TokenEmbedding]) -> None:
        """Takes the tokens of a vocabulary, with the vectors that embeddings have, joined."""
        if not isinstance(vocabulary, Vocabulary):
            raise ParameterError(
                f"{type(self).__name__}: vocabulary must be a Vocabulary, got "
                f"{type(vocabulary).__name__}"
            )
        tokens = vocabulary.idx_to_token
        parts = [
            nd.concat(one.idx_to_vec[0:1], one.get_vecs_by_tokens(tokens[1:]), dim=0)
            if len(tokens) > 1
            else one.idx_to_vec[0:1]
            for one in embeddings
        ]
        self._idx_to_vec = nd.concat(*parts, dim=1)
        self._vec_len = self._idx_to_vec.shape[1]
        self._idx_to_token = list(tokens)
        self._token_to_idx = dict(vocabulary.token_to_idx)
        self._unknown_token = vocabulary.unknown_token
        self._reserved_tokens = vocabulary.reserved_tokens

    def get_vecs_by_tokens(
        self, tokens: str | list[str], lower_case_backup: bool = False
    ) -> NDArray:
        """Returns the vector of a token, or of each in a list: (tokens, vec_len).

        Args:
            tokens: the token, or a list.
            lower_case_backup: whether a token without a vector has that of its lower case.
        """
        known = self._token_to_idx
        listed = tokens if isinstance(tokens, list) else [tokens]
        numbers = [
            known.get(token, known.get(token.lower(), 0) if lower_case_backup else 0)
            for token in listed
        ]
        found = nd.take(self._idx_to_vec, nd.array(numbers, dtype="int32"))
        return found if isinstance(tokens, list) else found[0]

    def update_token_vectors(self, tokens: str | list[str], new_vectors: NDArray) -> None:
        """Sets the vectors of tokens.

        Args:
            tokens: the token, or a list.
            new_vectors: (tokens, vec_len); for one token also (vec_len,).

        Raises:
            ParameterError: a token has no number, or the vectors have another shape.
        """
        listed = tokens if isinstance(tokens, list) else [tokens]
        unknown = [token for token in listed if token not in self._token_to_idx]
        if unknown:
            raise ParameterError(
                f"update_token_vectors: {unknown} have no vectors; that of all unknown tokens is "
                f"the one of {self.unknown_token!r}"
            )
        vectors = new_vectors.reshape((1, -1)) if new_vectors.ndim == 1 else new_vectors
        if vectors.shape != (len(listed), self._vec_len):
            raise ParameterError(
                f"update_token_vectors: needs vectors of shape {(len(listed), self._vec_len)}, "
                f"got {new_vectors.shape}"
            )
        for number, token in enumerate(listed):
            self._idx_to_vec[self._token_to_idx[token]] = vectors[number]


def _numbers(path: Path, number: int, texts: Sequence[str]) -> list[float]:
    try:
        vector = [float(text) for text in texts]
    except ValueError as error:
        raise FormatError(f"{path}: line {number}: {error}") from error
    if not vector:
        raise FormatError(f"{path}: line {number}: needs a token and its vector")
    return vector


register = registry.get_register_func(TokenEmbedding, "token embedding")
create = registry.get_create_func(TokenEmbedding, "token embedding")


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """Returns the files that belong to an embedding, or those of each by its name.

    Raises:
        KeyError: there is no such embedding.
    """
    known = registry.get_registry(TokenEmbedding)
    files = {name: list(kind.pretrained_file_names) for name, kind in known.items()}  # type: ignore[attr-defined]
    if embedding_name is None:
        return files
    if embedding_name.lower() not in files:
        raise KeyError(f"there is no embedding {embedding_name!r}; there are {sorted(files)}")
    return files[embedding_name.lower()]


class _FromRoot(TokenEmbedding):
    """An embedding of a file in a folder of such files."""

    def _load_from(
        self, root: PathLike, name: str, init_unknown_vec: _Filler, vocabulary: Vocabulary | None
    ) -> None:
        if name not in self.pretrained_file_names:
            raise KeyError(
                f"{type(self).__name__}: pretrained_file_name must be one of "
                f"{', '.join(self.pretrained_file_names)}, got {name!r}"
            )
        base = Path(str(root).replace("$MXNET_HOME", data_dir())).expanduser()
        folder = base / type(self).__name__.lower()
        if not (folder / name).is_file():
            raise MXNetError(
                f"{type(self).__name__}: {folder / name} must be there, as nothing is downloaded; "
                "put the file into that folder, or use CustomEmbedding"
            )
        self._load_embedding(folder / name, " ", init_unknown_vec)
        if vocabulary is not None:
            self._take_over(vocabulary, [self])


_ROOT: Final = "$MXNET_HOME/embeddings"


@register
class GloVe(_FromRoot):
    """Vectors of GloVe (Pennington et al., 2014).

    Args:
        pretrained_file_name: which file; see `get_pretrained_file_names`.
        embedding_root: the folder that has a folder ``glove`` with it.
        init_unknown_vec: makes the vector of unknown tokens, where the file has none.
        vocabulary: the tokens to keep; default all.
        kwargs: what `Vocabulary` takes.

    Raises:
        KeyError: there is no such file.
        MXNetError: it is not in the folder.
    """

    pretrained_file_names = (
        "glove.42B.300d.txt",
        "glove.6B.50d.txt",
        "glove.6B.100d.txt",
        "glove.6B.200d.txt",
        "glove.6B.300d.txt",
        "glove.840B.300d.txt",
        "glove.twitter.27B.25d.txt",
        "glove.twitter.27B.50d.txt",
        "glove.twitter.27B.100d.txt",
        "glove.twitter.27B.200d.txt",
    )

    def __init__(
        self,
        pretrained_file_name: str = "glove.840B.300d.txt",
        embedding_root: str = _ROOT,
        init_unknown_vec: _Filler = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load_from(embedding_root, pretrained_file_name, init_unknown_vec, vocabulary)


@register
class FastText(_FromRoot):
    """Vectors of fastText (Bojanowski et al., 2017); the arguments are those of `GloVe`.

    Raises:
        KeyError: there is no such file.
        MXNetError: it is not in the folder ``fasttext``.
    """

    pretrained_file_names = (
        "wiki.simple.vec",
        "wiki.en.vec",
        "wiki.de.vec",
        "wiki.fr.vec",
        "wiki.es.vec",
        "wiki.zh.vec",
        "crawl-300d-2M.vec",
    )

    def __init__(
        self,
        pretrained_file_name: str = "wiki.simple.vec",
        embedding_root: str = _ROOT,
        init_unknown_vec: _Filler = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load_from(embedding_root, pretrained_file_name, init_unknown_vec, vocabulary)


class CustomEmbedding(TokenEmbedding):
    """Vectors of a user's file, with a token and its numbers in each line.

    Args:
        pretrained_file_path: the file.
        elem_delim: what is between token and numbers.
        encoding: of the file.
        init_unknown_vec: makes the vector of unknown tokens, where the file has none.
        vocabulary: the tokens to keep; default all.
        kwargs: what `Vocabulary` takes.

    Raises:
        ParameterError: there is no such file.
        FormatError: a line is of another form.
    """

    def __init__(
        self,
        pretrained_file_path: PathLike,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: _Filler = nd.zeros,
        vocabulary: Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load_embedding(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        if vocabulary is not None:
            self._take_over(vocabulary, [self])


class CompositeEmbedding(TokenEmbedding):
    """The tokens of a vocabulary with the vectors of several embeddings, joined.

    Args:
        vocabulary: the tokens.
        token_embeddings: an embedding, or a list.

    Raises:
        ParameterError: these are no such things.
    """

    def __init__(
        self, vocabulary: Vocabulary, token_embeddings: TokenEmbedding | list[TokenEmbedding]
    ) -> None:
        super().__init__()
        given = token_embeddings if isinstance(token_embeddings, list) else [token_embeddings]
        if not all(isinstance(one, TokenEmbedding) for one in given):
            raise ParameterError(
                f"CompositeEmbedding: token_embeddings must be embeddings, got {given}"
            )
        self._take_over(vocabulary, given)
