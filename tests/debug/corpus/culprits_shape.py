"""Lines whose shapes, dtypes or contexts do not fit."""

from __future__ import annotations

from culprits import Culprit

SHAPE = [
    Culprit(
        "dot",
        "$y = F.dot($x, F.ones(({{$C + 1 || $C}}, $C))) / $C  # !",
        "$y = np.dot($x, np.ones(({{$C + 1 || $C}}, $C))) / $C  # !",
        "$y = torch.mm($x, torch.ones({{$C + 1 || $C}}, $C)) / $C  # !",
    ),
    Culprit(
        "concat",
        """
$z = F.concat($x, F.ones(({{$R + 2 || $R}}, $C)), dim=1)  # !
$y = F.slice_axis($z, axis=1, begin=0, end=$C)
""",
        """
$z = np.concatenate([$x, np.ones(({{$R + 2 || $R}}, $C))], axis=1)  # !
$y = $z[:, :$C]
""",
        """
$z = torch.cat([$x, torch.ones({{$R + 2 || $R}}, $C)], dim=1)  # !
$y = $z[:, :$C]
""",
    ),
    Culprit(
        "reshape",
        "$y = F.reshape($x * 2, shape=($R, {{$C + 1 || $C}}))  # !",
        "$y = np.reshape($x * 2, ($R, {{$C + 1 || $C}}))  # !",
        "$y = torch.reshape($x * 2, ($R, {{$C + 1 || $C}}))  # !",
    ),
    Culprit(
        "broadcast_add",
        "$y = F.broadcast_add($x, F.ones((1, {{$C - 1 || $C}})))  # !",
        "$y = np.add($x, np.ones((1, {{$C - 1 || $C}})))  # !",
        "$y = torch.add($x, torch.ones(1, {{$C - 1 || $C}}))  # !",
    ),
    Culprit(
        "plus",
        """
$z = F.ones({{($C, $R, 2) || ($R, $C)}})
$y = $x + $z  # !
""",
        """
$z = np.ones({{($C, $R, 2) || ($R, $C)}})
$y = $x + $z  # !
""",
        """
$z = torch.ones({{($C, $R, 2) || ($R, $C)}})
$y = $x + $z  # !
""",
    ),
    Culprit(
        "transpose",
        "$y = F.transpose($x, axes=({{0, 2, 1 || 0, 1}}))  # !",
        "$y = np.transpose($x, ({{0, 2, 1 || 0, 1}}))  # !",
        "$y = torch.permute($x, ({{0, 2, 1 || 0, 1}}))  # !",
    ),
    Culprit(
        "FullyConnected",
        "$y = F.FullyConnected("
        "$x, F.ones(($C, {{$C + 3 || $C}})), no_bias=True, num_hidden=$C) / $C  # !",
        None,
        "$y = torch.nn.functional.linear($x, torch.ones($C, {{$C + 3 || $C}})) / $C  # !",
    ),
    Culprit(
        "where",
        """
$z = F.zeros(({{$R + 1 || $R}}, $C))
$y = F.where($z, $x, $x * 2)  # !
""",
        """
$z = np.zeros(({{$R + 1 || $R}}, $C))
$y = np.where($z > 0, $x, $x * 2)  # !
""",
        """
$z = torch.zeros({{$R + 1 || $R}}, $C)
$y = torch.where($z > 0, $x, $x * 2)  # !
""",
    ),
    Culprit(
        "batch_dot of matrices",
        """
$z = {{$x || F.expand_dims($x, axis=0)}}
$y = F.reshape(F.batch_dot($z, $z, transpose_b=True), shape=($R, $R))  # !
$y = F.dot($y, $x) / ($C * $R)
""",
        """
$z = np.dot($x, {{$x || np.transpose($x)}})  # !
$y = np.dot($z, $x) / ($C * $R)
""",
        """
$z = {{$x || $x[None]}}
$y = torch.bmm($z, torch.transpose($z, {{0, 1 || 1, 2}}))[0]  # !
$y = torch.mm($y, $x) / ($C * $R)
""",
    ),
    Culprit(
        "a convolution over rows",
        """
$z = F.reshape($x, shape=({{1, $R, $C || 1, 1, $R, $C}}))
$z = F.Convolution($z, F.ones((1, 1, 1, 1)), kernel=(1, 1), num_filter=1, no_bias=True)  # !
$y = F.reshape($z, shape=($R, $C))
""",
        None,
        """
$z = torch.reshape($x, ({{$R, $C || 1, 1, $R, $C}}))
$z = torch.nn.functional.conv2d($z, torch.ones(1, 1, 1, 1))  # !
$y = torch.reshape($z, ($R, $C))
""",
    ),
    Culprit(
        "a sum over an axis that is not there",
        """
$z = F.sum($x, axis={{3 || 1}}, keepdims=True)  # !
$y = F.broadcast_div($x, $z)
""",
        """
$z = np.sum($x, axis={{3 || 1}}, keepdims=True)  # !
$y = $x / $z
""",
        """
$z = torch.sum($x, dim={{3 || 1}}, keepdim=True)  # !
$y = $x / $z
""",
    ),
    Culprit(
        "parts that do not come out even",
        """
$z = F.split(F.concat($x, $x{{, F.ones(($R, 1)) ||}}, dim=1), num_outputs=2, axis=1)  # !
$y = $z[0] + $z[1]
""",
        """
$z = np.split(np.concatenate([$x, $x{{, np.ones(($R, 1)) ||}}], axis=1), 2, axis=1)  # !
$y = $z[0] + $z[1]
""",
        None,
    ),
    Culprit(
        "stack",
        """
$z = F.stack($x, F.transpose($x){{||.transpose()}}, axis=0)  # !
$y = F.sum($z, axis=0) / 2
""",
        """
$z = np.stack([$x, np.transpose($x){{||.transpose()}}], axis=0)  # !
$y = np.sum($z, axis=0) / 2
""",
        """
$z = torch.stack([$x, torch.transpose($x, 0, 1){{||.T}}], dim=0)  # !
$y = torch.sum($z, dim=0) / 2
""",
    ),
    Culprit(
        "a dtype that there is not",
        """
$z = F.cast($x, dtype="{{float31 || float16}}")  # !
$y = F.cast($z, dtype="float32")
""",
        """
$z = $x.astype("{{float31 || float16}}")  # !
$y = $z.astype("float32")
""",
        """
$z = $x.to(torch.{{float31 || float16}})  # !
$y = $z.float()
""",
    ),
    Culprit(
        "a layer norm of another width",
        "$y = F.LayerNorm("
        "$x, F.ones(({{$C * 2 || $C}},)), F.zeros(({{$C * 2 || $C}},))) * 0.1  # !",
        None,
        "$y = torch.nn.functional.layer_norm($x, ({{$C * 2 || $C}},)) * 0.1  # !",
    ),
]
