"""hybridnet."""
