"""What `contrib.tensorboard` writes: against TensorBoard's bytes and reader, and NumPy's bins."""

from __future__ import annotations

import io
import wave

import numpy as np
import pytest

from hybridnet import gluon, nd, sym
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.contrib.tensorboard import SummaryWriter
from hybridnet.events import Audio, Summary, Value, summary_iterator
from hybridnet.events.wire import fields

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


# Histograms --------------------------------------------------------------------------------------


def histogram(written, *given, **named):
    ((_, value),) = written(lambda writer: writer.add_histogram("h", *given, **named))
    return value.histo


def test_a_histogram_has_tensorflows_buckets_unless_others_are_asked_for(written):
    values = np.random.RandomState(0).randn(3, 50).astype("float32")
    values[0, :3] = 0, 1, -1
    found = histogram(written, nd.array(values), 3)
    assert (found.min, found.max, found.num) == (values.min(), values.max(), 150)
    wide = values.astype("float64")
    np.testing.assert_allclose([found.sum, found.sum_squares], [wide.sum(), (wide**2).sum()])
    # Each bucket has what is from where the one before ends to where it ends, by counting.
    starts = [-np.inf, *found.bucket_limit[:-1]]
    counts = [
        int(((wide >= start) & (wide < end)).sum())
        for start, end in zip(starts, found.bucket_limit, strict=True)
    ]
    assert found.bucket == counts and sum(counts) == 150
    # A bucket with values is a tenth wider than the one before it.
    ends = np.array(found.bucket_limit)[np.flatnonzero(found.bucket)]
    powers = np.log(np.abs(ends[ends != 0]) / 1e-12) / np.log(1.1)
    np.testing.assert_allclose(powers, np.rint(powers), atol=1e-6)


@pytest.mark.parametrize("bins", [5, [-2, 0, 0.5, 3], "auto", np.array([0.0, 1.0])])
def test_a_histogram_counts_in_numpys_bins(written, bins):
    values = np.random.RandomState(1).randn(40)
    found = histogram(written, values, bins=bins)
    counts, edges = np.histogram(values, bins)
    assert (found.bucket, found.bucket_limit) == (counts.tolist(), edges[1:].tolist())
    assert found.num == 40


@pytest.mark.parametrize("bins", ["default", 4])
def test_a_histogram_leaves_out_what_is_not_finite(written, bins):
    found = histogram(written, np.array([1.0, np.nan, np.inf, -np.inf, 2.0]), bins=bins)
    assert (found.min, found.max, found.num, found.sum, sum(found.bucket)) == (1, 2, 2, 3, 2)


def test_a_histogram_of_nothing_has_an_empty_bucket(written):
    assert histogram(written, np.zeros((0, 3))).bucket == [0]


# Images ------------------------------------------------------------------------------------------


def image(written, given):
    """Returns the pixels that were written, red first."""
    cv2 = pytest.importorskip("cv2")
    ((step, value),) = written(lambda writer: writer.add_image("i", given, 5))
    shown = value.image
    pixels = cv2.imdecode(np.frombuffer(shown.encoded_image_string, np.uint8), -1)[..., ::-1]
    assert (step, value.tag, shown.colorspace) == (5, "i", 3)
    assert (shown.height, shown.width) == pixels.shape[:2]
    return pixels


def test_an_image_is_shown_in_three_channels(written):
    pixels = np.random.RandomState(0).randint(0, 256, (3, 4, 5)).astype("uint8")
    np.testing.assert_array_equal(
        image(written, nd.array(pixels, dtype="uint8")), pixels.transpose(1, 2, 0)
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(4, 5), (1, 4, 5), (1, 1, 4, 5)])
def test_floats_are_from_black_to_white(written, dtype, shape):
    values = np.linspace(0, 1, 20).astype(dtype)
    shown = image(written, values.reshape(shape))
    expected = [int(float(np.float32(one)) * 255) for one in values]
    for channel in range(3):
        assert shown[..., channel].reshape(-1).tolist() == expected


@pytest.mark.parametrize("count", [2, 8, 11])
def test_a_batch_is_rows_of_eight(written, count):
    batch = np.random.RandomState(0).randint(1, 256, (count, 3, 4, 5)).astype("uint8")
    shown = image(written, batch)
    rows, columns = (count + 7) // 8, min(count, 8)
    assert shown.shape == (rows * 6 + 2, columns * 7 + 2, 3)
    for number, one in enumerate(batch):
        top, left = number // 8 * 6 + 2, number % 8 * 7 + 2
        part = shown[top : top + 4, left : left + 5]
        np.testing.assert_array_equal(part, one.transpose(1, 2, 0))
        part[:] = 0
    assert not shown.any()  # all around is black


