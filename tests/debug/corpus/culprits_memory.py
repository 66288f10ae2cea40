"""Lines that make an array for which there is no room."""

from __future__ import annotations

from culprits import Culprit

MEMORY = [
    Culprit(
        "zeros",
        "$y = $x + F.mean(F.sort(F.zeros(({{2 ** 20 || 2}}, {{2 ** 20 || 3}})))"
        ").reshape((1, 1)).broadcast_like($x)  # !",
        "$y = $x + np.mean(np.sort(np.zeros(({{2 ** 20 || 2}}, {{2 ** 20 || 3}}))))  # !",
        "$y = $x + torch.mean(torch.zeros({{2 ** 20 || 2}}, {{2 ** 20 || 3}}) + 1)  # !",
    ),
    Culprit(
        "one_hot",
        """
$z = F.one_hot(F.round($x * 3), {{2 ** 38 || 8}})  # !
$y = F.broadcast_add($x, F.mean(F.sort($z)).reshape((1, 1)))
""",
        None,
        """
$z = torch.nn.functional.one_hot(torch.round($x * 3).long(), {{2 ** 38 || 8}})  # !
$y = $x + $z.float().mean()
""",
    ),
    Culprit(
        "tile",
        """
$z = F.tile($x, reps=({{2 ** 19 || 2}}, {{2 ** 19 || 2}}))  # !
$y = F.broadcast_add($x, F.max(F.sort($z)).reshape((1, 1)))
""",
        """
$z = np.tile($x, ({{2 ** 19 || 2}}, {{2 ** 19 || 2}}))  # !
$y = $x + np.max(np.sort($z))
""",
        """
$z = torch.tile($x, ({{2 ** 19 || 2}}, {{2 ** 19 || 2}}))  # !
$y = $x + torch.max($z)
""",
    ),
    Culprit(
        "an outer product",
        """
$z = F.arange({{2 ** 18 || 4}})
$z = F.dot(F.reshape($z, shape=(-1, 1)), F.reshape($z, shape=(1, -1)))  # !
$y = F.broadcast_add($x, F.max(F.sort($z)).reshape((1, 1)))
""",
        """
$z = np.arange({{2 ** 18 || 4}})
$z = np.outer($z, $z)  # !
$y = $x + np.max(np.sort($z))
""",
        """
$z = torch.arange({{2 ** 18 || 4}})
$z = torch.outer($z, $z)  # !
$y = $x + torch.max($z)
""",
    ),
    Culprit(
        "a convolution's padding",
        """
$z = F.reshape($x, shape=(1, 1, $R, $C))
kernel, pad = F.ones((1, 1, 1, 1)), ({{2 ** 18 || 1}}, {{2 ** 18 || 1}})
$z = F.Convolution($z, kernel, kernel=(1, 1), num_filter=1, no_bias=True, pad=pad)  # !
$y = F.broadcast_add($x, F.max(F.sort($z)).reshape((1, 1)))
""",
        None,
        """
$z = torch.reshape($x, (1, 1, $R, $C))
pad = {{2 ** 18 || 1}}
$z = torch.nn.functional.conv2d($z, torch.ones(1, 1, 1, 1), padding=(pad, pad))  # !
$y = $x + torch.max($z)
""",
    ),
    Culprit(
        "an image made larger",
        """
$z = F.reshape($x, shape=(1, 1, $R, $C))
$z = F.UpSampling($z, scale={{2 ** 17 || 2}}, sample_type="nearest")  # !
$y = F.broadcast_add($x, F.max(F.sort($z)).reshape((1, 1)))
""",
        None,
        """
$z = torch.reshape($x, (1, 1, $R, $C))
$z = torch.nn.functional.interpolate($z, scale_factor={{2 ** 17 || 2}}, mode="nearest")  # !
$y = $x + torch.max($z)
""",
    ),
    Culprit(
        "twice as long in each turn",
        """
$z = $x
for _ in range({{40 || 2}}):
    $z = F.concat($z, $z, dim=0)  # !
$y = F.broadcast_add($x, F.max(F.sort($z)).reshape((1, 1)))
""",
        """
$z = $x
for _ in range({{40 || 2}}):
    $z = np.concatenate([$z, $z], axis=0)  # !
$y = $x + np.max(np.sort($z))
""",
        """
$z = $x
for _ in range({{40 || 2}}):
    $z = torch.cat([$z, $z], dim=0)  # !
$y = $x + torch.max($z)
""",
    ),
    Culprit(
        "the unit matrix",
        """
$z = F.eye({{2 ** 18 || 3}})  # !
$y = F.broadcast_add($x, F.max(F.sort($z)).reshape((1, 1)))
""",
        """
$z = np.eye({{2 ** 18 || 3}})  # !
$y = $x + np.max(np.sort($z))
""",
        """
$z = torch.eye({{2 ** 18 || 3}})  # !
$y = $x + torch.max($z)
""",
    ),
    Culprit(
        "repeated",
        """
$z = F.repeat($x, repeats={{2 ** 36 || 3}}, axis=1)  # !
$y = F.broadcast_add($x, F.max(F.sort($z)).reshape((1, 1)))
""",
        """
$z = np.repeat($x, {{2 ** 36 || 3}}, axis=1)  # !
$y = $x + np.max(np.sort($z))
""",
        """
$z = torch.repeat_interleave($x, {{2 ** 36 || 3}}, dim=1)  # !
$y = $x + torch.max($z)
""",
    ),
    Culprit(
        "all pairs of rows",
        """
$z = F.reshape(F.arange({{2 ** 18 || 4}}), shape=(-1, 1))
$z = F.broadcast_sub($z, F.transpose($z))  # !
$y = F.broadcast_add($x, F.max(F.sort($z)).reshape((1, 1)))
""",
        """
$z = np.arange({{2 ** 18 || 4}}).reshape(-1, 1)
$z = $z - np.transpose($z)  # !
$y = $x + np.max(np.sort($z))
""",
        """
$z = torch.arange({{2 ** 18 || 4}}).reshape(-1, 1)
$z = $z - torch.transpose($z, 0, 1)  # !
$y = $x + torch.max($z)
""",
    ),
    Culprit(
        "a border as wide as a screen is not",
        """
$z = F.reshape($x, shape=(1, 1, $R, $C))
wide = {{2 ** 18 || 1}}
$z = F.pad($z, mode="constant", constant_value=0.5, pad_width=(0, 0, 0, 0, wide, 2, wide, 2))  # !
$y = F.broadcast_add($x, F.max(F.sort($z)).reshape((1, 1)))
""",
        """
$z = np.pad($x, (({{2 ** 18 || 1}}, 2), ({{2 ** 18 || 1}}, 2)))  # !
$y = $x + np.max(np.sort($z))
""",
        """
$z = torch.nn.functional.pad($x, ({{2 ** 18 || 1}}, 2, {{2 ** 18 || 1}}, 2))  # !
$y = $x + torch.max($z)
""",
    ),
    Culprit(
        "spread over an axis",
        """
$z = F.broadcast_to(F.reshape($x, shape=(1, $R, $C)), shape=({{2 ** 34 || 3}}, $R, $C)) + 1  # !
$y = F.broadcast_add($x, F.max(F.sort($z)).reshape((1, 1)))
""",
        """
$z = np.broadcast_to($x, ({{2 ** 34 || 3}}, $R, $C)) + 1  # !
$y = $x + np.max(np.sort($z))
""",
        """
$z = $x.expand({{2 ** 34 || 3}}, $R, $C) + 1  # !
$y = $x + torch.max($z)
""",
    ),
    Culprit(
        "a layer of too many units",
        """
units = {{2 ** 36 || 2}}
$z = F.FullyConnected($x, F.ones((units, $C)), num_hidden=units, no_bias=True)  # !
$y = F.broadcast_add($x, F.max(F.sort($z)).reshape((1, 1)))
""",
        """
$z = np.dot($x, np.ones(($C, {{2 ** 36 || 2}})))  # !
$y = $x + np.max(np.sort($z))
""",
        """
$z = torch.matmul($x, torch.ones($C, {{2 ** 36 || 2}}))  # !
$y = $x + torch.max($z)
""",
    ),
]
