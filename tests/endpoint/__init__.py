"""A model's endpoint on this machine, for tests: a real HTTP server with prepared answers."""

from .replies import Drop, Hang, Reply, Stream
from .server import Asked, Endpoint

__all__ = ["Asked", "Drop", "Endpoint", "Hang", "Reply", "Stream"]
