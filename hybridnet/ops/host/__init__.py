"""Host forms: operators computed on NumPy arrays, by the lowerings that they have.

What runs once runs here: NumPy takes a few microseconds for an operator that XLA takes tens of
milliseconds to compile.

    namespace     the array functions that lowerings are written with: JAX's, or NumPy's
    table         NumPy's, by the names that JAX has for them
    functions     what is in it: of arrays,
    control_flow  loops and branches,
    matrices      linear algebra,
    convolution   convolution,
    random_bits   and the bits that `jax.random` makes of a key
    traced        gradients: arrays whose derivation is noted
    derivatives   the derivatives of the functions,
    products      of products and factorizations,
    segments      of rows that belong together,
    rearranging   of what takes arrays apart and joins them,
    rows          of softmax and normalization, which are here, too,
    custom_rules  and of functions with a rule of their own
    straight_line the calls that a lowering makes, for what runs often
"""

from .functions import FUNCTIONS as FUNCTIONS
from .namespace import NoHostForm as NoHostForm
from .namespace import at as at
from .namespace import by_jax as by_jax
from .namespace import by_numpy as by_numpy
from .namespace import jnp as jnp
from .namespace import lax as lax
from .namespace import on_host as on_host
from .namespace import on_host_in as on_host_in
from .straight_line import straight_line as straight_line
from .table import HOST_DTYPES as HOST_DTYPES
