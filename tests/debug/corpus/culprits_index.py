"""Lines that take a position outside of an array."""

from __future__ import annotations

from culprits import Culprit

INDEX = [
    Culprit(
        "take: counted from 1",
        "$y = F.take($x, F.arange({{1 || 0}}, $R {{+ 1||}}))  # !",
        "$y = np.take($x, np.arange({{1 || 0}}, $R {{+ 1||}}), axis=0)  # !",
        "$y = $x[torch.arange({{1 || 0}}, $R {{+ 1||}})]  # !",
    ),
    Culprit(
        "pick: classes of another vocabulary",
        """
$z = F.argmax($x, axis=1) + {{$C || 0}}
$y = F.broadcast_mul($x, F.pick($x, $z, axis=1, keepdims=True))  # !
""",
        """
$z = np.argmax($x, axis=1).reshape($R, 1) + {{$C || 0}}
$y = $x * np.take_along_axis($x, $z, axis=1)  # !
""",
        """
$z = torch.argmax($x, dim=1, keepdim=True) + {{$C || 0}}
$y = $x * torch.gather($x, 1, $z)  # !
""",
    ),
    Culprit(
        "Embedding: a length in the place of the last position",
        """
$z = F.sum($x < 2, axis=1) {{|| - 1}}
$z = F.Embedding($z, F.transpose($x), input_dim=$C, output_dim=$R)  # !
$y = F.dot($z, $x) / $R
""",
        """
$z = np.sum($x < 2, axis=1).astype("int32") {{|| - 1}}
$z = np.take(np.transpose($x), $z, axis=0)  # !
$y = np.dot($z, $x) / $R
""",
        """
$z = torch.sum($x < 2, dim=1) {{|| - 1}}
$z = torch.nn.functional.embedding($z, torch.transpose($x, 0, 1))  # !
$y = torch.matmul($z, $x) / $R
""",
    ),
    Culprit(
        "gather_nd",
        """
$z = F.expand_dims(F.arange(0, $R) {{+ 1||}}, axis=0)
$y = F.gather_nd($x, $z)  # !
""",
        """
$z = np.arange(0, $R) {{+ 1||}}
$y = $x[$z]  # !
""",
        """
$z = torch.arange(0, $R) {{+ 1||}}
$y = torch.index_select($x, 0, $z)  # !
""",
    ),
    Culprit(
        "gather_nd of two axes",
        """
$z = F.stack(F.arange(0, $R), F.arange(0, $R) * 0 + {{$C || $C - 1}}, axis=0)
$y = F.broadcast_mul($x, F.gather_nd($x, $z).reshape(($R, 1)))  # !
""",
        """
$z = np.arange(0, $R)
$y = $x * $x[$z, $z * 0 + {{$C || $C - 1}}].reshape($R, 1)  # !
""",
        """
$z = torch.arange(0, $R)
$y = $x * $x[$z, $z * 0 + {{$C || $C - 1}}].reshape($R, 1)  # !
""",
    ),
    Culprit(
        "scatter_nd",
        """
$z = F.expand_dims(F.arange(0, $R) {{+ 2||}}, axis=0)
$y = F.scatter_nd($x, $z, shape=($R, $C))  # !
""",
        None,
        """
$z = torch.arange(0, $R) {{+ 2||}}
$y = torch.zeros_like($x).index_add(0, $z, $x)  # !
""",
    ),
    Culprit(
        "batch_take",
        """
$z = F.argmin($x, axis=1) + {{$C || 0}}
$y = F.broadcast_mul($x, F.batch_take($x, $z).reshape(($R, 1)))  # !
""",
        None,
        None,
    ),
    Culprit(
        "take along the second axis, one too early",
        "$y = F.take($x, F.arange({{-1 || 0}}, $C {{- 1||}}), axis=1)  # !",
        "$y = np.take($x, np.arange({{1 || 0}}, $C {{+ 1||}}), axis=1)  # !",
        "$y = torch.index_select($x, 1, torch.arange({{-1 || 0}}, $C {{- 1||}}))  # !",
    ),
    Culprit(
        "order of another array",
        """
$z = F.argsort({{F.concat($x, $x, dim=1) || $x}}, axis=1)
$z = F.slice_axis($z, axis=0, begin=0, end=1).reshape((-1,))
$y = F.slice_axis(F.take($x, $z, axis=1), axis=1, begin=0, end=$C)  # !
""",
        """
$z = np.argsort(np.concatenate([$x[0], {{$x[1] || $x[1][:0]}}]))
$y = np.take($x, $z, axis=1)[:, :$C]  # !
""",
        """
$z = torch.argsort(torch.cat([$x[0], {{$x[1] || $x[1][:0]}}]))
$y = $x[:, $z][:, :$C]  # !
""",
    ),
    Culprit(
        "the last of sequences: lengths too large",
        """
$z = F.sum($x < 2, axis=0) {{+ 1||}}
$z = F.SequenceLast(F.expand_dims($x, 2), $z, use_sequence_length=True)  # !
$y = F.broadcast_mul($x, $z.reshape((1, $C)))
""",
    ),
    Culprit(
        "a loss's labels",
        """
$z = F.argmax($x, axis=1) {{- $C ||}}
$z = F.softmax_cross_entropy($x, $z)  # !
$y = F.broadcast_mul($x, $z.reshape((1, 1)))
""",
        None,
        """
$z = torch.argmax($x, dim=1) {{- $C ||}}
$z = torch.nn.functional.cross_entropy($x, $z)  # !
$y = $x * $z
""",
    ),
    Culprit(
        "index_copy",
        """
$z = F.arange(0, 2) + {{$R - 1 || 0}}
$y = F.contrib.index_copy($x, $z, F.slice_axis($x, axis=0, begin=0, end=2))  # !
""",
        None,
        """
$z = torch.arange(0, 2) + {{$R - 1 || 0}}
$y = $x.index_copy(0, $z, $x[:2])  # !
""",
    ),
    Culprit(
        "one row for all, far outside",
        """
$z = F.sum($x) * 0 + {{10 * $R || $R - 1}}
$y = F.broadcast_add($x, F.take($x, $z.reshape((1,)), mode="{{raise || clip}}"))  # !
""",
        """
$z = (np.sum($x) * 0).astype("int32") + {{10 * $R || $R - 1}}
$y = $x + $x[$z]  # !
""",
        """
$z = (torch.sum($x) * 0).long() + {{10 * $R || $R - 1}}
$y = $x + $x[$z]  # !
""",
    ),
]
