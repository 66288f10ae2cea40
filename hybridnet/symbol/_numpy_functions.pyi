# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from typing import Any

def abs(*args: Any, **kwargs: Any) -> Any:
    """`np.abs` on symbols."""

def absolute(*args: Any, **kwargs: Any) -> Any:
    """`np.absolute` on symbols."""

def add(*args: Any, **kwargs: Any) -> Any:
    """`np.add` on symbols."""

def all(*args: Any, **kwargs: Any) -> Any:
    """`np.all` on symbols."""

def allclose(*args: Any, **kwargs: Any) -> Any:
    """`np.allclose` on symbols."""

def alltrue(*args: Any, **kwargs: Any) -> Any:
    """`np.alltrue` on symbols."""

def amax(*args: Any, **kwargs: Any) -> Any:
    """`np.amax` on symbols."""

def amin(*args: Any, **kwargs: Any) -> Any:
    """`np.amin` on symbols."""

def any(*args: Any, **kwargs: Any) -> Any:
    """`np.any` on symbols."""

def append(*args: Any, **kwargs: Any) -> Any:
    """`np.append` on symbols."""

def apply_along_axis(*args: Any, **kwargs: Any) -> Any:
    """`np.apply_along_axis` on symbols."""

def apply_over_axes(*args: Any, **kwargs: Any) -> Any:
    """`np.apply_over_axes` on symbols."""

def arange(*args: Any, **kwargs: Any) -> Any:
    """`np.arange` on symbols."""

def arccos(*args: Any, **kwargs: Any) -> Any:
    """`np.arccos` on symbols."""

def arccosh(*args: Any, **kwargs: Any) -> Any:
    """`np.arccosh` on symbols."""

def arcsin(*args: Any, **kwargs: Any) -> Any:
    """`np.arcsin` on symbols."""

def arcsinh(*args: Any, **kwargs: Any) -> Any:
    """`np.arcsinh` on symbols."""

def arctan(*args: Any, **kwargs: Any) -> Any:
    """`np.arctan` on symbols."""

def arctan2(*args: Any, **kwargs: Any) -> Any:
    """`np.arctan2` on symbols."""

def arctanh(*args: Any, **kwargs: Any) -> Any:
    """`np.arctanh` on symbols."""

def argmax(*args: Any, **kwargs: Any) -> Any:
    """`np.argmax` on symbols."""

def argmin(*args: Any, **kwargs: Any) -> Any:
    """`np.argmin` on symbols."""

def argpartition(*args: Any, **kwargs: Any) -> Any:
    """`np.argpartition` on symbols."""

def argsort(*args: Any, **kwargs: Any) -> Any:
    """`np.argsort` on symbols."""

def argwhere(*args: Any, **kwargs: Any) -> Any:
    """`np.argwhere` on symbols."""

def around(*args: Any, **kwargs: Any) -> Any:
    """`np.around` on symbols."""

def array(*args: Any, **kwargs: Any) -> Any:
    """`np.array` on symbols."""

def array_equal(*args: Any, **kwargs: Any) -> Any:
    """`np.array_equal` on symbols."""

def array_equiv(*args: Any, **kwargs: Any) -> Any:
    """`np.array_equiv` on symbols."""

def array_split(*args: Any, **kwargs: Any) -> Any:
    """`np.array_split` on symbols."""

def atleast_1d(*args: Any, **kwargs: Any) -> Any:
    """`np.atleast_1d` on symbols."""

def atleast_2d(*args: Any, **kwargs: Any) -> Any:
    """`np.atleast_2d` on symbols."""

def atleast_3d(*args: Any, **kwargs: Any) -> Any:
    """`np.atleast_3d` on symbols."""

def average(*args: Any, **kwargs: Any) -> Any:
    """`np.average` on symbols."""

def bincount(*args: Any, **kwargs: Any) -> Any:
    """`np.bincount` on symbols."""

def bitwise_and(*args: Any, **kwargs: Any) -> Any:
    """`np.bitwise_and` on symbols."""

def bitwise_not(*args: Any, **kwargs: Any) -> Any:
    """`np.bitwise_not` on symbols."""

