"""Commands in children forked from a process that has imported everything already: they start at once."""

from __future__ import annotations

import os
import socket
import time
from importlib import import_module
from typing import Any

from smoothcert import cli

for _module in ("cli.train", "cli.certify", "cli.merge", "cli.parse", "cli.display", "training.train",
                "certification.certify_run", "analysis.tables", "procedures.procedure"):  # fmt: skip
    import_module(f"smoothcert.{_module}")
for _module in ("scipy.stats", "torch._dynamo"):  # which torch.optim imports late
    import_module(_module)


def fork(arguments: list[str], variables: dict[str, str]) -> int:
    """The number of a child process that runs a command, and says nothing."""
    child = os.fork()
    if child:
        return child
    os.environ.update(variables)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    code: Any = 3
    try:
        cli.main(arguments)
    except SystemExit as stop:
        code = stop.code or 0
    finally:
        os._exit(code)


def many(arguments: list[str], processes: int) -> list[int]:
    """As torchrun starts them, if they are several."""
    if processes == 1:
        return [fork(arguments, {})]
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    common = {"WORLD_SIZE": str(processes), "MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    return [fork(arguments, {**common, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(processes)]


def alone(arguments: list[str]) -> list[int]:
    return many(arguments, 1)


def two(arguments: list[str]) -> list[int]:
    return many(arguments, 2)


exits: dict[int, int] = {}


def ended(process: int) -> int | None:
    """Its exit code, None while it runs."""
    if process not in exits:
        found, status = os.waitpid(process, os.WNOHANG)
        if found == 0:
            return None
        exits[process] = os.waitstatus_to_exitcode(status)
    return exits[process]


def wait(process: int) -> int:
    while (code := ended(process)) is None:
        time.sleep(0.005)
    return code
