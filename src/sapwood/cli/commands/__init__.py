"""The commands, one in each module: imported when they are run, and not before."""
