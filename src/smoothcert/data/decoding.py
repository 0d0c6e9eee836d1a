"""Photographs decoded ahead by worker processes, in the order they were asked for."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import IO

from smoothcert.data import image
from smoothcert.errors import InputError

Request = tuple[str, str | None]
"""path, and the key of its augmentation"""
_AHEAD = 2  # batches


def default_workers() -> int:
    """One process per core, eight at most: a core decodes some hundred photographs a second."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(8, cores)


def decode(request: Request) -> bytes:
    """The image, decoded here."""
    try:
        return image.read_image(*request)
    except ValueError as error:
        raise InputError(str(error)) from error


def decode_ahead(batches: Iterable[Sequence[Request]], workers: int) -> Iterator[list[bytes]]:
    """The images of each batch in order; with workers ≥ 1 the next two batches are decoded meanwhile.

    Each worker is a fresh program with Pillow alone, spoken to through pipes by one thread of ours: nothing
    is forked from a process with threads, and workers end with us, however we end.
    """
    if workers < 1:
        yield from ([decode(request) for request in batch] for batch in batches)
        return
    crew = _Crew()
    pool = ThreadPoolExecutor(workers, "decode")
    waiting: deque[list[Future[bytes]]] = deque()
    try:
        for batch in batches:
            waiting.append([pool.submit(crew.decode, request) for request in batch])
            if len(waiting) > _AHEAD:
                yield [future.result() for future in waiting.popleft()]
        while waiting:
            yield [future.result() for future in waiting.popleft()]
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        crew.close()


class _Crew:
    """A worker process for each thread that asks."""

    def __init__(self) -> None:
        self._mine = threading.local()
        self._all: list[subprocess.Popen[bytes]] = []

    def decode(self, request: Request) -> bytes:
        worker: subprocess.Popen[bytes] | None = getattr(self._mine, "worker", None)
        if worker is None:
            worker = self._mine.worker = self._start()
        try:
            requests, replies = _pipes(worker)
            requests.write(json.dumps(request).encode() + b"\n")
            requests.flush()
            ok, size = image.HEADER.unpack(_exactly(replies, image.HEADER.size))
            data = _exactly(replies, size)
        except (BrokenPipeError, EOFError) as error:
            raise InputError(f"{request[0]}: the process decoding it died (code {worker.wait()})") from error
        if not ok:
            raise InputError(data.decode("utf-8", "replace"))
        return data

    def _start(self) -> subprocess.Popen[bytes]:
        # -P keeps this folder out of the worker's imports.
        command = [sys.executable, "-P", image.__file__]
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._all.append(worker)
        return worker

    def close(self) -> None:
        for worker in self._all:
            requests, replies = _pipes(worker)
            with contextlib.suppress(BrokenPipeError):  # of a worker that died
                requests.close()
            worker.wait()
            replies.close()


def _pipes(worker: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert worker.stdin is not None and worker.stdout is not None  # both were asked for
    return worker.stdin, worker.stdout


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise EOFError
    return data
