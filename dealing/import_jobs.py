"""An import shared out among processes: each takes some of the file's tables, and their reports make one.

Tables have nothing to do with each other: a log is one table's, and only the order of its own lines matters. So the
file is split by table, each process imports its part as a file of its own (each hand whole or not at all, a shoe in a
transaction), and what they report, in order of the file's lines, is what one process would have said.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import BinaryIO, Final, cast

from django.db import connection, connections

from dealing.importer import Report, import_file
from dealing.logfile import LogFile, LogPart
from dealing.models import Venue

#: Nobody has more use for more: the database shares the processors.
MOST_JOBS: Final = 32


class JobLostError(Exception):
    """A process of the import ended without a word. What was stored is whole; the same file again stores the rest."""


def can_share() -> bool:
    """Whether several processes are of use here: SQLite lets one write at a time, and not every system can fork."""
    return connection.vendor != "sqlite" and "fork" in multiprocessing.get_all_start_methods()


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def import_parts(
    file: LogFile, jobs: int, actor: str, venue: Venue | None, progress: Callable[[Report], None] | None
) -> Report:
    """As `importer.import_file`, by `jobs` processes; by this one alone where several are of no use.

    Raises what one of them raised first (the others are ended, what they stored is whole), or `JobLostError`.
    """
    if jobs < 2 or not can_share():
        return import_file(file, actor, venue, progress)
    with ExitStack() as stack:
        parts = [cast(BinaryIO, stack.enter_context(tempfile.TemporaryFile())) for _ in range(min(jobs, MOST_JOBS))]
        file.split(parts)
        connections.close_all()  # a connection cannot be shared: every process opens its own
        fork = multiprocessing.get_context("fork")
        workers: dict[Connection, BaseProcess] = {}
        for part in parts:
            ours, theirs = fork.Pipe(duplex=False)
            worker = fork.Process(target=_work, args=(part, actor, venue, theirs), daemon=True)
            worker.start()
            theirs.close()
            stack.callback(_end, worker)
            workers[ours] = worker
        return _gather(workers, progress)


def _end(worker: BaseProcess) -> None:
    worker.terminate()  # nothing, where it has ended
    worker.join()


def _work(part: BinaryIO, actor: str, venue: Venue | None, tell: Connection) -> None:
    """A process of its own: import a part, and tell of it."""

    def told(report: Report) -> None:
        tell.send((report.lines, report.events))

    for inherited in connections.all(initialized_only=True):
        del connections[inherited.alias]  # another one of the parent's, that of its event loop or of none: not ours
    try:
        with LogPart(part) as file:
            said: Report | BaseException = import_file(file, actor, venue, told)
    except Exception as error:  # noqa: BLE001  # it is raised again where it can be dealt with
        said = error
    finally:
        connections.close_all()
    try:
        tell.send(said)
    except Exception:  # noqa: BLE001  # whatever cannot be sent
        tell.send(JobLostError(f"{type(said).__name__}: {said}"))


def _gather(workers: dict[Connection, BaseProcess], progress: Callable[[Report], None] | None) -> Report:
    done: list[Report] = []
    so_far: dict[Connection, tuple[int, int]] = {}
    working = dict(workers)
    while working:
        for heard in cast(list[Connection], wait(list(working))):
            try:
                said = heard.recv()
            except EOFError:
                working[heard].join()
                raise JobLostError(f"it ended with {working[heard].exitcode}") from None
            if isinstance(said, BaseException):
                raise said
            if isinstance(said, Report):
                done.append(said)
                del working[heard]
                so_far[heard] = (said.lines, said.events)
            else:
                so_far[heard] = said
            if progress is not None:
                lines, events = zip(*so_far.values(), strict=True)
                progress(Report(lines=max(lines), events=sum(events)))
    report = Report()
    for part in done:
        report.stored += part.stored
        report.skipped += part.skipped
        report.refused += part.refused
        report.events += part.events
        report.lines = max(report.lines, part.lines)
        report.refusals += part.refusals
    report.refusals.sort(key=lambda refusal: refusal.number)  # no two parts have the same line
    return report
