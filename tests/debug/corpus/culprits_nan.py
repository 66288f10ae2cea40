"""Lines whose result, or whose gradient, is NaN or infinite."""

from __future__ import annotations

from culprits import Culprit

FORWARD = [
    Culprit(
        "log of a negative number",
        "$y = F.log($x - {{1.5 || -0.5}})  # !",
        "$y = np.log($x - {{1.5 || -0.5}})  # !",
        "$y = torch.log($x - {{1.5 || -0.5}})  # !",
    ),
    Culprit(
        "root of a negative number",
        "$y = F.sqrt({{-$x || $x}})  # !",
        "$y = np.sqrt({{-$x || $x}})  # !",
        "$y = torch.sqrt({{-$x || $x}})  # !",
    ),
    Culprit(
        "rows divided by their sum, which is 0",
        """
$z = F.relu($x - {{1 || -1}})
$y = F.broadcast_div($z, F.sum($z, axis=1, keepdims=True))  # !
""",
        """
$z = np.maximum($x - {{1 || -1}}, 0)
$y = $z / np.sum($z, axis=1, keepdims=True)  # !
""",
        """
$z = torch.relu($x - {{1 || -1}})
$y = $z / torch.sum($z, dim=1, keepdim=True)  # !
""",
    ),
    Culprit(
        "a softmax by hand overflows",
        "$y = F.broadcast_div(F.exp($x * {{1e4 || 2}}), F.sum(F.exp($x * {{1e4 || 2}})))  # !",
        "$y = np.exp($x * {{1e4 || 2}}) / np.sum(np.exp($x * {{1e4 || 2}}))  # !",
        "$y = torch.exp($x * {{1e4 || 2}}) / torch.sum(torch.exp($x * {{1e4 || 2}}))  # !",
    ),
    Culprit(
        "arcsin beyond 1",
        "$y = F.arcsin($x {{+ 1.5 || * 0.5}})  # !",
        "$y = np.arcsin($x {{+ 1.5 || * 0.5}})  # !",
        "$y = torch.arcsin($x {{+ 1.5 || * 0.5}})  # !",
    ),
    Culprit(
        "a fractional power of a negative number",
        "$y = ($x - 1.5) ** {{0.5 || 2}}  # !",
        "$y = ($x - 1.5) ** {{0.5 || 2}}  # !",
        "$y = ($x - 1.5) ** {{0.5 || 2}}  # !",
    ),
    Culprit(
        "an entropy with 0 times the log of 0",
        """
$z = F.floor($x * 0.5)
$y = $x - $z * F.log($z {{|| + 1}})  # !
""",
        """
$z = np.floor($x * 0.5)
$y = $x - $z * np.log($z {{|| + 1}})  # !
""",
        """
$z = torch.floor($x * 0.5)
$y = $x - $z * torch.log($z {{|| + 1}})  # !
""",
    ),
    Culprit(
        "float16 overflows",
        """
$z = F.cast($x * {{3e4 || 3}} + {{1e3 || 1}}, dtype="float16")
$y = F.broadcast_div(F.square($z), F.sum(F.square($z)))  # !
$y = F.cast($y, dtype="float32")
""",
        """
$z = ($x * {{3e4 || 3}} + {{1e3 || 1}}).astype("float16")
$y = np.square($z) / np.sum(np.square($z))  # !
$y = $y.astype("float32")
""",
        """
$z = ($x * {{3e4 || 3}} + {{1e3 || 1}}).half()
$y = torch.square($z) / torch.sum(torch.square($z))  # !
$y = $y.float()
""",
    ),
    Culprit(
        "a softmax of which all is masked",
        "$y = F.softmax($x {{* 0 + float('-inf') || * 2}}, axis=-1)  # !",
        "$y = np.exp($x * 0 {{+ float('inf') || + 1}}) / 2  # !",
        "$y = torch.softmax($x {{* 0 + float('-inf') || * 2}}, dim=-1)  # !",
    ),
    Culprit(
        "rows that do not vary divided by their deviation",
        """
$z = $x - {{$x || 1.5}}
$y = $z * F.rsqrt($z * $z)  # !
""",
        """
$z = $x - {{$x || 1.5}}
$y = $z / np.sqrt($z * $z)  # !
""",
        """
$z = $x - {{$x || 1.5}}
$y = $z * torch.rsqrt($z * $z)  # !
""",
    ),
    Culprit(
        "the mean of a selection that is empty",
        """
$z = $x > {{2 || 0}}
$y = F.broadcast_add($x, F.broadcast_div(F.sum($x * $z), F.sum($z)).reshape((1, 1)))  # !
""",
        """
$z = ($x > {{2 || 0}}).astype("float32")
$y = $x + np.sum($x * $z) / np.sum($z)  # !
""",
        """
$z = ($x > {{2 || 0}}).float()
$y = $x + torch.sum($x * $z) / torch.sum($z)  # !
""",
    ),
    Culprit(
        "arctanh beyond 1",
        "$y = F.arctanh($x {{* 0.5 + 1 || * 0.5}})  # !",
        "$y = np.arctanh($x {{* 0.5 + 1 || * 0.5}})  # !",
        "$y = torch.arctanh($x {{* 0.5 + 1 || * 0.5}})  # !",
    ),
    Culprit(
        "log1p below -1",
        "$y = F.log1p({{-2 - || }}$x)  # !",
        "$y = np.log1p({{-2 - || }}$x)  # !",
        "$y = torch.log1p({{-2 - || }}$x)  # !",
    ),
    Culprit(
        "a reciprocal of what was rounded to 0",
        """
$z = F.round($x * 0.1) {{|| + 2}}
$y = $x + $z * F.reciprocal($z)  # !
""",
        """
$z = np.floor($x * 0.1) {{|| + 2}}
$y = $x + $z * np.reciprocal($z)  # !
""",
        """
$z = torch.floor($x * 0.1) {{|| + 2}}
$y = $x + $z * torch.reciprocal($z)  # !
""",
    ),
    Culprit(
        "infinity minus infinity",
        """
$z = ($x + 1) * {{1e38 || 1}}
$y = $z * {{1e3 || 2}} - F.square($z)  # !
""",
        """
$z = ($x + 1) * {{1e38 || 1}}
$y = $z * {{1e3 || 2}} - np.square($z)  # !
""",
        """
$z = ($x + 1) * {{1e38 || 1}}
$y = $z * {{1e3 || 2}} - torch.square($z)  # !
""",
    ),
    Culprit(
        "tanh by hand overflows",
        "$y = F.sinh({{1e3 || 1}} + $x) / F.cosh({{1e3 || 1}} + $x)  # !",
        "$y = np.sinh({{1e3 || 1}} + $x) / np.cosh({{1e3 || 1}} + $x)  # !",
        "$y = torch.sinh({{1e3 || 1}} + $x) / torch.cosh({{1e3 || 1}} + $x)  # !",
    ),
    Culprit(
        "gamma at 0",
        """
$z = F.floor($x) {{|| + 1}}
$y = $z * F.gamma($z)  # !
""",
        None,
        """
$z = torch.floor($x) {{|| + 1}}
$y = $z * torch.exp(torch.lgamma($z))  # !
""",
    ),
    Culprit(
        "arccosh below 1",
        "$y = F.arccosh($x {{* 0.5 || + 1.5}})  # !",
        "$y = np.arccosh($x {{* 0.5 || + 1.5}})  # !",
        "$y = torch.arccosh($x {{* 0.5 || + 1.5}})  # !",
    ),
]

