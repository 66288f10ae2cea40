"""The command ``hybridnet``."""
