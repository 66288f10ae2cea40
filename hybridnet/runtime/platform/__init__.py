"""The base of the runtime: JAX's devices by context, and work in the background."""
