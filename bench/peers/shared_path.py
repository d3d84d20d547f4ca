"""Puts the folder above on the path, for the messages and the raw side that `make bench` uses."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
