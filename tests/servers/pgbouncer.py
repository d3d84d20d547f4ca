"""PgBouncer for tests: a transaction pooler in front of a server."""

from __future__ import annotations

import shutil
import signal
import subprocess

from .process import Folder, free_port, wait_for_port
from .seen import note_once

MISSING = "there is no PgBouncer: run `make servers`"
_SETTINGS = """
[databases]
postgres = host=127.0.0.1 port={target} dbname=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 2
max_client_conn = 200
ignore_startup_parameters = extra_float_digits
"""


class PgBouncer:
    """Gives each transaction whichever of a few server connections is free."""

    def __init__(self, target: int) -> None:
        program = _program()
        self._folder = Folder("pb", "postgres")
        self.port = free_port()
        settings = self._folder.path / "pgbouncer.ini"
        text = _SETTINGS.format(target=target, port=self.port)
        text = text.replace("dbname=postgres", "dbname=postgres user=tester")
        settings.write_text(text)
        settings.chmod(0o644)
        self._process = self._folder.start([program, settings])
        wait_for_port(self.port, self._process, self._folder.path / "log")
        note_once(PgBouncer, version)

    def url(self) -> str:
        return f"postgresql://tester@127.0.0.1:{self.port}/postgres"

    def remove(self) -> None:
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.remove()


def _program() -> str:
    found = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if found is None:
        raise FileNotFoundError(MISSING)
    return found


def version() -> str:
    """Tell which pooler this is."""
    told = subprocess.run([_program(), "--version"], check=True, capture_output=True, text=True)
    return told.stdout.splitlines()[0]