def bitwise_or(*args: Any, **kwargs: Any) -> Any:
    """`np.bitwise_or` on symbols."""

def bitwise_xor(*args: Any, **kwargs: Any) -> Any:
    """`np.bitwise_xor` on symbols."""

def blackman(*args: Any, **kwargs: Any) -> Any:
    """`np.blackman` on symbols."""

def broadcast_arrays(*args: Any, **kwargs: Any) -> Any:
    """`np.broadcast_arrays` on symbols."""

def broadcast_to(*args: Any, **kwargs: Any) -> Any:
    """`np.broadcast_to` on symbols."""

def cbrt(*args: Any, **kwargs: Any) -> Any:
    """`np.cbrt` on symbols."""

def ceil(*args: Any, **kwargs: Any) -> Any:
    """`np.ceil` on symbols."""

def choose(*args: Any, **kwargs: Any) -> Any:
    """`np.choose` on symbols."""

def clip(*args: Any, **kwargs: Any) -> Any:
    """`np.clip` on symbols."""

def column_stack(*args: Any, **kwargs: Any) -> Any:
    """`np.column_stack` on symbols."""

def compress(*args: Any, **kwargs: Any) -> Any:
    """`np.compress` on symbols."""

def concatenate(*args: Any, **kwargs: Any) -> Any:
    """`np.concatenate` on symbols."""

def copy(*args: Any, **kwargs: Any) -> Any:
    """`np.copy` on symbols."""

def copysign(*args: Any, **kwargs: Any) -> Any:
    """`np.copysign` on symbols."""

def corrcoef(*args: Any, **kwargs: Any) -> Any:
    """`np.corrcoef` on symbols."""

def correlate(*args: Any, **kwargs: Any) -> Any:
    """`np.correlate` on symbols."""

def cos(*args: Any, **kwargs: Any) -> Any:
    """`np.cos` on symbols."""

def cosh(*args: Any, **kwargs: Any) -> Any:
    """`np.cosh` on symbols."""

def count_nonzero(*args: Any, **kwargs: Any) -> Any:
    """`np.count_nonzero` on symbols."""

def cov(*args: Any, **kwargs: Any) -> Any:
    """`np.cov` on symbols."""

def cumsum(*args: Any, **kwargs: Any) -> Any:
    """`np.cumsum` on symbols."""

def deg2rad(*args: Any, **kwargs: Any) -> Any:
    """`np.deg2rad` on symbols."""

def degrees(*args: Any, **kwargs: Any) -> Any:
    """`np.degrees` on symbols."""

def delete(*args: Any, **kwargs: Any) -> Any:
    """`np.delete` on symbols."""

def diag(*args: Any, **kwargs: Any) -> Any:
    """`np.diag` on symbols."""

def diag_indices_from(*args: Any, **kwargs: Any) -> Any:
    """`np.diag_indices_from` on symbols."""

def diagflat(*args: Any, **kwargs: Any) -> Any:
    """`np.diagflat` on symbols."""

def diagonal(*args: Any, **kwargs: Any) -> Any:
    """`np.diagonal` on symbols."""

def diff(*args: Any, **kwargs: Any) -> Any:
    """`np.diff` on symbols."""

def digitize(*args: Any, **kwargs: Any) -> Any:
    """`np.digitize` on symbols."""

def divide(*args: Any, **kwargs: Any) -> Any:
    """`np.divide` on symbols."""

def divmod(*args: Any, **kwargs: Any) -> Any:
    """`np.divmod` on symbols."""

def dot(*args: Any, **kwargs: Any) -> Any:
    """`np.dot` on symbols."""

def dsplit(*args: Any, **kwargs: Any) -> Any:
    """`np.dsplit` on symbols."""

def dstack(*args: Any, **kwargs: Any) -> Any:
    """`np.dstack` on symbols."""

def ediff1d(*args: Any, **kwargs: Any) -> Any:
    """`np.ediff1d` on symbols."""

def einsum(*args: Any, **kwargs: Any) -> Any:
    """`np.einsum` on symbols."""

