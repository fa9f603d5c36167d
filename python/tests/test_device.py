"""A drive that is stepped: it does what a replay does, and says when."""

from __future__ import annotations

import gc
import json
import signal
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from given_requests import DRIVE, One, columns, requests

import eraseblock as eb

REQUESTS = requests(600)


def written(record: Mapping[str, Any]) -> str:
    """A record's bytes, but for how fast the engine was."""
    return json.dumps({key: value for key, value in record.items() if key != "engine"})


def put(device: eb.Device, one: One) -> eb.Request:
    match one.op:
        case "write":
            return device.write(one.at, one.address, one.size, fua=one.fua)
        case "flush":
            return device.flush(one.at)
        case op:
            request: eb.Request = getattr(device, op)(one.at, one.address, one.size)
            return request


def test_keys_that_are_named_displace_those_of_the_table() -> None:
    table = {**DRIVE, "host": {"replay": "closed", "max_outstanding": 4}}
    host = eb.Device(table, host={"replay": "untimed"}).config["host"]
    assert (host["replay"], host["max_outstanding"]) == ("untimed", 4)


def drives() -> Iterable[dict[str, Any]]:
    for ftl in ("page", "bast", "fast", "dftl"):
        for buffer in ("none", "lru", "bplru", "hbm"):
            replay = {"page": "open", "bast": "open", "fast": "closed", "dftl": "untimed"}[ftl]
            host: dict[str, Any] = {"replay": replay, "end_of_run": "flush" if buffer == "lru" else "keep"}
            if ftl == "page" and buffer != "hbm":
                # It falls behind: requests are admitted late, and the host's clock does not wait.
                host |= {"max_outstanding": 2, "speedup": 3.0, "warm_up": 100}
            nand = DRIVE["nand"] | ({"pages_per_program": 2} if (ftl, buffer) == ("page", "hbm") else {})
            tables = {"host": host, "ftl": {**DRIVE["ftl"], "mapping": ftl}, "nand": nand}
            yield {**DRIVE, **tables, "buffer": {"scheme": buffer, "size": "256 KiB"}, "bounds": False}


