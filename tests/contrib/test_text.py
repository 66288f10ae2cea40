"""Vocabularies, vectors of words, and metrics for TensorBoard."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import nd
from hybridnet.base.errors import FormatError, MXNetError, ParameterError
from hybridnet.contrib import tensorboard, text
from hybridnet.events.messages import summary_iterator

WORDS = "a b b\nc C d\nd d  e"


def test_tokens_are_counted():
    counts = text.utils.count_tokens_from_str(WORDS, to_lower=True)
    assert counts == Counter({"d": 3, "b": 2, "c": 2, "a": 1, "e": 1})
    again = text.utils.count_tokens_from_str("a-b|b", "-", r"\|", counter_to_update=counts)
    assert again is counts and counts["b"] == 4


def test_a_vocabulary_numbers_frequent_tokens_first():
    counts = text.utils.count_tokens_from_str(WORDS)
    words = text.vocab.Vocabulary(counts, reserved_tokens=["<pad>"])
    # As MXNet 1.9.1 has it: by frequency, and then in the order of the alphabet.
    assert words.idx_to_token == ["<unk>", "<pad>", "d", "b", "C", "a", "c", "e"]
    assert len(words) == 8 and words.reserved_tokens == ["<pad>"] and words.unknown_token == "<unk>"
    assert words.to_indices(["b", "?", "<pad>"]) == [3, 0, 1] and words.to_indices("d") == 2
    assert words.to_tokens([2, 0]) == ["d", "<unk>"] and words.to_tokens(3) == "b"
    assert text.vocab.Vocabulary(counts, 1).idx_to_token == ["<unk>", "d"]
    assert text.vocab.Vocabulary(counts, min_freq=2).idx_to_token == ["<unk>", "d", "b"]
    assert text.vocab.Vocabulary(counts, 2, reserved_tokens=["d"]).idx_to_token == [
        "<unk>", "d", "b", "C",
    ]  # fmt: skip
    with pytest.raises(ParameterError, match="numbers from 0 to 7, got 8"):
        words.to_tokens(8)
    for given, message in (
        ({"min_freq": 0}, "min_freq must be at least 1"),
        ({"reserved_tokens": ["x", "x"]}, "must differ"),
        ({"reserved_tokens": ["<unk>"]}, "must differ"),
        ({"counter": {"a": 1}}, "must be a collections.Counter"),
    ):
        with pytest.raises(ParameterError, match=message):
            text.vocab.Vocabulary(**given)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("a 1 2\nb 3 4\n<unk> 9 8\nc 5 6\n")
    return path


def test_vectors_are_read_and_looked_up(file):
    vectors = text.embedding.CustomEmbedding(file)
    assert vectors.vec_len == 2 and len(vectors) == 4
    np.testing.assert_array_equal(vectors.idx_to_vec.asnumpy(), [[9, 8], [1, 2], [3, 4], [5, 6]])
    assert vectors.get_vecs_by_tokens("b").asnumpy().tolist() == [3, 4]
    assert vectors.get_vecs_by_tokens(["A", "c"]).asnumpy().tolist() == [[9, 8], [5, 6]]
    assert vectors.get_vecs_by_tokens(["A"], lower_case_backup=True).asnumpy().tolist() == [[1, 2]]
    vectors.update_token_vectors(["a", "c"], nd.array([[0, 1], [2, 3]]))
    vectors.update_token_vectors("b", nd.array([7, 7]))
    np.testing.assert_array_equal(vectors.idx_to_vec.asnumpy(), [[9, 8], [0, 1], [7, 7], [2, 3]])
    with pytest.raises(ParameterError, match=r"\['z'\] have no vectors"):
        vectors.update_token_vectors("z", nd.array([7, 7]))
    with pytest.raises(ParameterError, match=r"of shape \(1, 2\), got \(3,\)"):
        vectors.update_token_vectors("a", nd.array([7, 7, 7]))


def test_vectors_are_kept_for_a_vocabulary_and_joined(file, tmp_path):
    words = text.vocab.Vocabulary(Counter(["c", "x"]))
    vectors = text.embedding.CustomEmbedding(file, vocabulary=words)
    assert vectors.idx_to_token == ["<unk>", "c", "x"]
    np.testing.assert_array_equal(vectors.idx_to_vec.asnumpy(), [[9, 8], [5, 6], [9, 8]])
    other = tmp_path / "other.txt"
    other.write_text("x,1,1,1\n")
    more = text.embedding.CustomEmbedding(other, ",", init_unknown_vec=nd.ones)
    both = text.embedding.CompositeEmbedding(words, [vectors, more])
    assert both.vec_len == 5 and both.to_indices("x") == 2
    np.testing.assert_array_equal(both.idx_to_vec.asnumpy()[1], [5, 6, 1, 1, 1])
    with pytest.raises(ParameterError, match="must be embeddings"):
        text.embedding.CompositeEmbedding(words, [words])


def test_files_of_vectors_of_other_forms(tmp_path):
    path = tmp_path / "bad.txt"
    for content, message in (
        ("a 1 2\nb 3\nc 4 5 6\n", "line 3: all vectors must have 2 numbers, got 3"),
        ("a\n", "line 1: needs a token and its vector"),
        ("a x y\n", "line 1: could not convert"),
        ("", "holds no vectors"),
    ):
        path.write_text(content)
        with pytest.warns(UserWarning) if "b 3" in content else _nothing():  # noqa: SIM117
            with pytest.raises(FormatError, match=message):
                text.embedding.CustomEmbedding(path)
    path.write_text("2 2\na 1 2\na 3 4\n")
    with pytest.warns(UserWarning, match="is there again|seems to be a header"):
        assert len(text.embedding.CustomEmbedding(path)) == 2
    with pytest.raises(ParameterError, match="there is no file"):
        text.embedding.CustomEmbedding(tmp_path / "none")


class _nothing:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass


def test_known_files_are_found_in_their_folder(tmp_path):
    with pytest.raises(MXNetError, match="must be there, as nothing is downloaded"):
        text.embedding.create("glove", embedding_root=tmp_path)
    (tmp_path / "glove").mkdir()
    (tmp_path / "glove" / "glove.6B.50d.txt").write_text("a 1 2\n")
    made = text.embedding.create(
        "glove", pretrained_file_name="glove.6B.50d.txt", embedding_root=tmp_path
    )
    assert made.get_vecs_by_tokens("a").asnumpy().tolist() == [1, 2]
    with pytest.raises(KeyError, match="must be one of wiki.simple.vec"):
        text.embedding.FastText("x")
    assert "glove.840B.300d.txt" in text.embedding.get_pretrained_file_names("glove")
    assert set(text.embedding.get_pretrained_file_names()) >= {"glove", "fasttext"}
    with pytest.raises(KeyError, match="no embedding 'x'"):
        text.embedding.get_pretrained_file_names("x")


def test_metrics_are_written_for_tensorboard(tmp_path):
    callback = tensorboard.LogMetricsCallback(tmp_path, prefix="train")
    metric = mx.metric.create("acc")
    metric.update([nd.array([0, 1])], [nd.array([[1, 0], [1, 0]])])
    callback(mx.model.BatchEndParam(3, 0, metric, None))
    callback(mx.model.BatchEndParam(4, 0, None, None))
    callback.summary_writer.close()
    (file,) = tmp_path.iterdir()
    points = [
        (event.step, value.tag, value.simple_value)
        for event in summary_iterator(file)
        if event.summary is not None
        for value in event.summary.value
    ]
    assert points == [(3, "train-accuracy", 0.5)]
