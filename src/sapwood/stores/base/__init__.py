"""The base of every store: one facade, in two twins.

A call becomes a unit of work: a function of a `Unit`, which a runner carries out as a whole. The
facade checks arguments; only the runners know connections, threads, loops and commits.
"""
