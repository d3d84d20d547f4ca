"""Changing some fields of a JSON object: merge patches, as RFC 7396 has them."""

from __future__ import annotations

from typing import Any


def merge_json(target: Any, patch: Any) -> Any:
    """Return a value with a patch merged into it: an object's fields one by one, null takes out."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_json(merged.get(name), value)
    return merged