@pytest.mark.parametrize(
    "drive", [pytest.param(d, id=f"{d['ftl']['mapping']}-{d['buffer']['scheme']}") for d in drives()]
)
def test_requests_one_by_one_give_the_record_of_their_replay(drive: dict[str, Any]) -> None:
    [replayed] = eb.run(drive, workload=columns(REQUESTS))
    stepped, whole = eb.Device(drive), eb.Device(drive)
    put_all = []
    timed = drive["host"]["replay"] == "open"
    for number, (one, after) in enumerate(zip(REQUESTS, [*REQUESTS[1:], REQUESTS[-1]], strict=True)):
        put_all.append(put(stepped, one))
        # Looking up in between, at any time, changes nothing.
        if timed and number % 3 == 0:
            stepped.advance(one.at + (after.at - one.at) // 2)
        if timed and number % 7 == 0:
            stepped.advance(after.at)
    whole.run(columns(REQUESTS))
    stepped.drain()
    assert all(request.done for request in put_all)
    responses = [request.response for request in put_all]
    assert written(stepped.record()) == written(replayed) == written(whole.record())
    if drive["host"]["replay"] == "untimed":
        assert responses == [None] * len(REQUESTS)
    else:
        measured = responses[drive["host"].get("warm_up", 0) :]
        times = replayed["response_ns"]["all"]
        assert times is not None
        assert max(value for value in measured if value is not None) == times["max"]


def test_a_file_is_replayed_as_by_run(trace: Path) -> None:
    drive = {**DRIVE, "buffer": {"scheme": "lru", "size": "256 KiB"}}
    [replayed] = eb.run(drive, workload=trace)
    device = eb.Device(drive)
    assert device.run(trace) == replayed["requests"]["submitted"]
    record = device.record()
    # It is the same in all but where its requests come from.
    for key in replayed.keys() - {"engine", "key", "trace", "config"}:
        assert dict(record)[key] == dict(replayed)[key], key
    assert device.record() is not record
    assert device.record() == record


def test_responses_come_when_the_clock_has_come_to_them() -> None:
    device = eb.Device("nvme-tlc", buffer="none", precondition={"state": "empty"})
    first = device.write(at="1 ms", address=0, size="16 KiB", fua=True)
    second = device.read(at=1_000_500, address=1 << 20, size=4096)
    assert (first.number, second.number, first.at, device.clock) == (0, 1, 1_000_000, 1_000_500)
    assert first.response is None
    assert not first.done
    device.advance("1.0006 ms")
    assert (first.response, device.clock) == (None, 1_000_600)
    device.drain()
    took = [request.response for request in (first, second)]
    # The clock stands at the last answer.
    assert device.clock == first.at + max(one for one in took if one is not None)
    again = device.write(address=0, size="16 KiB", fua=True)
    device.advance(again.at + 100)
    assert "under way" in repr(again)
    device.advance("1 s")
    assert again.response is not None
    assert device.stats()["requests"] == {"submitted": 3, "answered": 3}
    assert "answered after" in repr(again)


def test_what_cannot_be_is_said_and_changes_nothing() -> None:
    device = eb.Device("hbm-2010", buffer="lru", buffer_size="4 MiB", precondition={"state": "empty"})
    device.write(at=2_000, address=0, size=4096)
    half: Any = 0.5
    for wrong, said in (
        (lambda: device.write(at=1_999), "at: found 1999 ns, which is before the device's clock (2000 ns)"),
        (lambda: device.advance(1_000), "until: found 1000 ns, which is before the device's clock (2000 ns)"),
        (lambda: device.read(at=half), 'at: found 0.5, expected whole ns from 0, or a text such as "1.5 ms"'),
        (lambda: device.read(at="soon"), "at: found 'soon', expected a time"),
        (lambda: device.read(at=1 << 64), "at: found 18446744073709551616, expected whole ns from 0"),
        (lambda: device.read(at=(1 << 62) + 3_000), "it arrives after more than a century"),
        (lambda: device.read(address=-1), "address: found -1, expected whole bytes from 0"),
        (lambda: device.read(size="4 zB"), "size: found '4 zB', expected bytes"),
        (lambda: device.read(address="-4 KiB"), "address: found '-4 KiB', expected bytes"),
        (lambda: device.read(address="99999999999 TiB"), "address: found '99999999999 TiB', expected whole"),
        (lambda: device.read(at="99999999999 s"), "at: found '99999999999 s', expected whole ns from 0"),
        (lambda: device.advance("-1 s"), "until: found '-1 s', expected a time"),
        (lambda: device.read(size=0), "it asks for no bytes"),
        (lambda: device.read(address=device.exported_bytes), "it ends beyond the drive's"),
        (lambda: device.run("there-is-none.spc"), "there-is-none.spc: no such file"),
        (lambda: device.run(7), "workload: found int, expected a path"),
    ):
        with pytest.raises(eb.EraseblockError) as raised:
            wrong()
        assert said in str(raised.value)
    assert device.stats()["requests"]["submitted"] == 1
    assert device.read(size="4KiB").number == 1
    device.record()
    with pytest.raises(eb.InputError, match="the device has ended its run"):
        device.write()


def test_a_device_that_cannot_be_is_refused() -> None:
    for keys, said in (
        ({"buffer": "opt"}, "needs to know all requests beforehand"),
        ({"precondition": {"state": "workload"}}, "needs to know all requests beforehand"),
        ({"buffer": ["lru", "fab"]}, "a list is an axis"),
        ({"workload": {"path": "a"}}, "a device takes its requests from"),
        ({"bufer": {}}, "unknown key `bufer`"),
    ):
        with pytest.raises(eb.EraseblockError, match=said):
            eb.Device("hbm-2010", **keys)
    with pytest.raises(eb.InputError, match="the device was given no requests"):
        eb.Device("hbm-2010", precondition={"state": "empty"}).record()
    closed = eb.Device("hbm-2010", precondition={"state": "empty"}, host={"replay": "closed"})
    with pytest.raises(eb.InputError, match="use drain"):
        closed.advance(5)


def test_at_moves_the_clock_of_a_closed_run() -> None:
    def run(at: int) -> eb.Device:
        device = eb.Device("hbm-2010", precondition={"state": "empty"}, host={"replay": "closed"})
        for number in range(3):
            device.write(at=at * number, address=4096 * number)
        return device

    slow, quick = run(1_000_000_000), run(0)
    assert (slow.clock, quick.clock) == (2_000_000_000, 0)
    slow_record, quick_record = slow.record(), quick.record()
    assert slow_record["response_ns"] == quick_record["response_ns"]
    assert slow_record["trace"] != quick_record["trace"]


def test_times_beyond_the_clock_are_an_error() -> None:
    device = eb.Device("hbm-2010", buffer="lru", precondition={"state": "empty"}, host={"replay": "untimed"})
    late = {"op": ["write"], "address": [0], "size": [4096], "at": [(1 << 63) - 1]}
    device.run(late)
    device.run(late)
    with pytest.raises(eb.InputError, match="a time is beyond the device's clock"):
        device.run(late)
    assert device.stats()["requests"]["submitted"] == 2


def test_the_end_of_life_ends_the_run_and_is_in_its_record() -> None:
    drive = {
        **DRIVE,
        "nand": {"blocks_per_plane": 60, "endurance": 3},
        "buffer": {"scheme": "lru", "size": "8 KiB"},
    }
    drive["ftl"] = {"mapping": "page", "exported": "5 MiB"}
    many = [one._replace(address=one.address % (4 << 20)) for one in requests(3000, seed=2)]
    [replayed] = eb.run(drive, workload=columns(many))
    assert replayed["end_of_life"] is not None
    device = eb.Device(drive)
    device.run(columns(many[:1]))
    with pytest.raises(eb.SimulationError, match="at the end of its life"):
        device.run(columns([one._replace(at=one.at - many[0].at) for one in many[1:]]))
    with pytest.raises(eb.InputError, match="takes no more requests"):
        device.write()
    assert device.record()["end_of_life"] == replayed["end_of_life"]


def test_two_threads_at_once_are_told_and_ctrl_c_ends_a_run() -> None:
    device = eb.Device("hbm-2010", buffer="lru", precondition={"state": "empty"}, host={"replay": "untimed"})
    said: list[str] = []

    def other() -> None:
        try:
            while not said:
                device.stats()
        except eb.InputError as error:
            said.append(str(error))
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=other)
    work = {"generate": {"kind": "uniform", "requests": 1_000_000_000, "footprint": "1 GiB"}}

    def run_until_stopped() -> None:
        # The other thread may have the device just when this one wants it.
        while True:
            with suppress(eb.InputError):
                device.run({**work, "fit": "wrap"})

    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run_until_stopped()
    thread.join()
    assert said == ["the device is at work for another thread; let one thread at a time use it"]
    # What came until then has been served.
    assert device.write(size=4096).number == device.stats()["requests"]["submitted"] - 1


def test_requests_that_nobody_holds_are_forgotten() -> None:
    device = eb.Device("hbm-2010", buffer="lru", precondition={"state": "empty"})
    kept = device.write(address=0)
    for page in range(100):
        device.write(address=4096 * page)
    gc.collect()
    device.drain()
    assert kept.response is not None


def test_volumes_of_a_table_are_laid_out_once() -> None:
    made = [one for one in requests(300) if one.op in ("read", "write")]
    table = {**columns(made), "volume": [number % 3 for number in range(len(made))]}
    table["address"] = [address // 4096 * 1024 for address in table["address"]]
    drive = {**DRIVE, "buffer": {"scheme": "lru", "size": "256 KiB"}, "bounds": False}
    device = eb.Device(drive)
    device.run(table)
    [replayed] = eb.run(drive, workload=table)
    record = device.record()
    for figure in ("response_ns", "flash", "hit_ratio", "requests"):
        assert record[figure] == replayed[figure], figure
