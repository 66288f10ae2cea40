"""The ground of all operators: the registry, calls, gradients, alternatives, shared rules."""
