"""A drive to step: requests one by one, in simulated time, and the record that comes of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from eraseblock import _core
from eraseblock._core import Request
from eraseblock.arguments import words_of_python
from eraseblock.experiments import Experiment, resolve_mapping
from eraseblock.results.record import RunRecord, Stats
from eraseblock.results.units import bytes_of, nanoseconds_of
from eraseblock.scheme import Scheme

# A time in ns, or a text such as "1.5 ms".
Time = int | str
# Bytes, or a text such as "4 KiB".
Size = int | str


class Device:
    """A simulated drive that is driven request by request.

    The device has a clock, in whole nanoseconds, which begins at 0 and goes on when it is told: by `at` of a
    request, by `advance` and by `drain`. A request may wait, and be answered later than others that came
    after it.

    Example:
        >>> import eraseblock as eb
        >>> empty = {"state": "empty"}
        >>> device = eb.Device("hbm-2010", buffer="bplru", buffer_size="4 MiB", precondition=empty)
        >>> write = device.write(at="1 ms", address=0, size="4 KiB", fua=True)
        >>> write.response is None
        True
        >>> device.drain()
        >>> write.response
        19200000
    """

    def __init__(
        self,
        device: str | Path | Mapping[str, Any] = "nvme-tlc",
        *,
        buffer: str | Scheme | Mapping[str, Any] | None = None,
        buffer_size: Size | None = None,
        ftl: str | Mapping[str, Any] | None = None,
        verify: bool = False,
        cache: bool = True,
        **keys: Any,
    ) -> None:
        """Build a drive, and fill it as `precondition` says.

        Args:
            device: preset of the drive, or keys of one.
            buffer: a scheme's name, a table such as `{"kind": "bplru", "padding": False}`, or a scheme in
                Python (`eb.Buffer`); default: the device's.
            buffer_size: bytes, or a text such as `"4 MiB"`.
            ftl: mapping, by its name or as a table with its options.
            verify: check every read, and the laws of the drive.
            cache: start from a filled drive that another call has kept on disk, and keep one there that
                took long to fill.
            keys: further tables of an experiment (docs/experiments.md), such as `host={"replay": "untimed"}`
                or `precondition={"state": "full"}`; where `device` has the same table, their keys displace
                its.

        Raises:
            ConfigError: a wrong key or value.
            InputError: a drive that cannot be built, or that has to know its requests beforehand.
        """
        config: dict[str, Any] = {"name": "device"}
        config |= dict(device) if isinstance(device, Mapping) else {"preset": str(device)}
        for name, value in keys.items():
            before = config.get(name)
            if isinstance(before, Mapping) and isinstance(value, Mapping):
                config[name] = {**before, **value}
            else:
                config[name] = value
        if buffer is not None:
            config["buffer"] = {**config.get("buffer", {}), "scheme": buffer}
        if buffer_size is not None:
            size = buffer_size if isinstance(buffer_size, str) else f"{_bytes('buffer_size', buffer_size)} B"
            config["buffer"] = {**config.get("buffer", {}), "size": size}
        if ftl is not None:
            config["ftl"] = {**config.get("ftl", {}), "mapping": ftl}
        if "workload" in config:
            raise _core.ConfigError("workload: a device takes its requests from write, read, run and so on")
        self._experiment = _only(resolve_mapping({**config, "workload": {"given": ""}}, "<device>"))
        with words_of_python(()):
            self._core = _core.Device(self._experiment.text, verify, cache, None, self._experiment.scheme)

    @property
    def clock(self) -> int:
        """The time, in ns."""
        return self._core.clock

    @property
    def exported_bytes(self) -> int:
        """Bytes that the host sees."""
        return self._core.exported_bytes

    @property
    def page_bytes(self) -> int:
        """Bytes of a page."""
        return self._core.page_bytes

    @property
    def config(self) -> dict[str, Any]:
        """The configuration, every key explicit, but for the workload."""
        config = self._experiment.config
        del config["workload"]
        return config

    def write(
        self, at: Time | None = None, address: Size = 0, size: Size = 4096, *, fua: bool = False
    ) -> Request:
        """Write bytes.

        Args:
            at: when the request comes, in ns or as a text such as `"1.5 ms"`, not before the clock; default:
                now. Where `host.replay` is not `"open"` it does not say when the drive is asked, and a time
                before the clock counts as now; it still moves the clock, and is part of the record's trace.
            address: first byte.
            size: bytes.
            fua: forced unit access: answered once it is on flash.

        Returns:
            The request. Its `response`, in ns, is None until `advance` or `drain` has come to its answer.

        Raises:
            InputError: `at` is before the clock, or the request reaches beyond the drive.
            SimulationError: the drive is worn out, or cannot go on.
        """
        return self._put("write", at, address, size, fua=fua)

    def read(self, at: Time | None = None, address: Size = 0, size: Size = 4096) -> Request:
        """Read bytes; as `write`."""
        return self._put("read", at, address, size)

    def trim(self, at: Time | None = None, address: Size = 0, size: Size = 4096) -> Request:
        """Tell the drive that bytes are no longer needed; as `write`."""
        return self._put("trim", at, address, size)

    def flush(self, at: Time | None = None) -> Request:
        """Ask for everything written so far to be stored; as `write`."""
        return self._put("flush", at, 0, 0)

    def _put(self, op: str, at: Time | None, address: Size, size: Size, *, fua: bool = False) -> Request:
        return self._core.put(op, _ns("at", at), _bytes("address", address), _bytes("size", size), fua)

    def run(self, workload: Any) -> int:
        """Put all requests of a workload to the drive, their times counted from the clock.

        Args:
            workload: a trace file, a data frame or arrays of requests (docs/python.md), or the keys of a
                workload, such as `{"path": "mysql.zst", "fit": "compact"}`.

        Returns:
            How many requests there were.

        Raises:
            InputError: a workload that cannot be read, or does not fit the drive.
            SimulationError: the drive is worn out, or cannot go on.
        """
        from eraseblock.experiments import workload_of

        config = {**self._experiment.config, "workload": workload_of(workload)}
        one = _only(resolve_mapping(config, "<workload>"))
        with words_of_python(()):
            return self._core.run(one.text, str(one.base), one.given)

    def advance(self, until: Time) -> None:
        """Let time pass until the clock says `until`, in ns or as a text such as `"1.5 ms"`.

        Raises:
            InputError: it is before the clock, or the run has no arrival times.
        """
        time = _ns("until", until)
        if time is None:
            raise _core.InputError("until: found None, expected a time")
        self._core.advance(time)

    def drain(self) -> None:
        """Let time pass until all requests have been answered."""
        self._core.drain()

    def stats(self) -> Stats:
        """What has been counted since the first request, and where the drive stands now."""
        stats: Stats = json.loads(self._core.stats())
        return stats

    def record(self) -> RunRecord:
        """End the run, and give its record: that of a replay of the same requests.

        What is under way ends first. The device takes no requests after that; another call gives the same
        record.

        Raises:
            InputError: there were no requests.
            SimulationError: the drive has found itself wrong.
        """
        record: RunRecord = json.loads(self._core.record())
        return record

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing has to be given back."""

    def __repr__(self) -> str:
        """What it is, and where it stands."""
        config = self._experiment.config
        buffer = config["buffer"]
        return (
            f"<eraseblock.Device {config.get('preset') or 'of its own'}: {buffer['scheme']['kind']} of "
            f"{buffer['size']} on {config['ftl']['mapping']['kind']}, at {self.clock} ns>"
        )


