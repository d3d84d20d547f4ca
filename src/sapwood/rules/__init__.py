"""Pure functions: everything that can be decided without I/O, a clock or randomness."""
