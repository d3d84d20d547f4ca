"""Sessions in a database whose only commit is to create a document that was not there.

`_async/driver.py` says what such a database has to offer; all that is decided is decided here, as
`docs/record-log.md` explains.
"""
