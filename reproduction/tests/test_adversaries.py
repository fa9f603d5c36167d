"""Where each buffer is worst: how it is searched, made plain and stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Cli

from eraseblock import InputError
from eraseblock_reproduction.adversaries.bench import FTLS, ORDINARY, Asked, Bench
from eraseblock_reproduction.adversaries.search import BATCH, Effort, Search, Tried, worst
from eraseblock_reproduction.adversaries.shrink import Shrinking, shrinking
from eraseblock_reproduction.adversaries.space import BUFFER_PAGES, LONG, Part, Workload, workload_of
from eraseblock_reproduction.adversaries.stored import Found, Stored, forget, is_whole
from eraseblock_reproduction.adversaries.survey import left_out, survey
from eraseblock_reproduction.adversaries.words import spread


def test_a_search_is_the_same_each_time_and_goes_on_where_it_was_stopped() -> None:
    effort = Effort(drawn=BATCH, rounds=1)

    def search(found: list[Tried]) -> list[Tried]:
        for _ in Search(Bench(), "page", ORDINARY, effort, 1).go_on(found):
            pass
        return found

    whole = search([])
    assert len(whole) == BATCH + len(ORDINARY)
    assert len({one.workload for one in whole}) == len(whole)
    assert search(whole[:BATCH]) == whole
    assert Search(Bench(), "page", ORDINARY, effort, 2).trials == len(whole)


def _part(**figures: object) -> Part:
    table = {"kind": "uniform", "span": 4, "size": 1, "reads": 0, "theta": None, "aligned": False}
    return Part(**{**table, **figures})  # type: ignore[arg-type]


def test_ratios_are_to_the_best_of_the_other_ordinary_ones() -> None:
    costs = {"none": [8.0, 9.0], "lru": [4.0, 10.0], "block-lru": [6.0, 12.0], "hbm": [12.0, 18.0]}
    one = Tried({"parts": 1}, costs)
    assert (one.ratio("hbm", "response"), one.ratio("hbm", "programs")) == (3.0, 2.0)
    # It is not set against itself, and what has no figures against nobody.
    assert (one.ratio("lru", "response"), one.ratio("fab", "response")) == (4 / 6, None)
    other = Tried({"parts": 2}, {**costs, "hbm": [20.0, 18.0]})
    lacking = Tried({"parts": 3}, {"lru": [1.0, 1.0]})
    assert worst([one, lacking, other], "hbm", "response", 2) == [other, one]
    assert worst([one, lacking, other], "hbm", "programs", 3) == [one, other]


def test_pages_still_held_count_as_written() -> None:
    """A place that fits into the buffer is never written back by lru, which would make any ratio endless."""
    bench = Bench()
    asked = Asked("page", Workload(_part(span=0.25)))
    lru = bench.run(asked, "lru")
    assert (lru.figures["programs"], lru.cost("programs")) == (0, BUFFER_PAGES)
    none = bench.run(asked, "none")
    ratio = bench.ratio(asked, "none", "programs")
    assert ratio == (none.figures["programs"] + BUFFER_PAGES) / BUFFER_PAGES
    assert bench.best(asked, "lru", "programs") == "block-lru"


def _shrunk(workload: Workload, is_bad: Callable[[Workload], bool]) -> tuple[Workload, list[Workload]]:
    """What is left, and all that was tried."""
    way, asked = shrinking(workload), list[Workload]()
    some = next(way)
    while True:
        asked += some
        try:
            some = way.send(next((one for one in some if is_bad(one)), None))
        except StopIteration as end:
            return end.value, asked


def test_a_workload_is_made_plain_as_far_as_it_stays_bad() -> None:
    second = _part(kind="sequential", reads=1, span=8)
    bad = Workload(_part(kind="zipf", theta=1.2, size=16, reads=0.25), second, 0.1, 5, apart=False)
    plain, asked = _shrunk(bad, lambda one: one.second is not None and one.first.size >= 16)
    assert plain == Workload(_part(size=64), _part(), 0.5, 0, apart=True)
    # Alone, the second part only reads: no such workload is tried.
    assert Workload(bad.first) in asked
    assert Workload(second) not in asked
    assert _shrunk(bad, lambda _: False)[0] == bad


def test_workloads_are_what_their_words_say() -> None:
    one = Workload(_part(size=4, reads=0.25), _part(kind="sequential", span=1.25, size=64), 0.1, 5)
    assert one.words == (
        "75 % writes of 4 pages, at random over 4 buffers; 10 % of the requests are writes of 64 pages, in a "
        "loop over 1.25 buffers behind them; in turns of 2 buffers together"
    )
    assert workload_of(one.point) == one
    settings = one.settings(LONG, 3)
    turns = settings["workload.generate"]["streams"]
    # Twice as long a run has twice as many turns.
    assert len(turns) == 20
    requests = {name: sum(turns[f"{name}{turn}"]["requests"] for turn in range(10)) for name in "ab"}
    assert requests["b"] / sum(requests.values()) == pytest.approx(0.1, rel=0.03)
    pages = 4 * requests["a"] + 64 * requests["b"]
    assert pages == pytest.approx(LONG * BUFFER_PAGES, rel=0.03)
    assert settings["host.warm_up"] == round(0.6 * sum(requests.values()))
    assert turns["b0"]["start"] == "8 MiB"


def _as_it_is(workload: Workload) -> Shrinking:
    """Nothing is made plain, which takes many runs."""
    yield []
    return workload


def test_what_is_stored_is_not_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eraseblock_reproduction.adversaries.survey.shrinking", _as_it_is)
    effort = Effort(drawn=1, rounds=1)
    told: list[str] = []
    # Known from a former search: all of it fits into the others.
    bad = workload_of(
        {"parts": 1, "first.kind": "uniform", "first.span": 1, "first.size": 1, "first.reads": 0}
    )
    point = json.dumps({"point": bad.point})
    (tmp_path / "known.jsonl").write_text(f'{{"format": "eraseblock adversaries 1"}}\n{point}\n')

    def go() -> Stored:
        kept = Stored(tmp_path, effort, 1, ORDINARY, {})
        survey(Bench(), kept, told.append)
        return kept

    first = go()
    assert len(first.found) == len(ORDINARY) * len(FTLS) * 2
    assert first.found["none", "page", "response"].workload == bad
    steps = len(told)
    lines = (tmp_path / "found.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "found.jsonl").write_text("".join(lines[: -2 * len(ORDINARY)]))
    again = go()
    assert len(told) == steps + 1
    assert (tmp_path / "found.jsonl").read_text() == "".join(lines)
    assert again.found == first.found
    assert is_whole(tmp_path, effort, 1, [*ORDINARY])
    assert not is_whole(tmp_path, effort, 2, [*ORDINARY])
    assert not is_whole(tmp_path, effort, 1, [*ORDINARY, "hbm"])
    with pytest.raises(InputError, match="made with another engine, effort, seed or list of buffers"):
        Stored(tmp_path, effort, 2, ORDINARY, {})
    forget(tmp_path)
    anew = Stored(tmp_path, effort, 2, ORDINARY, {})
    assert not anew.found
    assert set(anew.known) == {one.workload for one in first.found.values()}


def test_nothing_is_forgotten_where_known_workloads_cannot_be_read(tmp_path: Path) -> None:
    head = json.dumps({"format": "eraseblock adversaries 1"})
    for name in ("tried.jsonl", "plain.jsonl", "found.jsonl"):
        (tmp_path / name).write_text(head + "\n", encoding="utf-8")
    (tmp_path / "known.jsonl").write_text(f'{head}\n{{"point": {{"parts": 1}}}}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"known\.jsonl, line 2: no workload of this search"):
        forget(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4
    (tmp_path / "known.jsonl").unlink()
    forget(tmp_path)
    assert not list(tmp_path.iterdir())


def test_who_knows_the_future_is_left_out() -> None:
    assert left_out(Bench(), ["lru", "opt"]) == {"opt": "it is told the workload beforehand"}


def test_wrong_names_are_told(cli: Cli) -> None:
    done = cli("reproduce", "adversaries", "hmb")
    assert (done.returncode, done.stdout) == (2, "")
    assert "reproduce adversaries: there is no buffer `hmb`; did you mean `hbm`?" in done.stderr
    done = cli("reproduce", "adversaries", "--rounds", "0")
    assert "--rounds: found 0, expected 1 or more" in done.stderr


def test_ratios_are_told_with_their_range() -> None:
    line = {"held_out": [1.234, 1.3, 120.4], "scheme": "hbm", "ftl": "page", "measure": "response"}
    assert spread(Found(line)) == "1.30 [1.23, 120]"
