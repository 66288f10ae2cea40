"""What all operators stand on: the registry, calls, gradients, alternatives, shared rules."""