def _only(experiments: list[Experiment]) -> Experiment:
    if len(experiments) != 1:
        raise _core.ConfigError(f"device: a list is an axis, and these keys have {len(experiments)} points")
    return experiments[0]


def _ns(what: str, time: Time | None) -> int | None:
    """A time in ns."""
    if time is None:
        return None
    number = nanoseconds_of(what, time) if isinstance(time, str) else time
    return _whole(what, time, number, 'whole ns from 0, or a text such as "1.5 ms"')


def _bytes(what: str, size: Size) -> int:
    """Bytes of a size."""
    number: Any = size
    if isinstance(size, str):
        try:
            number = bytes_of(size)
        except ValueError:
            raise _core.InputError(f'{what}: found {size!r}, expected bytes, such as "4 KiB"') from None
    return _whole(what, size, number, 'whole bytes from 0, or a text such as "4 KiB"')


def _whole(what: str, found: Any, value: Any, expected: str) -> int:
    """A whole number, perhaps of another type, such as one of numpy's, that the engine can count to."""
    from operator import index

    try:
        number = index(value)
    except TypeError:
        number = -1
    if number >= 1 << 63:
        raise _core.InputError(f"{what}: found {found!r}, expected {expected}, below 2^63")
    if number < 0 or isinstance(value, bool):
        raise _core.InputError(f"{what}: found {found!r}, expected {expected}")
    return number
