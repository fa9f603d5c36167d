"""The player's data: what a log tells of the buffer after each request; logs that cannot be true."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL_DRIVE, Cli
from report_page import data_of

import eraseblock
from eraseblock.cli import main
from eraseblock.player.log import read_log
from eraseblock.player.scenes import Scene, scenes_of

BUFFERS = [entry["name"] for entry in eraseblock.registry()["buffers"]]
# A log does not tell which pages of a padded block were never written, and so are not written then either.
UNPADDED = {
    "cold-groups": '{ kind = "cold-groups", padding = false }',
    "ensemble": '{ kind = "ensemble", experts = ["cave", "gb", "clc"] }',
}
SCHEMES = f"[{', '.join(UNPADDED.get(name, json.dumps(name)) for name in BUFFERS)}]"
# Every operation that a log knows but one: forced writes are in an example of LRU.
EVERYTHING = f"""\
{SMALL_DRIVE}
[buffer]
size = "128 KiB"
scheme = {SCHEMES}

[host]
replay = "untimed"

[workload.generate]
kind = "zipf"
requests = 200
footprint = "2 MiB"
read_share = 0.3
trim_share = 0.05
flush_share = 0.02
size = {{"2 KiB" = 60, "16 KiB" = 30, "256 KiB" = 10}}
"""
START = {"op": "start", "events": 1, "scheme": "lru", "buffer_pages": 2, "pages_per_block": 4}
# Page 0 leaves for page 2.
WRITES: list[dict[str, Any]] = [
    {"request": 0, "op": "write", "page": 0, "count": 2, "answers": ["insert", "insert"]},
    {
        "request": 1,
        "op": "write",
        "page": 2,
        "count": 1,
        "answers": ["insert"],
        "evictions": [{"before": 0, "reason": "last", "action": "flush", "pages": [0], "dirty": [0]}],
    },
    {"op": "end"},
]


def held_after(scene: Scene) -> list[dict[int, bool]]:
    """What the page makes of the steps: the pages after each, with whether they are dirty."""
    held = {page: page in scene.start["dirty"] for page in scene.start["pages"]}
    found = []
    for step in scene.steps:
        for page in step["gone"]:
            del held[page]
        held |= dict.fromkeys(step["cleaned"], False)
        assert set(step["came"]) == {
            page for page in step["used"] if page not in held or page in step["came"]
        }
        held |= {page: page in step["dirty"] for page in step["used"]}
        found.append(dict(held))
    return found


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the command is called."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_log(path: Path, *lines: Any) -> Path:
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (START, *lines)), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", BUFFERS)
def test_examples_hold_what_the_buffer_held(name: str) -> None:
    for scene in scenes_of(name):
        for step, held in zip(scene.steps, held_after(scene), strict=True):
            assert sorted(held) == sorted(page for group in step["order"] for page in group)


def test_pages_of_schemes_lead_to_their_player() -> None:
    docs = Path(__file__).parents[2] / "docs"
    for path in docs.glob("*/*.md"):
        led = f"`eraseblock play {path.stem} --open`" in path.read_text(encoding="utf-8")
        assert led == (path.parent.name == "buffers" and path.stem in BUFFERS), path


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, eraseblock.Record], list[Path]]:
    """A run of each buffer, and its log."""
    folder = tmp_path_factory.mktemp("player")
    path = folder / "all.toml"
    path.write_text(EVERYTHING, encoding="utf-8")
    records = eraseblock.run(path, events=f"{folder}/logs")
    kinds = [record["config"]["buffer"]["scheme"]["kind"] for record in records]
    return dict(zip(kinds, records, strict=True)), sorted((folder / "logs").iterdir())


def test_every_log_is_followed_and_comes_to_the_figures_of_its_run(
    logs: tuple[dict[str, eraseblock.Record], list[Path]],
) -> None:
    records, paths = logs
    assert len(paths) == len(BUFFERS)
    for path in paths:
        found = read_log(path)
        record, scene = records[found.scheme], found.scene
        assert (len(scene.steps), scene.notes) == (200, [])
        assert max(map(len, held_after(scene))) <= scene.capacity
        pages, hits, host, to_flash, *_ = scene.steps[-1]["counts"]
        assert hits / pages == pytest.approx(record["hit_ratio"]["all"] or 0)
        programs = record["flash"]["programs"]
        assert (to_flash, host > 0) == (programs["host"] + programs["padding"], True), found.scheme


def test_a_window_of_a_log_begins_with_what_was_held_then(
    logs: tuple[dict[str, eraseblock.Record], list[Path]],
) -> None:
    path = logs[1][BUFFERS.index("hbm")]
    whole, window = read_log(path).scene, read_log(path, skip=100, first=50).scene
    assert window.steps == whole.steps[100:150]
    assert held_after(window) == held_after(whole)[100:150]
    assert window.before == whole.steps[99]["counts"]
    assert window.notes == [
        "The first 100 requests are not shown; the figures count them.",
        "The log goes on after these 50 requests; --skip 150 shows what follows.",
    ]


def test_large_requests_end_a_page_sooner(
    logs: tuple[dict[str, eraseblock.Record], list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = logs[1][BUFFERS.index("hbm")]
    monkeypatch.setattr("eraseblock.player.log._MOST_MENTIONS", 500)
    scene = read_log(path, skip=10).scene
    assert 1 < len(scene.steps) < 100
    assert scene.notes[1].endswith(f"--skip {10 + len(scene.steps)} shows what follows.")


def test_a_log_of_a_stopped_run_says_so(tmp_path: Path) -> None:
    path = write_log(tmp_path / "log.jsonl", *WRITES[:2])
    assert read_log(path).scene.notes == ["The log stops before its run came to an end."]


def changed(line: int, **values: Any) -> list[dict[str, Any]]:
    return [{**one, **(values if place == line else {})} for place, one in enumerate(WRITES)]


def leaving(**values: Any) -> list[dict[str, Any]]:
    return changed(1, evictions=[{**WRITES[1]["evictions"][0], **values}])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (changed(0, answers=["insert", "hit"]), "line 2: page 1 is a hit, and the buffer does not hold it"),
        (changed(1, page=1), "line 3: page 1: insert, and the buffer holds it already"),
        (changed(1, evictions=[]), "line 3: the buffer has 2 pages, and would hold 3"),
        (leaving(pages=[7]), "line 3: page 7 leaves, and the buffer does not hold it"),
        (leaving(dirty=[]), "line 3: page 0 is dirty, and leaves as clean"),
        (leaving(before=2), 'line 3: "evictions" has no "before" that names a page of the request'),
        (leaving(action="burn"), 'line 3: "evictions" has no "action" or no "reason" that a buffer has'),
        (leaving(pages=["x"]), 'line 3: "evictions[].pages" is no list of pages'),
        (changed(0, count=3), 'line 2: "answers" has 2 answers for 3 pages'),
        (changed(0, answers=["insert", "fill"]), "line 2: \"answers\" of a write holds 'fill'"),
        (changed(1, notes=[7]), 'line 3: "notes" has no "before" that names a page of the request'),
        (changed(1, notes=[{"before": 0, "what": ""}]), 'line 3: "notes" has no "what" that says something'),
        (changed(1, page=-1), 'line 3: "page" is no number'),
        (changed(1, op="wirte"), 'line 3: has no "op" that a log of decisions has'),
        ([{"op": "flush"}], 'line 2: `flush` has no "request"'),
        ([*WRITES, WRITES[0]], "line 5: more follows after the end of the log"),
        ([], "nothing to play: the log holds no requests"),
    ],
)
def test_a_line_that_cannot_be_true_is_named(tmp_path: Path, lines: list[Any], said: str) -> None:
    path = write_log(tmp_path / "log.jsonl", *lines)
    with pytest.raises(eraseblock.InputError) as error:
        read_log(path)
    assert str(error.value) == f"{path}: {said}"


def _text(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (_text(""), "log.jsonl: line 1 is not the start of a log as `--events` writes it\n"),
        (_text('{"op":"write"}\n'), "log.jsonl: line 1 is not the start of a log as `--events` writes it\n"),
        (_text("1,2,3\n"), "log.jsonl: line 1 is no line of JSON: '1,2,3'\n"),
        (
            _text('{"op":"start","events":2}'),
            "log.jsonl: line 1: found version 2 of the log's format, expected 1\n",
        ),
        (
            _text(f"{json.dumps(START)}\n{json.dumps(WRITES[0])}\n{json.dumps(WRITES[1])[:40]}"),
            'log.jsonl: line 3 is no line of JSON: \'{"request": 1,',
        ),
        (_text(json.dumps({**START, "pages_per_block": 0})), 'log.jsonl: line 1: "pages_per_block" is no '),
        (lambda path: path.write_bytes(b"\x28\xb5\x2f\xfd\x04"), "log.jsonl: cannot be read: "),
        (lambda path: path.write_bytes(b"\xff\xfe\n"), "log.jsonl: cannot be read: "),
        (lambda path: path.mkdir(), "log.jsonl: is a folder; name one of the logs in it\n"),
        (lambda _: None, "play: there is no file log.jsonl, and there is no `log.jsonl`"),
    ],
)
def test_files_that_are_no_logs_are_refused(
    here: Path, capsys: pytest.CaptureFixture[str], make: Callable[[Path], object], said: str
) -> None:
    make(here / "log.jsonl")
    assert main(["play", "log.jsonl"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"eraseblock: {said}"), shown.err
    assert not list(here.glob("*.html*"))


def test_a_scheme_plays_its_examples(cli: Cli, tmp_path: Path) -> None:
    ran = cli("play", "bplru")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "player: bplru-player.html\n", "")
    page = (tmp_path / "bplru-player.html").read_text(encoding="utf-8")
    assert len(page) < 100_000
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    data = data_of(page)
    assert [scene["title"] for scene in data["scenes"]] == [f"The paper's figure {n}" for n in (3, 4, 5)]
    padded = data["scenes"][1]["steps"][-1]["done"][0]
    assert (padded["action"], padded["padding"]) == ("flush-padded", [13, 14])


def test_a_log_is_played_in_parts(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_log(here / "log.jsonl", *WRITES)
    assert main(["play", "log.jsonl", "--first", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "player": "log-player.html",
        "steps": 1,
        "notes": ["The log goes on after this request; --skip 1 shows what follows."],
    }
    for arguments, said in (
        (("--skip", "9"), "log.jsonl: nothing to play: the log has 2 requests, --skip 9"),
        (("--skip", "-1"), "--skip: found -1, expected 0 or more"),
        (("--first", "0"), "--first: found 0, expected 1 to 100000; --skip leads further into a log"),
        (("-o", "page.txt"), "-o: page.txt does not end in .html"),
        (("-o", "nowhere/page.html"), "nowhere/page.html: no such file or directory"),
    ):
        assert main(["play", "log.jsonl", *arguments]) > 0
        assert capsys.readouterr().err == f"eraseblock: {said}\n"
    assert main(["play", "lru", "--first", "2"]) == 2
    assert capsys.readouterr().err == (
        "eraseblock: --first: `lru` plays its examples, which are short; name a log\n"
    )
