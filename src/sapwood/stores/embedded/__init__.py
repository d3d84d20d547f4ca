"""What the stores that live inside the process share: one facade, in two twins.

A call becomes a unit of work: a function of a `Unit`, which a runner carries out as a whole. The
units are written once, synchronously; only the runners know threads, loops and commits.
"""
