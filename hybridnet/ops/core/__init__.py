"""What all operators stand on: the registry and its rows, calls, gradients, alternatives, shared rules."""
