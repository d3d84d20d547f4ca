"""Puts on the path what is shared: messages, measuring, packages, and the tests' servers."""

from __future__ import annotations

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(_ROOT / "bench"), str(_ROOT / "bench" / "peers"), str(_ROOT / "tests")]
