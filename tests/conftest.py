"""How the tests are run: without skips where asked, with as many examples as asked."""

from __future__ import annotations

import json
import signal
from collections import Counter
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from servers import running, whole_run
from servers.alone import let_others
from servers.seen import RAN_AGAINST
from tier import FULL, is_usual

from sapwood.testing import COUNTS

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
settings.register_profile(
    "default",
    derandomize=False,
    deadline=None,
    max_examples=30,
    stateful_step_count=30,
    suppress_health_check=_QUIET,
)
settings.register_profile(
    "thorough",
    settings.get_profile("default"),
    max_examples=400,
    stateful_step_count=60,
)
settings.load_profile("thorough" if FULL else "default")

# A run that was begun in the background ignores Ctrl-C, and so would the programs that it starts.
signal.signal(signal.SIGINT, signal.default_int_handler)

LONG_S = 900
"""How long a test may take that kills processes, and any in the full tier."""
LIMITS_S = {"faults": LONG_S, "docs": 300, "api": 300}
"""Folders whose tests start many programs, one after the other."""
COUNTED = pytest.StashKey[Counter[str]]()
SKIPPED: list[str] = []
NOT_THERE: dict[str, str] = {}
"""The fixtures of servers that were looked for, and are not there, with the reason."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips", action="store_true", help="fail the run when any test was skipped"
    )
    parser.addoption(
        "--require-backends",
        default="",
        metavar="NAMES",
        help="servers (postgres,redis,...) whose tests fail when there is none",
    )
    parser.addoption(
        "--report", type=Path, metavar="FILE", help="write there what passed and what was tried"
    )
    parser.addoption(
        "--own-servers",
        action="store_true",
        help="start servers even where those of `make servers` are running",
    )


def _server(name: str) -> Any:
    """Make the fixture that gives the URL of a server for tests."""

    url_fixture = f"{name}_url"

    @pytest.fixture(scope="session", name=url_fixture)
    def url(request: pytest.FixtureRequest) -> str:
        server = import_module(f"servers.{name}")
        given: str | None = server.shared_url()
        if given is None:
            required = request.config.getoption("--require-backends").split(",")
            if name in required:
                pytest.fail(server.MISSING)
            NOT_THERE[url_fixture] = server.MISSING
            pytest.skip(server.MISSING)
        assert given is not None
        RAN_AGAINST.add(server.version())
        return given

    return url


KINDS = ("postgres", "redis", "redis_cluster", "mariadb", "mongodb", "opensearch")
postgres_url, redis_url, redis_cluster_url, mariadb_url, mongodb_url, opensearch_url = (
    _server(name) for name in KINDS
)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[COUNTED] = Counter()
    if config.getoption("--own-servers"):
        running.disregard()
    if not hasattr(config, "workerinput"):
        whole_run.begin()


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        whole_run.end()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to the full tier what is tried elsewhere, too; give each test its limit."""
    for item in items:
        if _knows_servers(item):
            item.add_marker("servers")
        if limit_s := _limit_s(item):
            item.add_marker(pytest.mark.timeout(limit_s))
    # Begun last, what takes minutes would leave the other processes without work.
    items.sort(key=lambda it: not _is_long(it))
    if not FULL:
        left = [it for it in items if not _is_usual(it)]
        config.hook.pytest_deselected(items=left)
        items[:] = [it for it in items if _is_usual(it)]


def _limit_s(item: pytest.Item) -> int | None:
    """Return the limit of a test that has another than most; the full tier tries far more."""
    own = item.get_closest_marker("timeout")
    if FULL and own is not None:
        return max(LONG_S, 10 * int(own.args[0]))
    if FULL or item.get_closest_marker("fault"):
        return LONG_S
    return LIMITS_S.get(item.path.relative_to(Path(__file__).parent).parts[0])


def _is_long(item: pytest.Item) -> bool:
    """Whether a test takes minutes in the full tier, as state machines do."""
    return item.name == "runTest" or item.path.name == "test_endurance.py"


def _knows_servers(item: pytest.Item) -> bool:
    """Whether a test uses a server, or something that the tests have for servers."""
    if any(f"{name}_url" in getattr(item, "fixturenames", ()) for name in KINDS):
        return True
    used = vars(getattr(item, "module", item)).values()
    homes = (getattr(it, "__module__", None) or getattr(it, "__name__", "") for it in used)
    return any(str(home).partition(".")[0] == "servers" for home in homes)


def _is_usual(item: pytest.Item) -> bool:
    if item.get_closest_marker("full"):
        return False
    name = getattr(item, "originalname", item.name)
    return is_usual(getattr(item, "cls", None), name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Let a test have a server to itself, where it shares one that it cannot share."""
    try:
        if "postgres_url" in getattr(item, "fixturenames", ()):
            import_module("servers.postgres").alone()
        return (yield)
    finally:
        let_others()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a server that is not there, before anything else is made for it."""
    for name in NOT_THERE.keys() & set(getattr(item, "fixturenames", ())):
        pytest.skip(NOT_THERE[name])


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        SKIPPED.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        SKIPPED.append(report.nodeid)


def pytest_testnodedown(node: Any, error: object) -> None:
    """Add up what the workers of pytest-xdist counted."""
    output = getattr(node, "workeroutput", {})
    node.config.stash[COUNTED].update(output.get("sapwood_counts", {}))
    RAN_AGAINST.update(output.get("sapwood_servers", []))


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["sapwood_counts"] = dict(COUNTS)
        output["sapwood_servers"] = sorted(RAN_AGAINST)
        return
    session.config.stash[COUNTED].update(COUNTS)
    if getattr(session.config, "cache", None) is not None:
        session.config.cache.set("sapwood/skipped", SKIPPED)
    if session.config.getoption("--no-skips") and SKIPPED:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    _tell_skips(terminalreporter)
    if RAN_AGAINST:
        terminalreporter.section("servers")
        for server in sorted(RAN_AGAINST):
            terminalreporter.write_line(server)
    counted = config.stash[COUNTED]
    if counted:
        terminalreporter.section("what was tried")
        for name, count in sorted(counted.items()):
            terminalreporter.write_line(f"{count:>8}  {name}")
    if config.getoption("--report"):
        told = {kind: len(terminalreporter.stats.get(kind, ())) for kind in ("passed", "skipped")}
        config.getoption("--report").write_text(json.dumps({**told, "counts": counted}))
    if config.getoption("--no-skips") and SKIPPED:
        terminalreporter.section("--no-skips: the run fails", red=True)
        for nodeid in SKIPPED:
            terminalreporter.write_line(f"skipped: {nodeid}")


def _tell_skips(reporter: pytest.TerminalReporter) -> None:
    """Say why tests were skipped, a line for each reason: without servers there are thousands."""
    reports = reporter.stats.get("skipped", ())
    why = Counter(it.longrepr[2].removeprefix("Skipped: ") for it in reports)
    if why:
        reporter.section("what was skipped")
    for reason, count in why.most_common():
        reporter.write_line(f"{count:>8}  {reason}")