def empty(*args: Any, **kwargs: Any) -> Any:
    """`np.empty` on symbols."""

def empty_like(*args: Any, **kwargs: Any) -> Any:
    """`np.empty_like` on symbols."""

def equal(*args: Any, **kwargs: Any) -> Any:
    """`np.equal` on symbols."""

def exp(*args: Any, **kwargs: Any) -> Any:
    """`np.exp` on symbols."""

def expand_dims(*args: Any, **kwargs: Any) -> Any:
    """`np.expand_dims` on symbols."""

def expm1(*args: Any, **kwargs: Any) -> Any:
    """`np.expm1` on symbols."""

def extract(*args: Any, **kwargs: Any) -> Any:
    """`np.extract` on symbols."""

def eye(*args: Any, **kwargs: Any) -> Any:
    """`np.eye` on symbols."""

def fabs(*args: Any, **kwargs: Any) -> Any:
    """`np.fabs` on symbols."""

def fix(*args: Any, **kwargs: Any) -> Any:
    """`np.fix` on symbols."""

def flatnonzero(*args: Any, **kwargs: Any) -> Any:
    """`np.flatnonzero` on symbols."""

def flip(*args: Any, **kwargs: Any) -> Any:
    """`np.flip` on symbols."""

def fliplr(*args: Any, **kwargs: Any) -> Any:
    """`np.fliplr` on symbols."""

def flipud(*args: Any, **kwargs: Any) -> Any:
    """`np.flipud` on symbols."""

def float_power(*args: Any, **kwargs: Any) -> Any:
    """`np.float_power` on symbols."""

def floor(*args: Any, **kwargs: Any) -> Any:
    """`np.floor` on symbols."""

def frexp(*args: Any, **kwargs: Any) -> Any:
    """`np.frexp` on symbols."""

def full(*args: Any, **kwargs: Any) -> Any:
    """`np.full` on symbols."""

def full_like(*args: Any, **kwargs: Any) -> Any:
    """`np.full_like` on symbols."""

def genfromtxt(*args: Any, **kwargs: Any) -> Any:
    """`np.genfromtxt` on symbols."""

def greater(*args: Any, **kwargs: Any) -> Any:
    """`np.greater` on symbols."""

def greater_equal(*args: Any, **kwargs: Any) -> Any:
    """`np.greater_equal` on symbols."""

def hamming(*args: Any, **kwargs: Any) -> Any:
    """`np.hamming` on symbols."""

def hanning(*args: Any, **kwargs: Any) -> Any:
    """`np.hanning` on symbols."""

def heaviside(*args: Any, **kwargs: Any) -> Any:
    """`np.heaviside` on symbols."""

def histogram(*args: Any, **kwargs: Any) -> Any:
    """`np.histogram` on symbols."""

def histogram2d(*args: Any, **kwargs: Any) -> Any:
    """`np.histogram2d` on symbols."""

def histogram_bin_edges(*args: Any, **kwargs: Any) -> Any:
    """`np.histogram_bin_edges` on symbols."""

def histogramdd(*args: Any, **kwargs: Any) -> Any:
    """`np.histogramdd` on symbols."""

def hsplit(*args: Any, **kwargs: Any) -> Any:
    """`np.hsplit` on symbols."""

def hstack(*args: Any, **kwargs: Any) -> Any:
    """`np.hstack` on symbols."""

def hypot(*args: Any, **kwargs: Any) -> Any:
    """`np.hypot` on symbols."""

def i0(*args: Any, **kwargs: Any) -> Any:
    """`np.i0` on symbols."""

def identity(*args: Any, **kwargs: Any) -> Any:
    """`np.identity` on symbols."""

def in1d(*args: Any, **kwargs: Any) -> Any:
    """`np.in1d` on symbols."""

def indices(*args: Any, **kwargs: Any) -> Any:
    """`np.indices` on symbols."""

def inner(*args: Any, **kwargs: Any) -> Any:
    """`np.inner` on symbols."""

def insert(*args: Any, **kwargs: Any) -> Any:
    """`np.insert` on symbols."""

