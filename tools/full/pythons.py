"""Finds the Pythons of a machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path


def find_python(version: str) -> str | None:
    """Return the program of a Python such as 3.12; None when there is none that runs."""
    named = shutil.which(f"python{version}")
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    kept = sorted(root.glob(f"versions/{version}.*/bin/python{version}"))
    for candidate in (*([named] if named else ()), *map(str, kept)):
        # A shim of pyenv is there for versions that are not in use, too, and fails.
        if subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            return candidate
    return None
