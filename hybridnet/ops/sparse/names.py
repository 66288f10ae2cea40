"""The operators of `nd.sparse` and `sym.sparse`, by their names there."""

from typing import Final

_ZERO_AT_ZERO: Final = (
    "abs sign rint ceil floor trunc fix round negative square sqrt relu cbrt expm1 log1p sin tan "
    "arcsin arctan sinh tanh arcsinh arctanh degrees radians _copy BlockGrad make_loss"
)
#: Functions of each element that are 0 at 0.
KEEPS_ZERO: Final = tuple(_ZERO_AT_ZERO.split())

#: The operators by the names that they have in `nd` and `sym` too.
_SHARED: Final = (
    "ElementWiseSum Embedding FullyConnected LinearRegressionOutput LogisticRegressionOutput "
    "MAERegressionOutput abs adam_update add_n arccos arccosh arcsin arcsinh arctan arctanh "
    "broadcast_add broadcast_div broadcast_minus broadcast_mul broadcast_plus broadcast_sub "
    "cast_storage cbrt ceil clip concat cos cosh degrees dot elemwise_add elemwise_div "
    "elemwise_mul elemwise_sub exp expm1 fix floor ftrl_update gamma gammaln log log10 log1p log2 "
    "make_loss mean negative norm radians relu rint round rsqrt sgd_mom_update sgd_update sigmoid "
    "sign sin sinh slice sqrt square stop_gradient sum tan tanh trunc where zeros_like"
)
#: Name in the namespace -> the operator's.
SPARSE_OPERATORS: Final = {name: name for name in _SHARED.split()} | {
    "adagrad_update": "_sparse_adagrad_update",
    "retain": "_sparse_retain",
}
