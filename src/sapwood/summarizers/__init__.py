"""Summarisers over the vendors' own SDKs; each is an extra."""