def interp(*args: Any, **kwargs: Any) -> Any:
    """`np.interp` on symbols."""

def intersect1d(*args: Any, **kwargs: Any) -> Any:
    """`np.intersect1d` on symbols."""

def invert(*args: Any, **kwargs: Any) -> Any:
    """`np.invert` on symbols."""

def isclose(*args: Any, **kwargs: Any) -> Any:
    """`np.isclose` on symbols."""

def isfinite(*args: Any, **kwargs: Any) -> Any:
    """`np.isfinite` on symbols."""

def isin(*args: Any, **kwargs: Any) -> Any:
    """`np.isin` on symbols."""

def isinf(*args: Any, **kwargs: Any) -> Any:
    """`np.isinf` on symbols."""

def isnan(*args: Any, **kwargs: Any) -> Any:
    """`np.isnan` on symbols."""

def isneginf(*args: Any, **kwargs: Any) -> Any:
    """`np.isneginf` on symbols."""

def isposinf(*args: Any, **kwargs: Any) -> Any:
    """`np.isposinf` on symbols."""

def ix_(*args: Any, **kwargs: Any) -> Any:
    """`np.ix_` on symbols."""

def lcm(*args: Any, **kwargs: Any) -> Any:
    """`np.lcm` on symbols."""

def ldexp(*args: Any, **kwargs: Any) -> Any:
    """`np.ldexp` on symbols."""

def less(*args: Any, **kwargs: Any) -> Any:
    """`np.less` on symbols."""

def less_equal(*args: Any, **kwargs: Any) -> Any:
    """`np.less_equal` on symbols."""

def lexsort(*args: Any, **kwargs: Any) -> Any:
    """`np.lexsort` on symbols."""

def linspace(*args: Any, **kwargs: Any) -> Any:
    """`np.linspace` on symbols."""

def log(*args: Any, **kwargs: Any) -> Any:
    """`np.log` on symbols."""

def log10(*args: Any, **kwargs: Any) -> Any:
    """`np.log10` on symbols."""

def log1p(*args: Any, **kwargs: Any) -> Any:
    """`np.log1p` on symbols."""

def log2(*args: Any, **kwargs: Any) -> Any:
    """`np.log2` on symbols."""

def logical_not(*args: Any, **kwargs: Any) -> Any:
    """`np.logical_not` on symbols."""

def logspace(*args: Any, **kwargs: Any) -> Any:
    """`np.logspace` on symbols."""

def matmul(*args: Any, **kwargs: Any) -> Any:
    """`np.matmul` on symbols."""

def max(*args: Any, **kwargs: Any) -> Any:
    """`np.max` on symbols."""

def maximum(*args: Any, **kwargs: Any) -> Any:
    """`np.maximum` on symbols."""

def may_share_memory(*args: Any, **kwargs: Any) -> Any:
    """`np.may_share_memory` on symbols."""

def mean(*args: Any, **kwargs: Any) -> Any:
    """`np.mean` on symbols."""

def meshgrid(*args: Any, **kwargs: Any) -> Any:
    """`np.meshgrid` on symbols."""

def min(*args: Any, **kwargs: Any) -> Any:
    """`np.min` on symbols."""

def min_scalar_type(*args: Any, **kwargs: Any) -> Any:
    """`np.min_scalar_type` on symbols."""

def minimum(*args: Any, **kwargs: Any) -> Any:
    """`np.minimum` on symbols."""

def mirr(*args: Any, **kwargs: Any) -> Any:
    """`np.mirr` on symbols."""

def mod(*args: Any, **kwargs: Any) -> Any:
    """`np.mod` on symbols."""

def modf(*args: Any, **kwargs: Any) -> Any:
    """`np.modf` on symbols."""

def moveaxis(*args: Any, **kwargs: Any) -> Any:
    """`np.moveaxis` on symbols."""

def msort(*args: Any, **kwargs: Any) -> Any:
    """`np.msort` on symbols."""

def multiply(*args: Any, **kwargs: Any) -> Any:
    """`np.multiply` on symbols."""

