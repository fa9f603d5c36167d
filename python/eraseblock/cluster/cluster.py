"""The caller's side of a Dask cluster: an executor whose runs are made by the cluster's workers."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from concurrent.futures import Future as Promise
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread, Timer
from typing import Any
from uuid import uuid4

from eraseblock import _core
from eraseblock.cluster.task import Content, Ended, Task, content_of, plugin_name
from eraseblock.experiments import unreadable
from eraseblock.sweeps import OneRun, run_one

# A client of Dask's and a future of its, most of whose methods have no types.
Client = Any
Remote = Any

# How long a scheduler may take to answer at first.
CONNECT_S = 10
# Runs that the scheduler holds at a time: enough for any cluster, and some MB of configurations.
_WINDOW = 4096
# As long as nobody knows how long they take, few of them.
_FIRST = 64
# Short runs go to a worker together, for about so long: each message costs some ms of the scheduler's time.
_TOGETHER_S = 0.25
# Towards the end there are still so many such groups for each thread of the workers.
_GROUPS = 4
# What is sent may be gone when another caller has tidied up.
_SENT_AT_MOST = 5
# How often to look whether a result that was lost has been made again.
_AGAIN_S = 0.1
# After Ctrl-C the scheduler learns of it by the end of the connection, at the latest.
_LEAVE_S = 0.2


@contextmanager
def opened(cluster: Any) -> Iterator[Cluster]:
    """The cluster at an address, or that of a client, which stays open, for a `with` block."""
    distributed = _distributed()
    own = not isinstance(cluster, distributed.Client)
    client = _connected(distributed, str(cluster)) if own else cluster
    ended = False
    try:
        there = Cluster(client)
        try:
            yield there
            ended = True
        finally:
            there.close(tidy=ended)
    finally:
        if own:
            client.close(*(() if ended else (_LEAVE_S,)))


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise _core.ConfigError(
            f"cluster: needs Dask ({error}); pip install 'eraseblock[cluster]' brings it"
        ) from error
    return distributed


def _connected(distributed: Any, address: str) -> Client:
    if not address.strip():
        raise _core.ConfigError("cluster: the address is empty; write it like tcp://host:8786")
    file = Path(address)
    where = {"scheduler_file": address} if file.suffix == ".json" else {"address": address}
    if file.suffix == ".json" and not file.exists():
        raise _core.InputError(unreadable(file, FileNotFoundError(2, "no such file")))
    if file.suffix != ".json":
        _check_address(address)
    try:
        return distributed.Client(**where, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise _core.InputError(f"cluster: no scheduler answers at {address} ({error})") from error


@dataclass
class _Job:
    """A run that was asked for."""

    task: Task
    promise: Promise[str]
    # How often its trace had been sent when it was given to a worker.
    sent: int = 0
    # In no group: one like it took a worker with it.
    alone: bool = False


def _check_address(address: str) -> None:
    """Refuse what is none: the client would look for it, and find its mistake late."""
    from distributed.comm.addressing import parse_address, parse_host_port

    try:
        parse_host_port(parse_address(address)[1])
    except ValueError as error:
        raise _core.ConfigError(
            f"cluster: found `{address}`, expected an address such as tcp://host:8786 ({error})"
        ) from error


class Cluster(Executor):
    """Makes runs on the workers of a cluster; `opened` opens it.

    One thread talks to the scheduler. A run whose worker is lost is given to another one; as soon as a run
    has come here the scheduler forgets it, so that none is made again once it is stored.
    """

    def __init__(self, client: Client) -> None:
        """Look whether the workers that are there have the same engine."""
        self._client = client
        self.notices: list[str] = []
        self._check_engines()
        # What happens: a run is asked for, one has ended at a worker, or (none) all is over.
        self._events: SimpleQueue[_Job | Remote | None] = SimpleQueue()
        self._waiting: deque[_Job] = deque()
        self._away: dict[str, tuple[list[_Job], Remote]] = {}
        self._runs_away = 0
        # Of late, how long a run took.
        self._run_s: float | None = None
        self._number = count()
        self._name = f"eraseblock-{uuid4().hex}"
        # What the runs replay, by path and by hash; how often each was sent.
        self._files: dict[Path, Content] = {}
        self._requests: dict[str, _core.Requests] = {}
        self._sent: Counter[str] = Counter()
        self._thread = Thread(target=self._work, name=self._name, daemon=True)
        self._thread.start()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **_: Any) -> Promise[Any]:
        """Ask for a run, with the arguments of `run_one`."""
        assert function is run_one
        run: OneRun = arguments[0]
        promise: Promise[str] = Promise()
        # Its requests go there by themselves, once for all runs.
        task = Task(replace(run, given=None, base=str(Path(run.base).absolute())), run.base, _core.engine())
        if run.given is not None:
            self._requests[run.given.sha256] = run.given
            task = replace(task, content=Content(run.given.sha256, "requests"))
        self._events.put(_Job(task, promise))
        return promise

    def close(self, *, tidy: bool) -> None:
        """Ask for nothing more. `tidy`: wait until the workers have let go of all that runs shared."""
        self._events.put(None)
        leaving = Thread(target=self._leave, daemon=True)
        leaving.start()
        leaving.join(None if tidy else _LEAVE_S)

    def _leave(self) -> None:
        from eraseblock.cluster.worker import forget

        self._thread.join()
        # The cluster may be gone; then so is what it held.
        with suppress(Exception):
            for sha256 in self._sent:
                self._client.unregister_worker_plugin(plugin_name(sha256))
            self._client.run(forget, on_error="ignore")

    def _check_engines(self) -> None:
        from eraseblock.cluster.worker import engine

        found = self._client.run(engine, on_error="return")
        if not found:
            self.notices.append("cluster: there are no workers yet; runs begin when one comes")
        for address, said in found.items():
            if isinstance(said, BaseException):
                raise _core.InputError(f"cluster: the worker {address} cannot run eraseblock: {said}")
            if said != _core.engine():
                raise _differs(f"the worker {address}", said)

    def _work(self) -> None:
        try:
            while (happened := self._next()) is not None:
                asked = [one for one in happened if isinstance(one, _Job)]
                self._waiting.extend(asked)
                self._collect([one for one in happened if not isinstance(one, _Job)])
                self._hand_out()
        except Exception as error:  # noqa: BLE001 (whoever waits for a run must hear of it)
            self._give_up(error)
        finally:
            for _, remote in self._away.values():
                remote.release()

    def _next(self) -> list[_Job | Remote] | None:
        """All that has happened meanwhile; waits for something. None: it is over."""
        happened = [self._events.get()]
        with suppress(Empty):
            while True:
                happened.append(self._events.get_nowait())
        present = [one for one in happened if one is not None]
        return present if len(present) == len(happened) else None

    def _hand_out(self) -> None:
        from eraseblock.cluster.worker import work

        groups: list[list[_Job]] = []
        most = _FIRST if self._run_s is None else _WINDOW
        size = self._group_size() if self._waiting else 1
        while self._waiting and self._runs_away < most:
            group: list[_Job] = []
            while self._waiting and len(group) < size:
                job = self._waiting.popleft()
                if not job.promise.cancelled() and self._describe(job):
                    group.append(job)
                if job.alone:
                    break
            if group:
                groups.append(group)
                self._runs_away += len(group)
        if groups:
            keys = [f"{self._name}-{next(self._number)}" for _ in groups]
            tasks = [[job.task for job in group] for group in groups]
            remotes = self._client.map(work, tasks, key=keys, pure=False)
            for group, remote in zip(groups, remotes, strict=True):
                self._away[remote.key] = (group, remote)
                remote.add_done_callback(self._events.put)

    def _group_size(self) -> int:
        """How many runs go to a worker together."""
        if not self._run_s:
            return 1
        threads: int = sum(self._client.nthreads().values())
        return max(1, min(int(_TOGETHER_S / self._run_s), len(self._waiting) // max(1, threads * _GROUPS)))

    def _describe(self, job: _Job) -> bool:
        """Say which content the run replays; false where that cannot be read."""
        if job.task.content is None:
            path = json.loads(job.task.run.text)["workload"].get("path")
            if path is not None:
                whole = Path(job.task.run.base) / path
                try:
                    if whole not in self._files:
                        self._files[whole] = content_of(whole)
                except OSError as error:
                    self._fail(job, _core.InputError(unreadable(whole, error)))
                    return False
                job.task = replace(job.task, content=self._files[whole])
        if job.task.content is not None:
            job.sent = self._sent[job.task.content.sha256]
        return True

    def _collect(self, remotes: Sequence[Remote]) -> None:
        """Take what has ended, and let the scheduler forget it before anybody stores it."""
        done = [remote for remote in remotes if remote.status == "finished"]
        results: list[list[Ended]] = self._client.gather(done) if done else []
        for remote in remotes:
            if remote.status == "error":
                self._lose(remote)
            elif remote.status == "cancelled":
                raise ConnectionError("the scheduler has dropped the runs")
            elif remote not in done:
                # Its worker was lost before the result was here: it is made again.
                timer = Timer(_AGAIN_S, self._events.put, [remote])
                timer.daemon = True
                timer.start()
        for remote in done:
            remote.release()
        for remote, ends in zip(done, results, strict=True):
            for job, ended in zip(self._away[remote.key][0], ends, strict=True):
                self._end(job, ended)
            # Only now: whatever ends the work on the way ends these runs, too.
            self._forget(remote)

    def _lose(self, remote: Remote) -> None:
        error = remote.exception()
        remote.release()
        group = self._forget(remote)
        for job in group:
            if len(group) > 1:
                # Which of them it was is found out one by one.
                job.alone = True
                self._waiting.append(job)
            else:
                self._fail(job, _failure(error))

    def _forget(self, remote: Remote) -> list[_Job]:
        group, _ = self._away.pop(remote.key)
        self._runs_away -= len(group)
        return group

    def _end(self, job: _Job, ended: Ended) -> None:
        if ended.engine is not None:
            raise _differs("a worker", ended.engine)
        if ended.error is not None:
            self._fail(job, ended.error)
        elif ended.record is not None:
            self._run_s = ended.seconds if self._run_s is None else 0.9 * self._run_s + 0.1 * ended.seconds
            if job.promise.set_running_or_notify_cancel():
                job.promise.set_result(ended.record)
        else:
            if ended.lacks:
                self._send(job)
            self._waiting.append(job)

    def _send(self, job: _Job) -> None:
        """Send what a worker lacks to all of them, unless that was done since."""
        content = job.task.content
        assert content is not None
        if self._sent[content.sha256] > job.sent:
            return
        if job.sent == _SENT_AT_MOST:
            raise ConnectionError(f"workers lose or damage {content.name}, sent to them {job.sent} times")
        if content.path is None:
            data = self._requests[content.sha256].pack()
        else:
            data = Path(content.path).read_bytes()
            if sha256(data).hexdigest() != content.sha256:
                raise _core.SimulationError(
                    f"{content.path}: changed while the sweep was at work; say the same command again"
                )
        from eraseblock.cluster.worker import Sent

        self._client.register_plugin(Sent(content, data), name=plugin_name(content.sha256))
        self._sent[content.sha256] += 1

    def _fail(self, job: _Job, error: _core.EraseblockError) -> None:
        if not job.promise.done() and job.promise.set_running_or_notify_cancel():
            job.promise.set_exception(error)

    def _give_up(self, error: Exception) -> None:
        """End all runs for the same reason, those that are still asked for as well."""
        if not isinstance(error, _core.EraseblockError):
            error = _core.SimulationError(f"cluster: the work was given up: {error or type(error).__name__}")
        jobs = [*self._waiting, *(job for group, _ in self._away.values() for job in group)]
        self._waiting.clear()
        for job in jobs:
            self._fail(job, error)
        while (event := self._events.get()) is not None:
            if isinstance(event, _Job):
                self._fail(event, error)


def _differs(who: str, engine: str) -> _core.InputError:
    return _core.InputError(
        f"cluster: {who} has the engine {engine}, and here it is {_core.engine()}; "
        "install the same build of eraseblock everywhere"
    )


def _failure(error: BaseException | None) -> _core.SimulationError:
    if type(error).__name__ == "KilledWorker":
        return _core.SimulationError(
            "a run was lost with each worker that it was given to; perhaps they have not enough memory"
        )
    return _core.SimulationError(f"cluster: a worker could not begin the run: {error!r}")
