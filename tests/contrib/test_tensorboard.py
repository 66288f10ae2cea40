"""What `contrib.tensorboard` writes: against TensorBoard's bytes, and read by Python's wave."""

from __future__ import annotations

import io
import wave

import numpy as np
import pytest

from hybridnet import nd
from hybridnet.base.errors import ShapeError
from hybridnet.contrib.tensorboard import SummaryWriter
from hybridnet.events import Audio, Summary, Value, summary_iterator

#: What the protocol buffers of TensorBoard 2.21 write for the text a*b* under `note/text_summary`.
TEXT = bytes.fromhex(
    "0a2d0a116e6f74652f746578745f73756d6d617279420e08071204120208014204612a622a4a080a060a0474657874"
)


@pytest.fixture
def written(tmp_path):
    """Writes something, and returns the values that the file holds, by their steps."""

    def write(do):
        with SummaryWriter(tmp_path, max_queue=1, flush_secs=1, verbose=False) as writer:
            do(writer)
        (path,) = tmp_path.iterdir()
        _, *events = summary_iterator(path)
        return [(event.step, *event.summary.value) for event in events]

    return write


def test_numbers_and_texts_are_read_as_they_were_written(written):
    def do(writer):
        writer.add_scalar("loss", nd.array([0.25]), 3)
        writer.add_text("note", "größer *schön*", global_step=4)

    assert written(do) == [
        (3, Value("loss", 0.25)),
        (4, Value("note/text_summary", text="größer *schön*")),
    ]


def test_a_text_is_the_message_that_others_write():
    summary = Summary([Value("note/text_summary", text="a*b*")])
    assert summary.SerializeToString() == TEXT
    assert Summary.FromString(TEXT) == summary
    assert Summary.FromString(b"\x0a\x04\x42\x02\x08\x01").value == [Value()]  # a number's tensor


def test_a_sound_is_a_wave_file(written):
    samples = np.sin(np.arange(800) / 9).astype("float32")
    samples[:3] = 2, -2, np.nan

    ((step, value),) = written(lambda writer: writer.add_audio("a", nd.array([samples]), 8000, 7))
    audio = value.audio
    assert (step, value.tag, audio.content_type) == (7, "a", "audio/wav")
    assert audio == Audio(8000.0, 1, 800, audio.encoded_audio_string)
    with wave.open(io.BytesIO(audio.encoded_audio_string)) as file:
        assert file.getparams()[:4] == (1, 2, 8000, 800)
        read = np.frombuffer(file.readframes(800), "<i2") / 32767
    assert read[:3].tolist() == [1, -1, 0]
    np.testing.assert_allclose(read[3:], samples[3:], atol=0.5 / 32767 + 1e-7)


def test_a_sound_has_one_dimension(written):
    with pytest.raises(ShapeError, match=r"add_audio: .* one dimension, got shape \(2, 3\)"):
        written(lambda writer: writer.add_audio("a", np.zeros((2, 3))))


def test_a_sound_may_be_short_or_empty(written):
    def do(writer):
        writer.add_audio("one", 0.5)
        writer.add_audio("none", np.zeros(0))

    assert [value.audio.length_frames for _, value in written(do)] == [1, 0]
