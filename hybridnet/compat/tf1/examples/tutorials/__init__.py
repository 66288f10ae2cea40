"""The tutorials, by what they are about."""
