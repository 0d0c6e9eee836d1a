"""Photographs decoded ahead by worker processes, in the order they were asked for."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import IO

from smoothcert.data import image
from smoothcert.errors import InputError

PictureRequest = tuple[str, str | None]
"""path, and the key of its augmentation"""
_AHEAD = 2  # batches


def default_workers() -> int:
    """One process per core, eight at most: a core decodes some hundred photographs a second."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(8, cores)


def decode(request: PictureRequest) -> bytes:
    """The image, decoded here."""
    try:
        return image.read_image(*request)
    except ValueError as error:
        raise InputError(str(error)) from error


def decode_ahead(batches: Iterable[Sequence[PictureRequest]], workers: int) -> Iterator[list[bytes]]:
    """The images of each batch in order; with workers ≥ 1 the next two batches are decoded meanwhile.

    Each worker is a fresh program with Pillow alone, spoken to through pipes by a thread of ours. torch's DataLoader
    would fork a process that has threads, or start torch in each worker, and cannot say which file its worker died of;
    a pool of `concurrent.futures` lives on when we are killed; threads that decode here wait for each other and for
    the training. These workers start in a tenth of a second, and end with us, however we end.
    """
    if workers < 1:
        yield from ([decode(request) for request in batch] for batch in batches)
        return
    crew = [_Worker() for _ in range(workers)]
    idle: SimpleQueue[_Worker] = SimpleQueue()
    for worker in crew:
        idle.put(worker)

    def by_one_of_them(request: PictureRequest) -> bytes:
        worker = idle.get()
        try:
            return worker.decode(request)
        finally:
            idle.put(worker)

    pool = ThreadPoolExecutor(workers, "decode")
    waiting: deque[list[Future[bytes]]] = deque()
    try:
        for batch in batches:
            waiting.append([pool.submit(by_one_of_them, request) for request in batch])
            if len(waiting) > _AHEAD:
                yield [future.result() for future in waiting.popleft()]
        while waiting:
            yield [future.result() for future in waiting.popleft()]
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for worker in crew:
            worker.close()


class _Worker:
    """image.py as a process: a request in, an image out."""

    def __init__(self) -> None:
        # -P keeps this folder out of the worker's imports.
        command = [sys.executable, "-P", image.__file__]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None and self._process.stdout is not None  # both were asked for
        self._requests, self._replies = self._process.stdin, self._process.stdout

    def decode(self, request: PictureRequest) -> bytes:
        try:
            self._requests.write(json.dumps(request).encode() + b"\n")
            self._requests.flush()
            ok, size = image.HEADER.unpack(_exactly(self._replies, image.HEADER.size))
            data = _exactly(self._replies, size)
        except (BrokenPipeError, EOFError) as error:
            raise InputError(f"{request[0]}: the process decoding it died (code {self._process.wait()})") from error
        if not ok:
            raise InputError(data.decode("utf-8", "replace"))
        return data

    def close(self) -> None:
        with contextlib.suppress(BrokenPipeError):  # of a worker that died
            self._requests.close()
        self._process.wait()
        self._replies.close()


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise EOFError
    return data
