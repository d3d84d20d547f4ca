"""Count the statements of the package, without the generated twins and `testing`.

python tools/house/statements.py --base HEAD~10
"""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path, PurePath

from sources import modules
from table import ALL, Rows, options_of, show


def statements(src: Path) -> Rows:
    """Return the number of statements in each package, and in all."""
    counts: Counter[str] = Counter()
    for module in modules(src).values():
        if not module.is_generated and not module.is_testing:
            found = sum(isinstance(node, ast.stmt) for node in ast.walk(module.tree))
            counts.update({package_of(module.path): found})
    return {**{name: [counts[name]] for name in sorted(counts)}, ALL: [counts.total()]}


def package_of(path: PurePath) -> str:
    """Return the package that a file is counted with: of the stores, each is one."""
    below = path.parts[1:-1]
    return "/".join(below[: 2 if below[:1] == ("stores",) else 1]) or "sapwood"


if __name__ == "__main__":
    show(options_of(__doc__).parse_args(), ("package", "statements"), statements)
