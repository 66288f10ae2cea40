"""The works that ``benchmarks/eager.py`` times: a module each, with all its contestants.

(`once` has those of ``benchmarks/cold.py``.)

A module imports a framework only where it makes that framework's contestant, so that each also
loads in an interpreter which has one framework and NumPy.
"""
