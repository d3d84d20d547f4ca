"""Copying sessions from any store to any other, a piece at a time, and proving it."""
