"""A run for each volume of a trace: the figures of runs by themselves, and what they come to together."""

from __future__ import annotations

import gzip
import json
import random
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest
from conftest import Cli

import eraseblock as eb
from eraseblock import _core
from eraseblock.experiments import resolve
from eraseblock.report.page import MOST_VOLUMES, build_page
from eraseblock.results.fleet import fleets_of, sentences_of, totals_of
from eraseblock.results.record import Record
from eraseblock.results.view import rows_of
from eraseblock.volumes import each_volume

VOLUMES = (0, 3, 7, 8, 20, 500)
DRIVE: dict[str, Any] = {
    "preset": "hbm-2010",
    "nand": {"blocks_per_plane": 152},
    "ftl": {"exported": "18 MiB", "mapping": "page"},
    "buffer": {"scheme": ["lru", "fab"], "size": "64 KiB"},
    "precondition": {"state": "full"},
}
OPTIONS = (
    *("--device", "hbm-2010", "--ftls", "page", "--buffers", "lru,fab", "--buffer-size", "64KiB"),
    *("--set", "nand.blocks_per_plane=152", "--set", 'ftl.exported="18 MiB"'),
)


def requests(count: int = 1500) -> list[tuple[int, bool, int, int, int]]:
    """Volume, whether it is a read, address, length and time in us."""
    draw = random.Random(4)
    volumes = draw.choices(VOLUMES, (8, 4, 3, 2, 2, 1), k=count)
    times = sorted(draw.randrange(20_000_000) for _ in range(count))
    return [
        (volume, draw.random() < 0.3, draw.randrange(4000) * 4096, draw.choice((4096, 8192, 16384)), time)
        for volume, time in zip(volumes, times, strict=True)
    ]


def alibaba() -> str:
    return "".join(f"{v},{'R' if r else 'W'},{at},{n},{t}\n" for v, r, at, n, t in requests())


def spc() -> str:
    return "".join(
        f"{v},{at // 512},{n},{'r' if r else 'w'},{t / 1e6:.6f}\n" for v, r, at, n, t in requests()
    )


