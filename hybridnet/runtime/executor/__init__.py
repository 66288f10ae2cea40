"""Runs graphs that cannot be one program: on several devices, with Python code, or with loops
that have no maximum of turns.

Such a graph is cut into a *part* for each device (`hybridnet.passes`), and a part into programs.
`device_plan` says once what a device does in each run, `dataflow` keeps account of one run, and
`device_run` starts the programs, in an order of its own or in that of a user's `ready_queue`. The
parts exchange tensors through a `rendezvous`.
"""
