"""The labs, a package for each; names.py beside it has their order."""