def nan_to_num(*args: Any, **kwargs: Any) -> Any:
    """`np.nan_to_num` on symbols."""

def nanargmax(*args: Any, **kwargs: Any) -> Any:
    """`np.nanargmax` on symbols."""

def nanargmin(*args: Any, **kwargs: Any) -> Any:
    """`np.nanargmin` on symbols."""

def nancumprod(*args: Any, **kwargs: Any) -> Any:
    """`np.nancumprod` on symbols."""

def nancumsum(*args: Any, **kwargs: Any) -> Any:
    """`np.nancumsum` on symbols."""

def nanmax(*args: Any, **kwargs: Any) -> Any:
    """`np.nanmax` on symbols."""

def nanmedian(*args: Any, **kwargs: Any) -> Any:
    """`np.nanmedian` on symbols."""

def nanmin(*args: Any, **kwargs: Any) -> Any:
    """`np.nanmin` on symbols."""

def nanpercentile(*args: Any, **kwargs: Any) -> Any:
    """`np.nanpercentile` on symbols."""

def nanprod(*args: Any, **kwargs: Any) -> Any:
    """`np.nanprod` on symbols."""

def nanquantile(*args: Any, **kwargs: Any) -> Any:
    """`np.nanquantile` on symbols."""

def ndim(*args: Any, **kwargs: Any) -> Any:
    """`np.ndim` on symbols."""

def negative(*args: Any, **kwargs: Any) -> Any:
    """`np.negative` on symbols."""

def nonzero(*args: Any, **kwargs: Any) -> Any:
    """`np.nonzero` on symbols."""

def not_equal(*args: Any, **kwargs: Any) -> Any:
    """`np.not_equal` on symbols."""

def npv(*args: Any, **kwargs: Any) -> Any:
    """`np.npv` on symbols."""

def ones(*args: Any, **kwargs: Any) -> Any:
    """`np.ones` on symbols."""

def ones_like(*args: Any, **kwargs: Any) -> Any:
    """`np.ones_like` on symbols."""

def outer(*args: Any, **kwargs: Any) -> Any:
    """`np.outer` on symbols."""

def packbits(*args: Any, **kwargs: Any) -> Any:
    """`np.packbits` on symbols."""

def pad(*args: Any, **kwargs: Any) -> Any:
    """`np.pad` on symbols."""

def partition(*args: Any, **kwargs: Any) -> Any:
    """`np.partition` on symbols."""

def percentile(*args: Any, **kwargs: Any) -> Any:
    """`np.percentile` on symbols."""

def piecewise(*args: Any, **kwargs: Any) -> Any:
    """`np.piecewise` on symbols."""

def poly(*args: Any, **kwargs: Any) -> Any:
    """`np.poly` on symbols."""

def polyadd(*args: Any, **kwargs: Any) -> Any:
    """`np.polyadd` on symbols."""

def polydiv(*args: Any, **kwargs: Any) -> Any:
    """`np.polydiv` on symbols."""

def polyfit(*args: Any, **kwargs: Any) -> Any:
    """`np.polyfit` on symbols."""

def polyint(*args: Any, **kwargs: Any) -> Any:
    """`np.polyint` on symbols."""

def polymul(*args: Any, **kwargs: Any) -> Any:
    """`np.polymul` on symbols."""

def polysub(*args: Any, **kwargs: Any) -> Any:
    """`np.polysub` on symbols."""

def polyval(*args: Any, **kwargs: Any) -> Any:
    """`np.polyval` on symbols."""

def positive(*args: Any, **kwargs: Any) -> Any:
    """`np.positive` on symbols."""

def power(*args: Any, **kwargs: Any) -> Any:
    """`np.power` on symbols."""

def ppmt(*args: Any, **kwargs: Any) -> Any:
    """`np.ppmt` on symbols."""

def prod(*args: Any, **kwargs: Any) -> Any:
    """`np.prod` on symbols."""

def product(*args: Any, **kwargs: Any) -> Any:
    """`np.product` on symbols."""

def promote_types(*args: Any, **kwargs: Any) -> Any:
    """`np.promote_types` on symbols."""

