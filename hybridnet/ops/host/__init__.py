"""Host forms: operators computed on NumPy arrays, by the lowerings that they have.

What runs once runs here: NumPy takes a few microseconds for an operator that XLA takes tens of
milliseconds to compile.

    namespace    the array functions that lowerings are written with: JAX's, or NumPy's
    functions    NumPy's, by the names that JAX has for them
    convolution  of NumPy arrays
    random_bits  the bits that `jax.random` makes of a key
    traced       gradients: arrays whose derivation is noted
    derivatives  and the derivatives of the functions
    rearranging  and of those that take arrays apart and join them
"""