#: The result is finite, its gradient is not.
BACKWARD = [
    Culprit(
        "the root's gradient at 0",
        "$y = $x + F.sqrt($x * {{0 || 2}})  # !",
        "$y = $x + np.sqrt($x * {{0 || 2}})  # !",
        "$y = $x + torch.sqrt($x * {{0 || 2}})  # !",
        backward=True,
    ),
    Culprit(
        "where: the other branch's gradient",
        "$y = F.where($x < 2, $x, F.sqrt($x {{- 2 || + 2}}))  # !",
        "$y = np.where($x < 2, $x, np.sqrt($x {{- 2 || + 2}}))  # !",
        "$y = torch.where($x < 2, $x, torch.sqrt($x {{- 2 || + 2}}))  # !",
        backward=True,
    ),
    Culprit(
        "a fractional power's gradient at 0",
        """
$z = $x - {{$x || 1}}
$y = $x + ($z * $z) ** 0.25  # !
""",
        """
$z = $x - {{$x || 2}}
$y = $x + ($z * $z) ** 0.25  # !
""",
        """
$z = $x - {{$x || 2}}
$y = $x + ($z * $z) ** 0.25  # !
""",
        backward=True,
    ),
    Culprit(
        "arccos's gradient at 1",
        "$y = $x + F.arccos($x {{/ $x || * 0.5}})  # !",
        "$y = $x + np.arccos($x {{/ $x || * 0.5}})  # !",
        "$y = $x + torch.arccos($x {{/ $x || * 0.5}})  # !",
        backward=True,
    ),
    Culprit(
        "the deviation of what does not vary",
        """
$z = $x - {{$x || F.mean($x, axis=1, keepdims=True).broadcast_like($x)}}
$y = $x + F.sqrt(F.mean($z * $z, axis=1, keepdims=True)).broadcast_like($x)  # !
""",
        """
$z = $x - {{$x || np.mean($x, axis=1, keepdims=True)}}
$y = $x + np.sqrt(np.mean($z * $z, axis=1, keepdims=True))  # !
""",
        """
$z = $x - {{$x || torch.mean($x, dim=1, keepdim=True)}}
$y = $x + torch.sqrt(torch.mean($z * $z, dim=1, keepdim=True))  # !
""",
        backward=True,
    ),
    Culprit(
        "the cube root's gradient at 0",
        "$y = $x + F.cbrt($x {{- $x || + 1}})  # !",
        "$y = $x + np.cbrt($x {{- $x || + 1}})  # !",
        None,
        backward=True,
    ),
]
