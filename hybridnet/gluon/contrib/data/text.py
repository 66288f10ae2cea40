"""Texts for language models: WikiText-2 and WikiText-103 (Merity et al. 2016)."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections import Counter
from pathlib import Path
from typing import ClassVar, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.base.fetching import RemoteFile, check_sha1
from hybridnet.base.files import atomic_write
from hybridnet.ndarray import NDArray, array
from hybridnet.vocabulary import Vocabulary, count_tokens_from_str

from ...data.dataset import DownloadedDataset

__all__ = ["WikiText2", "WikiText103"]

#: The end of a line, among the words.
_END: Final = "<eos>"


class _WikiText(DownloadedDataset):
    """Articles of Wikipedia, cut into pieces of equal length wherever that falls.

    Samples are (data, label), both int32 (seq_len,): numbers of words, and those of the words
    that follow each. A line ends in '<eos>', and empty ones are left out.

    Args:
        root: folder of the files; what is not there is downloaded.
        segment: 'train', 'validation' or 'test'.
        vocab: gives words their numbers; None: one is made of this segment's words.
        seq_len: words of a sample.

    Raises:
        ParameterError: there is no such segment, or `seq_len` is less than 1.
        DownloadError: a file is not there and cannot be fetched.
    """

    _namespace: ClassVar[str]
    _archive: ClassVar[RemoteFile]
    _files: ClassVar[dict[str, RemoteFile]]

    def __init__(
        self, root: str, segment: str = "train", vocab: Vocabulary | None = None, seq_len: int = 35
    ) -> None:
        if segment not in self._files:
            raise ParameterError(
                f"{type(self).__name__}: segment must be one of {', '.join(self._files)}, got "
                f"{segment!r}"
            )
        if seq_len < 1:
            raise ParameterError(
                f"{type(self).__name__}: seq_len must be at least 1, got {seq_len}"
            )
        self._segment = segment
        self._seq_len = seq_len
        self._vocab = vocab
        self._counter: Counter[str] | None = None
        super().__init__(root, None)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary, which gives words their numbers."""
        assert self._vocab is not None  # it is made with the data
        return self._vocab

    @property
    def frequencies(self) -> Counter[str] | None:
        """The counts of the words in the segment."""
        return self._counter

    def _get_data(self) -> None:
        file = self._files[self._segment]
        path = Path(self._root) / file.name
        if not path.exists() or not check_sha1(path, file.sha1):
            self._fetch()
        if not path.exists():
            raise FormatError(f"{Path(self._root) / self._archive.name}: has no {file.name}")
        numbers = np.array(self._numbers(path.read_text(encoding="utf8")), np.int32)
        whole = max(len(numbers) - 1, 0) // self._seq_len * self._seq_len
        self._data = self._pieces(numbers[:whole])
        self._label = self._pieces(numbers[1 : whole + 1])

    def _fetch(self) -> None:
        """Downloads the archive, and unpacks the files that belong to the data set."""
        archive = self._archive.fetched(self._namespace, self._root)
        names = {file.name for file in self._files.values()}
        with zipfile.ZipFile(archive) as opened:
            for member in opened.namelist():
                name = os.path.basename(member)
                if name in names:
                    with (
                        opened.open(member) as content,
                        atomic_write(Path(self._root) / name) as out,
                    ):
                        shutil.copyfileobj(content, out)

    def _numbers(self, text: str) -> list[int]:
        """Returns the numbers of a text's words, and makes the vocabulary if there is none."""
        self._counter = count_tokens_from_str(text)
        if self._vocab is None:
            self._vocab = Vocabulary(self._counter, reserved_tokens=[_END])
        lines = [line for line in map(str.split, text.splitlines()) if line]
        numbers: list[int] = self._vocab.to_indices(
            [word for line in lines for word in [*line, _END]]
        )
        return numbers

    def _pieces(self, numbers: NumpyArray) -> NDArray:
        return array(numbers.reshape(-1, self._seq_len), dtype=np.int32)


class WikiText2(_WikiText):
    """Two million words of Wikipedia's good articles; see `_WikiText` for samples and arguments.

    Args:
        root: as there; default $MXNET_HOME/datasets/wikitext-2.
        segment, vocab, seq_len: as there.
    """

    _namespace = "wikitext-2"
    _archive = RemoteFile("wikitext-2-v1.zip", "3c914d17d80b1459be871a5039ac23e752a53cbe")
    _files: ClassVar[dict[str, RemoteFile]] = {
        "train": RemoteFile("wiki.train.tokens", "863f29c46ef9d167fff4940ec821195882fe29d1"),
        "validation": RemoteFile("wiki.valid.tokens", "0418625c8b4da6e4b5c7a0b9e78d4ae8f7ee5422"),
        "test": RemoteFile("wiki.test.tokens", "c7b8ce0aa086fb34dab808c5c49224211eb2b172"),
    }

    def __init__(
        self,
        root: str = "$MXNET_HOME/datasets/wikitext-2",
        segment: str = "train",
        vocab: Vocabulary | None = None,
        seq_len: int = 35,
    ) -> None:
        super().__init__(root, segment, vocab, seq_len)


class WikiText103(_WikiText):
    """A hundred million words of the same articles as in `WikiText2`, and of more of them.

    Args:
        root: as for `WikiText2`; default $MXNET_HOME/datasets/wikitext-103.
        segment, vocab, seq_len: as for `WikiText2`.
    """

    _namespace = "wikitext-103"
    _archive = RemoteFile("wikitext-103-v1.zip", "0aec09a7537b58d4bb65362fee27650eeaba625a")
    _files: ClassVar[dict[str, RemoteFile]] = {
        "train": RemoteFile("wiki.train.tokens", "b7497e2dfe77e72cfef5e3dbc61b7b53712ac211"),
        "validation": RemoteFile("wiki.valid.tokens", "c326ac59dc587676d58c422eb8a03e119582f92b"),
        "test": RemoteFile("wiki.test.tokens", "8a5befc548865cec54ed4273cf87dbbad60d1e47"),
    }

    def __init__(
        self,
        root: str = "$MXNET_HOME/datasets/wikitext-103",
        segment: str = "train",
        vocab: Vocabulary | None = None,
        seq_len: int = 35,
    ) -> None:
        super().__init__(root, segment, vocab, seq_len)
