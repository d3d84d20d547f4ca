"""Count what is read to understand a store: its package, and what it imports of `stores`.

python tools/house/reading.py --store postgres

Imports are followed as they stand in the files, and a generated twin counts as its source.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from sources import Module, modules
from statements import package_of
from table import ALL, Rows, options_of, show

STORES = "sapwood.stores."


def reading(store: str, src: Path) -> Rows:
    """Return the files and lines that are read for a store, in each package and in all."""
    found = [(package_of(it.path), it.lines) for it in reached(modules(src), STORES + store)]
    rows: dict[str, list[int]] = {}
    for package, lines in sorted(found):
        for name in (package, ALL) if lines else ():
            files, before = rows.get(name, (0, 0))
            rows[name] = [files + 1, before + lines]
    return rows


def reached(known: Mapping[str, Module], package: str) -> list[Module]:
    """Return the hand-written modules of a package, and those of `stores` that they import."""
    asked = [name for name in known if f"{name}.".startswith(f"{package}.")]
    seen: dict[str, Module] = {}
    while asked:
        module = known[asked.pop().replace("._sync", "._async")]
        if module.name not in seen:
            seen[module.name] = module
            # A name that is imported may be a module's.
            pairs = [(f"{source}.{name}", source) for _, source, name in module.imports()]
            names = [whole if whole in known else source for whole, source in pairs]
            asked += [name for name in names if name in known and name.startswith(STORES)]
    return list(seen.values())


if __name__ == "__main__":
    parser = options_of(__doc__)
    parser.add_argument("--store", default="sqlite", help="such as postgres or redis")
    given = parser.parse_args()
    show(given, (f"read for {given.store}", "files", "lines"), partial(reading, given.store))
