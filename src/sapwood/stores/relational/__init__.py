"""What the relational stores have in common, written once over named statements.

`_async` (and its generated twin) holds the subjects of a unit of work: sessions, messages,
overlays, documents, usage. They decide; a dialect (`_async/dialect.py`) reads and writes. A store
is its dialect, its connection and commit, its fast paths, its search index and its schema.

PostgreSQL works out by functions of its own what a path shows. The others are walked from here:
`walk` holds what they share for that, synchronously.
"""
