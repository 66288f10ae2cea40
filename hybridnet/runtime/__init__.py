"""What runs: devices, values, segments, the program cache, and launches.

An eager operator becomes an instruction of its thread's segment (`recorder`); a segment becomes a
program (`programs`); a program is dispatched at once, or by the engine when one of its inputs is
still being made by a host task (`launch`). A trace is a segment that is kept (`segment`).
"""
