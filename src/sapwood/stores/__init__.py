"""The stores. Each imports its driver only when it is used."""