def ptp(*args: Any, **kwargs: Any) -> Any:
    """`np.ptp` on symbols."""

def pv(*args: Any, **kwargs: Any) -> Any:
    """`np.pv` on symbols."""

def quantile(*args: Any, **kwargs: Any) -> Any:
    """`np.quantile` on symbols."""

def rad2deg(*args: Any, **kwargs: Any) -> Any:
    """`np.rad2deg` on symbols."""

def radians(*args: Any, **kwargs: Any) -> Any:
    """`np.radians` on symbols."""

def rate(*args: Any, **kwargs: Any) -> Any:
    """`np.rate` on symbols."""

def ravel(*args: Any, **kwargs: Any) -> Any:
    """`np.ravel` on symbols."""

def real(*args: Any, **kwargs: Any) -> Any:
    """`np.real` on symbols."""

def reciprocal(*args: Any, **kwargs: Any) -> Any:
    """`np.reciprocal` on symbols."""

def remainder(*args: Any, **kwargs: Any) -> Any:
    """`np.remainder` on symbols."""

def repeat(*args: Any, **kwargs: Any) -> Any:
    """`np.repeat` on symbols."""

def reshape(*args: Any, **kwargs: Any) -> Any:
    """`np.reshape` on symbols."""

def resize(*args: Any, **kwargs: Any) -> Any:
    """`np.resize` on symbols."""

def result_type(*args: Any, **kwargs: Any) -> Any:
    """`np.result_type` on symbols."""

def rint(*args: Any, **kwargs: Any) -> Any:
    """`np.rint` on symbols."""

def roll(*args: Any, **kwargs: Any) -> Any:
    """`np.roll` on symbols."""

def rollaxis(*args: Any, **kwargs: Any) -> Any:
    """`np.rollaxis` on symbols."""

def roots(*args: Any, **kwargs: Any) -> Any:
    """`np.roots` on symbols."""

def rot90(*args: Any, **kwargs: Any) -> Any:
    """`np.rot90` on symbols."""

def round(*args: Any, **kwargs: Any) -> Any:
    """`np.round` on symbols."""

def round_(*args: Any, **kwargs: Any) -> Any:
    """`np.round_` on symbols."""

def row_stack(*args: Any, **kwargs: Any) -> Any:
    """`np.row_stack` on symbols."""

def searchsorted(*args: Any, **kwargs: Any) -> Any:
    """`np.searchsorted` on symbols."""

def select(*args: Any, **kwargs: Any) -> Any:
    """`np.select` on symbols."""

def set_printoptions(*args: Any, **kwargs: Any) -> Any:
    """`np.set_printoptions` on symbols."""

def setdiff1d(*args: Any, **kwargs: Any) -> Any:
    """`np.setdiff1d` on symbols."""

def setxor1d(*args: Any, **kwargs: Any) -> Any:
    """`np.setxor1d` on symbols."""

def shape(*args: Any, **kwargs: Any) -> Any:
    """`np.shape` on symbols."""

def shares_memory(*args: Any, **kwargs: Any) -> Any:
    """`np.shares_memory` on symbols."""

def sign(*args: Any, **kwargs: Any) -> Any:
    """`np.sign` on symbols."""

def signbit(*args: Any, **kwargs: Any) -> Any:
    """`np.signbit` on symbols."""

def sin(*args: Any, **kwargs: Any) -> Any:
    """`np.sin` on symbols."""

def sinh(*args: Any, **kwargs: Any) -> Any:
    """`np.sinh` on symbols."""

def size(*args: Any, **kwargs: Any) -> Any:
    """`np.size` on symbols."""

def sometrue(*args: Any, **kwargs: Any) -> Any:
    """`np.sometrue` on symbols."""

def sort(*args: Any, **kwargs: Any) -> Any:
    """`np.sort` on symbols."""

def spacing(*args: Any, **kwargs: Any) -> Any:
    """`np.spacing` on symbols."""

def split(*args: Any, **kwargs: Any) -> Any:
    """`np.split` on symbols."""