@pytest.mark.parametrize(
    ("given", "kind", "words"),
    [
        (np.zeros((2, 4, 5)), ShapeError, r"1 or 3 channels, got shape \(2, 4, 5\)"),
        (np.zeros(4), ShapeError, r"got shape \(4,\)"),
        (np.zeros((0, 3, 4, 5)), ShapeError, r"got shape \(0, 3, 4, 5\)"),
        (np.zeros((4, 5), int), DTypeError, "uint8 or floats, got int64"),
        (np.full((4, 5), -1.0), ParameterError, "from 0 to 1, got -1.0 to -1.0"),
        (np.full((4, 5), np.nan), ParameterError, "from 0 to 1, got nan to nan"),
    ],
)
def test_what_is_no_image_is_refused(written, given, kind, words):
    with pytest.raises(kind, match=f"add_image: .*{words}"):
        written(lambda writer: writer.add_image("i", given))


# Networks ----------------------------------------------------------------------------------------


def nodes(message):
    """Reads a GraphDef field by field: names -> operator, inputs and words."""
    read = {}
    for number, node in fields(message):
        assert number == 1
        parts = list(fields(node))
        name, op = (next(data for at, data in parts if at == part).decode() for part in (1, 2))
        words = [dict(fields(dict(fields(data))[2]))[2].decode() for at, data in parts if at == 5]
        read[name] = (op, [data.decode() for at, data in parts if at == 3], *words)
    return read


def drawn(tmp_path, net):
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(net)
    (path,) = tmp_path.iterdir()
    _, event = summary_iterator(path)
    return nodes(event.graph_def)


def test_an_operator_and_its_weights_are_one_group(tmp_path):
    x = sym.var("data")
    a, b = sym.split(sym.FullyConnected(x, num_hidden=4, name="fc"), num_outputs=2, name="cut")
    shared = sym.var("shared")
    found = drawn(tmp_path, sym.Group([sym.dot(b, shared, name="d"), sym.dot(a, shared, name="e")]))
    assert {name: rest[:2] for name, rest in found.items()} == {
        "data": ("null", []),
        "fc/fc_weight": ("null", []),
        "fc/fc_bias": ("null", []),
        "fc/fc": ("FullyConnected", ["data", "fc/fc_weight", "fc/fc_bias"]),
        "cut/cut": ("SliceChannel", ["fc/fc"]),
        "shared": ("null", []),
        "d/d": ("dot", ["cut/cut:1", "shared"]),
        "e/e": ("dot", ["cut/cut", "shared"]),
    }
    assert "num_hidden :  4 " in found["fc/fc"][2]


def test_a_block_is_drawn_with_as_many_inputs_as_it_was_called_with(tmp_path):
    class Sum(gluon.HybridBlock):
        def hybrid_forward(self, F, x, y):
            return F.relu(x + y)

    once, twice = gluon.nn.Dense(3, in_units=2), Sum()
    twice(nd.ones((2, 2)), nd.ones((2, 2)))
    assert {op for op, *_ in drawn(tmp_path / "a", once).values()} == {"null", "FullyConnected"}
    assert {"data0", "data1"} <= {name.rpartition("/")[2] for name in drawn(tmp_path / "b", twice)}
    with pytest.raises(ParameterError, match="add_graph: needs a Symbol or a HybridBlock"):
        drawn(tmp_path / "c", lambda x: x)


# TensorBoard's own reader ------------------------------------------------------------------------


def test_tensorboard_reads_what_is_written(tmp_path):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    pytest.importorskip("cv2")
    values = np.arange(12, dtype="float32").reshape(1, 3, 4) / 11
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("h", values, 3, bins=4)
        writer.add_image("i", values, 4)
        writer.add_graph(gluon.nn.Dense(3, in_units=2))
    found = reader.EventAccumulator(str(tmp_path)).Reload()
    (histo,) = found.Histograms("h")
    counts, edges = np.histogram(values, 4)
    assert (histo.step, histo.histogram_value.num) == (3, 12)
    assert histo.histogram_value.bucket == counts.tolist()
    np.testing.assert_allclose(histo.histogram_value.bucket_limit, edges[1:])
    (shown,) = found.Images("i")
    assert (shown.step, shown.height, shown.width) == (4, 3, 4)
    (layer,) = (one for one in found.Graph().node if one.op == "FullyConnected")
    assert len(layer.input) == 3
    assert b"num_hidden" in layer.attr["param"].s
