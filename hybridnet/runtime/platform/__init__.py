"""What everything here stands on: JAX's devices by context, and work in the background."""
