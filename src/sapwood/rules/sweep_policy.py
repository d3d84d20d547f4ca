"""A sweep's policy checked, and read from the simple values of a configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from ..errors import UsageError
from ..model import QuietLimit, QuietRule, SweepPolicy
from . import check
from .durations import check_duration, parse_duration
from .wording import a_kind, did_you_mean
from .zones import zone_of

T = TypeVar("T")

_LIMIT_FIELDS = QuietLimit.__struct_fields__
_NAMES = ("agent", "channel", "chat_type")


def policy_from(value: Mapping[str, Any], path: str = "policy") -> SweepPolicy:
    """Read a policy; what is not given is as by default, and None is never.

    Lengths of time are written as "30m" or "7d". `ends` has the fields of a limit (`idle`,
    `daily_at`, `zone`), each of the `rules` has these and `agent`, `channel` and `chat_type`.
    """
    _refuse_others(value, SweepPolicy.__struct_fields__, path)
    given = dict(value)
    for name in ("idle_after", "archive_after", "delete_after"):
        _read(given, name, lambda it, at: it if it is None else parse_duration(it, at), path)
    _read(given, "ends", lambda it, at: QuietLimit() if it is None else _limit_from(it, at), path)
    _read(given, "rules", _rules_from, path)
    policy = SweepPolicy(**given)
    check_policy(policy, path)
    return policy


def check_policy(policy: SweepPolicy, path: str = "policy") -> None:
    """Check a policy; an error says where in it."""
    check.instance(policy, SweepPolicy, path)
    check_duration(policy.idle_after, f"{path}.idle_after")
    check.given(check_duration, policy.archive_after, f"{path}.archive_after")
    check.given(check_duration, policy.delete_after, f"{path}.delete_after")
    check.instance(policy.keep_pinned, bool, f"{path}.keep_pinned")
    _check_limit(policy.ends, f"{path}.ends")
    check.instance(policy.rules, tuple, f"{path}.rules")
    seen: dict[tuple[str | None, ...], int] = {}
    for index, rule in enumerate(policy.rules):
        where = f"{path}.rules[{index}]"
        _check_rule(rule, where)
        names = tuple(getattr(rule, name) for name in _NAMES)
        if seen.setdefault(names, index) != index:
            raise UsageError(
                f"{where} is for the same sessions as {path}.rules[{seen[names]}]", path=where
            )


def _check_rule(rule: QuietRule, where: str) -> None:
    check.instance(rule, QuietRule, where)
    _check_limit(rule.limit, where)
    given = [name for name in _NAMES if getattr(rule, name) is not None]
    if not given:
        raise UsageError(
            f"{where} names no {', '.join(_NAMES)}: put the limit of all sessions into ends",
            path=where,
        )
    for name in given:
        at = f"{where}.{name}"
        check.text(getattr(rule, name), at)
        if not getattr(rule, name):
            raise UsageError(f"{at} is empty: give a name, or leave it out", path=at)


def _check_limit(limit: QuietLimit, where: str) -> None:
    check.instance(limit, QuietLimit, where)
    check.given(check_duration, limit.idle, f"{where}.idle")
    check.whole(limit.daily_at, f"{where}.daily_at", 0, 23)
    zone_of(limit.zone, f"{where}.zone")


def _rules_from(value: Any, path: str) -> tuple[QuietRule, ...]:
    check.listed(value, path)
    return tuple(_rule_from(rule, f"{path}[{index}]") for index, rule in enumerate(value))


def _rule_from(value: Any, path: str) -> QuietRule:
    _refuse_others(value, (*_NAMES, *_LIMIT_FIELDS), path)
    limit = _limit_from({name: value[name] for name in _LIMIT_FIELDS if name in value}, path)
    return QuietRule(limit=limit, **{name: value[name] for name in _NAMES if name in value})


def _limit_from(value: Any, path: str) -> QuietLimit:
    _refuse_others(value, _LIMIT_FIELDS, path)
    given = dict(value)
    _read(given, "idle", lambda it, at: it if it is None else parse_duration(it, at), path)
    return QuietLimit(**given)


def _read(given: dict[str, Any], name: str, read: Callable[[Any, str], T], path: str) -> None:
    if name in given:
        given[name] = read(given[name], f"{path}.{name}")


def _refuse_others(value: Any, known: Collection[str], path: str) -> None:
    if not isinstance(value, Mapping):
        raise UsageError(f"{path} must be an object, not {a_kind(value)}", path=path)
    for name in value:
        if name not in known:
            raise UsageError(
                f"{path} has no field {name!r}{did_you_mean(str(name), known)}; "
                f"known are {', '.join(known)}",
                path=f"{path}.{name}",
            )