def sqrt(*args: Any, **kwargs: Any) -> Any:
    """`np.sqrt` on symbols."""

def square(*args: Any, **kwargs: Any) -> Any:
    """`np.square` on symbols."""

def squeeze(*args: Any, **kwargs: Any) -> Any:
    """`np.squeeze` on symbols."""

def stack(*args: Any, **kwargs: Any) -> Any:
    """`np.stack` on symbols."""

def std(*args: Any, **kwargs: Any) -> Any:
    """`np.std` on symbols."""

def subtract(*args: Any, **kwargs: Any) -> Any:
    """`np.subtract` on symbols."""

def sum(*args: Any, **kwargs: Any) -> Any:
    """`np.sum` on symbols."""

def swapaxes(*args: Any, **kwargs: Any) -> Any:
    """`np.swapaxes` on symbols."""

def take(*args: Any, **kwargs: Any) -> Any:
    """`np.take` on symbols."""

def take_along_axis(*args: Any, **kwargs: Any) -> Any:
    """`np.take_along_axis` on symbols."""

def tan(*args: Any, **kwargs: Any) -> Any:
    """`np.tan` on symbols."""

def tanh(*args: Any, **kwargs: Any) -> Any:
    """`np.tanh` on symbols."""

def tensordot(*args: Any, **kwargs: Any) -> Any:
    """`np.tensordot` on symbols."""

def tile(*args: Any, **kwargs: Any) -> Any:
    """`np.tile` on symbols."""

def trace(*args: Any, **kwargs: Any) -> Any:
    """`np.trace` on symbols."""

def transpose(*args: Any, **kwargs: Any) -> Any:
    """`np.transpose` on symbols."""

def trapz(*args: Any, **kwargs: Any) -> Any:
    """`np.trapz` on symbols."""

def tri(*args: Any, **kwargs: Any) -> Any:
    """`np.tri` on symbols."""

def tril(*args: Any, **kwargs: Any) -> Any:
    """`np.tril` on symbols."""

def tril_indices_from(*args: Any, **kwargs: Any) -> Any:
    """`np.tril_indices_from` on symbols."""

def trim_zeros(*args: Any, **kwargs: Any) -> Any:
    """`np.trim_zeros` on symbols."""

def triu(*args: Any, **kwargs: Any) -> Any:
    """`np.triu` on symbols."""

def triu_indices_from(*args: Any, **kwargs: Any) -> Any:
    """`np.triu_indices_from` on symbols."""

def true_divide(*args: Any, **kwargs: Any) -> Any:
    """`np.true_divide` on symbols."""

def trunc(*args: Any, **kwargs: Any) -> Any:
    """`np.trunc` on symbols."""

def union1d(*args: Any, **kwargs: Any) -> Any:
    """`np.union1d` on symbols."""

def unique(*args: Any, **kwargs: Any) -> Any:
    """`np.unique` on symbols."""

def unpackbits(*args: Any, **kwargs: Any) -> Any:
    """`np.unpackbits` on symbols."""

def unravel_index(*args: Any, **kwargs: Any) -> Any:
    """`np.unravel_index` on symbols."""

def unwrap(*args: Any, **kwargs: Any) -> Any:
    """`np.unwrap` on symbols."""

def vander(*args: Any, **kwargs: Any) -> Any:
    """`np.vander` on symbols."""

def var(*args: Any, **kwargs: Any) -> Any:
    """`np.var` on symbols."""

def vdot(*args: Any, **kwargs: Any) -> Any:
    """`np.vdot` on symbols."""

def vsplit(*args: Any, **kwargs: Any) -> Any:
    """`np.vsplit` on symbols."""

def vstack(*args: Any, **kwargs: Any) -> Any:
    """`np.vstack` on symbols."""

def where(*args: Any, **kwargs: Any) -> Any:
    """`np.where` on symbols."""

def zeros(*args: Any, **kwargs: Any) -> Any:
    """`np.zeros` on symbols."""

def zeros_like(*args: Any, **kwargs: Any) -> Any:
    """`np.zeros_like` on symbols."""