def msr() -> str:
    start = 128_166_372_000_000_000
    return "".join(
        f"{start + 10 * t},{'web' if v < 8 else 'usr'},{v},{'Read' if r else 'Write'},{at},{n},1\n"
        for v, r, at, n, t in requests()
    )


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fleet") / "fleet.csv"
    path.write_text(alibaba(), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def results(fleet: Path) -> eb.Results:
    return eb.run(DRIVE, workload={"path": str(fleet), "volumes": "each"})


def plain(records: Any) -> list[str]:
    """All that has to be the same, byte for byte."""
    return sorted(json.dumps({**record, "engine": None}) for record in records)


@pytest.mark.parametrize("text", [alibaba, spc, msr], ids=["alibaba", "spc", "msr"])
def test_volumes_run_together_are_those_run_alone(text: Any, tmp_path: Path) -> None:
    path = tmp_path / "fleet.trace.gz"
    path.write_bytes(gzip.compress(text().encode()))
    work = {"path": str(path), "format": text.__name__, "first": 150, "ops": "write"}
    together = eb.run(DRIVE, workload={**work, "volumes": "each"})
    numbers = list(dict.fromkeys(record["config"]["workload"]["volumes"] for record in together))
    assert len(numbers) == len(VOLUMES)
    # One volume by itself is read out of the whole file.
    alone = [record for number in numbers for record in eb.run(DRIVE, workload={**work, "volumes": number})]
    assert plain(together) == plain(alone)
    assert plain(eb.run(DRIVE, workload={**work, "volumes": numbers})) == plain(alone)


def test_the_file_is_read_once(fleet: Path) -> None:
    def bytes_read() -> int:
        return int(Path("/proc/self/io").read_text(encoding="utf-8").split()[1])

    if not Path("/proc/self/io").exists():
        pytest.skip("needs /proc")
    experiments = resolve(DRIVE, workload={"path": str(fleet), "volumes": "each"})
    before = bytes_read()
    each = each_volume(experiments)
    for one in each:
        _core.identify(one.text, str(one.base))
    read = bytes_read() - before
    _core.forget_volumes()
    assert len(each) == 2 * len(VOLUMES)
    # Twice: its beginning shows what format it has.
    assert read < 3 * fleet.stat().st_size


def test_totals_are_sums_and_ratios_of_sums(results: eb.Results) -> None:
    lru, fab = results.fleet()
    assert (lru["scheme"], fab["scheme"], lru["volumes"]) == ("lru", "fab", len(VOLUMES))
    own = [record for record in results if record["config"]["buffer"]["scheme"]["kind"] == "lru"]
    programs = sum(record["flash"]["programs"]["total"] for record in own)
    written = sum(record["host_pages"]["write"] for record in own)
    assert lru["flash_writes"] == programs > 0
    assert lru["waf"] == programs / written
    assert lru["erases"] == sum(record["flash"]["erases"]["total"] for record in own) > 0
    assert lru["requests"] == len(requests())
    assert lru["write_bytes"] == 2048 * written
    hits = sum(
        (record["hit_ratio"]["all"] or 0) * (record["host_pages"]["read"] + record["host_pages"]["write"])
        for record in own
    )
    pages = sum(record["host_pages"]["read"] + record["host_pages"]["write"] for record in own)
    assert lru["hit_ratio"] == pytest.approx(hits / pages)
    # The mean of means is another figure.
    times = [record["response_ns"]["all"] for record in own]
    assert all(times)
    total = sum(one["mean"] * one["count"] for one in times if one)
    assert lru["mean_response_ns"] == pytest.approx(total / lru["requests"])
    wafs = {record["config"]["workload"]["volumes"]: record["waf"] or 0 for record in own}
    spread = lru["spread"]["waf"]
    assert spread is not None
    assert wafs[spread["worst"]["volume"]] == spread["worst"]["value"] == max(wafs.values())
    ordered = sorted(wafs.values())
    assert (spread["median"], spread["p90"]) == (ordered[2], ordered[5])
    for record in own:
        assert record["waf"] == record["flash"]["programs"]["total"] / record["host_pages"]["write"]


def test_one_volume_is_no_fleet(results: eb.Results) -> None:
    assert totals_of(cast(list[Record], results[:1])) == []
    assert eb.Results(results[:1]).fleet() == []
    assert eb.frame(results.fleet())["volumes"].to_list() == [len(VOLUMES)] * 2


def test_some_volumes_or_the_busiest(fleet: Path) -> None:
    def numbers(volumes: str) -> list[int]:
        found = each_volume(resolve(DRIVE, workload={"path": str(fleet), "volumes": volumes}))
        _core.forget_volumes()
        return [one.config["workload"]["volumes"] for one in found[: len(found) // 2]]

    assert numbers("each") == list(VOLUMES)
    assert numbers("each:20,0") == [0, 20]
    counts = {number: sum(one[0] == number for one in requests()) for number in VOLUMES}
    busiest = sorted(VOLUMES, key=lambda number: -counts[number])
    assert numbers("busiest:3") == busiest[:3]
    assert numbers("busiest:99") == busiest


def test_a_folder_goes_on_and_keeps_totals(cli: Cli, fleet: Path, tmp_path: Path, results: Any) -> None:
    out = tmp_path / "out"
    own = {"nand.blocks_per_plane": 152, "ftl.exported": "18 MiB"}
    half = eb.compare(
        str(fleet),
        buffers=["lru", "fab"],
        sizes="64 KiB",
        ftls="page",
        device="hbm-2010",
        sets={**own, "precondition.state": "full"},
        workload={"volumes": "each"},
        out=out,
        shard="1/2",
    )
    assert len(half) == 6
    words = ("--set", "precondition.state=full", "--volumes", "each", "-o", str(out), "--json")
    ended = cli("compare", str(fleet), *OPTIONS, *words)
    assert ended.returncode == 0, ended.stderr
    assert "6 of 12 runs found" in ended.stderr
    asked = json.loads(ended.stdout)
    told = json.loads((out / "fleet.json").read_text(encoding="utf-8"))
    assert asked["fleet"] == told
    assert len(asked["records"]) == 12
    assert told == json.loads(json.dumps(results.fleet()))
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "All volumes together" in page
    assert f"volume {told[0]['spread']['waf']['worst']['volume']}</td>" in page


def test_what_cannot_be_is_told(cli: Cli, fleet: Path) -> None:
    missing = cli("compare", str(fleet), *OPTIONS, "--volumes", "each:0,9")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert "fleet.csv has no volume 9, only 0, 3, 7, 8, 20, 500" in missing.stderr
    odd = cli("compare", str(fleet), *OPTIONS, "--volumes", "busy:9")
    assert odd.returncode == 2
    assert odd.stderr.startswith("eraseblock: --volumes: ")
    assert 'found `busy:9`, expected "concat"' in odd.stderr
    one_drive = cli("trace", "info", str(fleet), "--volumes", "each")
    assert one_drive.returncode == 2
    assert "`each` stands for a run of each volume, and here is one drive" in one_drive.stderr


def test_volumes_of_too_few_requests_are_named_and_the_others_run(cli: Cli, fleet: Path) -> None:
    warm_up = ("--set", "host.warm_up=100", "--volumes", "each", "--json")
    ended = cli("compare", str(fleet), *OPTIONS, *warm_up)
    few = sum(sum(one[0] == number for one in requests()) <= 100 for number in VOLUMES)
    assert few > 0
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["fleet"][0]["volumes"] == len(VOLUMES) - few
    assert ended.stderr.count("refused") == 1
    assert "500" in ended.stderr


def test_nothing_is_left_where_volumes_were_kept(fleet: Path, tmp_path: Path, cli: Cli) -> None:
    kept = tmp_path / "temporary"
    kept.mkdir()
    ended = cli("compare", str(fleet), *OPTIONS, "--volumes", "each", TMPDIR=str(kept))
    assert ended.returncode == 0, ended.stderr
    assert "6 volumes, a drive for each" in ended.stdout
    assert "written   flash writes   erases" in ended.stdout
    assert list(kept.iterdir()) == []


def test_a_page_of_many_volumes_shows_the_busiest(results: eb.Results) -> None:
    first = cast(Record, results[0])
    records = []
    for number in range(MOST_VOLUMES + 10):
        config = {**first["config"], "workload": {**first["config"]["workload"], "volumes": number}}
        records.append({**first, "config": config, "trace": {**first["trace"], "requests": number}})
    page = build_page(records)
    assert "10 further runs are not in this page" in page
    assert f"{MOST_VOLUMES + 10} volumes, a drive for each" in page
    assert len(rows_of(records)) == MOST_VOLUMES + 10


def test_the_sentence_on_rivals_is_of_one_ftl_and_of_trusted_runs(results: eb.Results) -> None:
    def said(records: list[dict[str, Any]]) -> list[str]:
        return sentences_of(fleets_of(rows_of(records)))

    records: list[dict[str, Any]] = [deepcopy(dict(cast(Any, one))) for one in results]
    (text,) = said(records)
    assert "on hbm-2010, page, buffer" in text
    assert "has the best" in text
    other = deepcopy(records)
    for one in other:
        if one["config"]["buffer"]["scheme"]["kind"] == "fab":
            one["config"]["ftl"]["mapping"] = {"kind": "dftl"}
    assert said(other) == []
    records[0]["trusted"] = False
    doubt = f"; 1 of {len(records)} runs are not to be trusted, and their volumes (1) do not count"
    assert doubt in said(records)[0]
    # Whatever it comes to there.
    before = said(records)
    records[0]["response_ns"]["all"]["mean"] *= 1000
    assert said(records) == before
    for one in records:
        one["trusted"] = False
    assert said(records)[0].endswith("no verdict, as no run is to be trusted")


def test_a_volume_on_which_a_drive_wore_out_early_does_not_count(results: eb.Results) -> None:
    def said(records: list[dict[str, Any]]) -> str:
        return sentences_of(fleets_of(rows_of(records)))[0]

    records: list[dict[str, Any]] = [deepcopy(dict(cast(Any, one))) for one in results]
    number = records[0]["config"]["workload"]["volumes"]
    records[0]["end_of_life"] = {"host_bytes": 4096, "unanswered": 1}
    records[0]["requests"]["completed"] -= 1
    assert said(records).endswith(
        "of 1 volumes, which do not count, drives wore out before others had served as much"
    )
    before = said(records)
    records[0]["response_ns"]["all"]["mean"] *= 1000
    assert said(records) == before
    # Where all served as much, it does.
    for one in records:
        if one["config"]["workload"]["volumes"] == number:
            one["requests"]["completed"] = records[0]["requests"]["completed"]
    assert "do not count" not in said(records)


def test_a_volume_is_no_design_to_take(results: eb.Results) -> None:
    lru = [one for one in results if one["config"]["buffer"]["scheme"]["kind"] == "lru"]
    assert len(lru) == len(VOLUMES)
    assert not any("take" in sentence for sentence in eb.verdict(lru))
