"""The parts that a compaction is made of, each of use on its own."""
