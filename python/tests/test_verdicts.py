"""What a comparison comes to: who wins, by how much, and whether that can be trusted."""

from __future__ import annotations

from typing import Any

import pytest
from results_made_up import record, rows

import eraseblock
from eraseblock.results.conclusion import Conclusion, conclusions_of, drives_of
from eraseblock.results.contest import contests_of
from eraseblock.results.headline import NAMED, column_named
from eraseblock.results.wording import change, relative


def concluded(*records: dict[str, Any]) -> Conclusion:
    [found] = conclusions_of(rows(*records))
    return found


def verdict(*records: dict[str, Any]) -> str:
    [first, *_] = concluded(*records).sentences
    return first


@pytest.mark.parametrize(
    ("first", "second", "words", "cell"),
    [
        (10.0, 6.2, "38 % below", "-38 %"),
        (10.0, 14.0, "40 % above", "+40 %"),
        (10.0, 2.0, "80 % below", "-80 %"),
        (1000.0, 2.0, "500x below", "-100 %"),
        (10.0, 410.0, "41x above", "41x"),
        (10.0, 10.04, "level with", "+0 %"),
        (10.0, 0.0, "below", "-100 %"),
        (0.0, 10.0, "above", "-"),
        (0.0, 0.0, "level with", "-"),
        (None, 1.0, "beside", "-"),
    ],
)
def test_distances_in_words_and_in_cells(
    first: float | None, second: float | None, words: str, cell: str
) -> None:
    assert relative(first, second) == words
    assert change(first, second) == cell


def test_the_best_is_told_against_lru_and_none() -> None:
    text = verdict(record("none", 50), record("lru", 10), record("fab", 6.2), record("supa", 9))
    assert text == (
        "4 MiB: take `fab`: 6.20 ms, 38 % below `lru` (10 ms), 88 % below `none` (50 ms); "
        "ahead of `lru` in 10 of 10 parts of the run."
    )


def test_a_burst_that_decides_all_is_told() -> None:
    # In all but two parts of ten lru is faster.
    burst = [1.0] * 8 + [100.0] * 2
    calm = [2.0] * 10
    text = verdict(record("lru", 20.8, parts=burst), record("fab", 2, parts=calm))
    assert "take `fab`" in text
    assert "in 2 of 10 parts of the run only: a few bursts decide" in text
    # What is less wide and no surer is no victory.
    text = verdict(record("lru", 10, parts=[5.0] * 5 + [15.0] * 5), record("fab", 9.5, parts=[9.5] * 10))
    assert "nothing clearly beats `lru` (10 ms): `fab`, 9.50 ms, is ahead in 5 of 10 parts" in text


@pytest.mark.parametrize(
    ("parts", "doubt"),
    [
        ([1.0] * 9 + [100.0], "its last part decides"),
        ([100.0] + [1.0] * 9, "its first part decides"),
        ([1.0] * 7 + [50.0] * 3, "a few bursts decide, at its end"),
        ([1.0] * 6 + [100.0] + [1.0] * 3, "a few bursts decide"),
        # Of two bursts neither decides alone.
        ([8.0] + [1.0] * 8 + [8.0], "a few bursts decide"),
        ([20.0] + [1.0] * 8 + [20.0], "a few bursts decide"),
    ],
)
def test_an_end_of_the_run_that_decides_is_told(parts: list[float], doubt: str) -> None:
    text = verdict(record("lru", sum(parts) / 10, parts=parts), record("fab", 2, parts=[2.0] * 10))
    assert f" parts of the run only: {doubt}." in text


def test_a_small_lead_throughout_is_a_lead() -> None:
    text = verdict(record("lru", 10, parts=[10.0] * 10), record("fab", 9.7, parts=[9.7] * 10))
    assert "take `fab`" in text
    assert "in 10 of 10 parts of the run." in text


def test_less_than_one_per_cent_is_none() -> None:
    text = verdict(record("none", 30), record("lru", 10), record("fab", 9.95))
    assert text == "4 MiB: nothing beats `lru` (10 ms): `fab` is level with it."


def test_without_parts_one_run_tells_nothing_of_others() -> None:
    text = verdict(record("lru", 10, series=None), record("fab", 5, series=None))
    assert "50 % below `lru` (10 ms); whether that would come again, one run does not tell." in text


def seeds(scheme: str, *means: float, **other: Any) -> list[dict[str, Any]]:
    return [record(scheme, mean, seed=seed, **other) for seed, mean in enumerate(means)]


def test_seeds_tell_whether_a_difference_stays() -> None:
    text = verdict(*seeds("lru", 10, 11, 12), *seeds("fab", 8, 9, 10))
    assert "take `fab`: 9 ms, 18 % below `lru` (11 ms); ahead of `lru` with 3 of 3 seeds." in text
    text = verdict(*seeds("lru", 10, 11, 12), *seeds("fab", 4, 12, 11))
    assert "ahead of `lru` with 2 of 3 seeds only: other seeds may turn it round" in text


def test_parts_decide_where_seeds_change_nothing() -> None:
    burst = {"parts": [1.0] * 8 + [100.0] * 2}
    text = verdict(*seeds("lru", 20.8, 20.8, 20.8, **burst), *seeds("fab", 2, 2, 2, parts=[2.0] * 10))
    assert "ahead of `lru` in 2 of 10 parts of the run only: a few bursts decide, at its end." in text


def test_seeds_of_a_drive_do_not_stand_for_other_work() -> None:
    # Each seed finds the same bursts in one workload, and others in one that is drawn anew.
    burst, calm = {"parts": [1.0] * 8 + [100.0] * 2}, {"parts": [2.0] * 10}
    runs = [*seeds("lru", 20.6, 20.8, 21, **burst), *seeds("fab", 2, 2.1, 2.2, **calm)]
    assert "with 3 of 3 seeds, but in 2 of 10 parts of the run only: a few bursts" in verdict(*runs)
    drawn = [{**run, "trace": {**run["trace"], "sha256": str(run["config"]["seed"])}} for run in runs]
    assert verdict(*drawn).endswith("ahead of `lru` with 3 of 3 seeds.")
    # Two drawn workloads, one of them twice, are not three.
    twice = [{**run, "trace": {**run["trace"], "sha256": str(run["config"]["seed"] // 2)}} for run in runs]
    assert verdict(*twice) == verdict(*runs)


def test_seeds_that_change_nothing_tell_nothing_without_parts() -> None:
    text = verdict(*seeds("lru", 10, 10, series=None), *seeds("fab", 5, 5, series=None))
    assert text.endswith("whether that would come again, seeds that change nothing do not tell.")
    text = verdict(*seeds("lru", 10, 11, 12, series=None), *seeds("fab", 5, 5.1, series=None))
    assert text.endswith("whether that would come again, runs with other seeds do not tell.")


def test_the_next_is_told_with_what_it_is_behind_by() -> None:
    text = verdict(record("lru", 10), record("fab", 12))
    assert text == "4 MiB: take `lru`: 10 ms; the next is `fab` (12 ms), behind in 10 of 10 parts of the run."
    text = verdict(*seeds("lru", 10, 11, 12), *seeds("fab", 12, 13, 14.3))
    assert text.endswith("the next is `fab` (13.1 ms), behind with 3 of 3 seeds.")


def test_a_reconstruction_is_named_and_so_is_the_best_that_is_none() -> None:
    text = verdict(record("lru", 10), record("clc", 5), record("fab", 6), record("supa", 7))
    assert "take `clc` (a reconstruction): 5 ms" in text
    assert text.endswith("No reconstruction: `fab` (6 ms).")
    text = verdict(record("lru", 10), record("clc", 5), record("fab", 5.01), record("supa", 5.02))
    assert text.endswith("Level with it, no reconstruction: `fab`, and 1 more.")


def test_who_is_level_is_listed() -> None:
    text = verdict(record("lru", 10), *(record(name, 5) for name in ("fab", "supa", "hbm")))
    assert text.endswith("Level with it: `supa`, `hbm`.")


def test_runs_not_to_be_trusted_win_nothing() -> None:
    text = verdict(record("lru", 10), record("fab", 5, reasons=["behind"]), record("supa", 8))
    assert "take `supa`" in text
    text = verdict(record("lru", 10, reasons=["behind"]), record("fab", 5), record("supa", 8))
    assert "`lru` is not to be trusted, so it is no measure" in text
    text = verdict(record("lru", 10, reasons=["behind"]), record("fab", 5, reasons=["behind"]))
    assert text == "4 MiB: no verdict, as no run is to be trusted."


def test_a_figure_that_no_run_has_is_no_matter_of_trust() -> None:
    untimed = rows(record("lru", None), record("fab", None))
    [by_mean] = conclusions_of(untimed, column_named("mean", "--sort"))
    end = "no verdict, as runs without time (host.replay) have no mean response."
    assert by_mean.verdicts[0].text == f"4 MiB: {end}"
    reads = rows(*(record(name, 5, waf=None, host_pages={"write": 0}) for name in ("lru", "fab")))
    [by_waf] = conclusions_of(reads, column_named("waf", "--sort"))
    assert by_waf.verdicts[0].text == "4 MiB: no verdict, as nothing is written."
    [by_reads] = conclusions_of(reads, column_named("read-p99", "--sort"))
    assert "no verdict, as no run has this figure (" in by_reads.verdicts[0].text
    [ahead] = conclusions_of(rows(*(record(name, 5, offline=True) for name in ("opt", "lru"))))
    assert "no verdict, as all runs that are to be trusted knew the future" in ahead.verdicts[0].text


def worn(scheme: str, mean: float, served: int, **other: Any) -> dict[str, Any]:
    """A drive that reached the end of its life after so many of 1,000 requests."""
    ended = {
        "requests": {"submitted": served, "completed": served},
        "end_of_life": {"host_bytes": served << 12, "unanswered": 1000 - served},
    }
    return record(scheme, mean, **ended, **other)


def test_a_drive_that_wears_out_on_the_way_wins_nothing() -> None:
    whole = {"requests": {"submitted": 1000, "completed": 1000}}
    text = verdict(record("lru", 10, **whole), worn("none", 1, 300), record("fab", 8, **whole))
    assert "take `fab`: 8 ms, 20 % below `lru` (10 ms);" in text
    assert text.endswith("Worn out before others had served as much, and left out: `none`.")
    text = verdict(worn("lru", 1, 300), record("fab", 8, **whole))
    assert "`lru` wore out on the way, so it is no measure." in text
    # Where all are worn out, the one that served most is not cut short.
    text = verdict(worn("lru", 1, 300), worn("fab", 8, 900))
    assert "take `fab`: 8 ms; `lru` wore out" in text


def test_a_drive_without_an_end_lives_longest() -> None:
    column, whole = column_named("lifetime", "--sort"), {"requests": {"submitted": 1000, "completed": 1000}}

    def said(*records: dict[str, Any]) -> str:
        [found] = conclusions_of(rows(*records), column)
        return found.verdicts[0].text

    text = said(worn("none", 1, 300), record("lru", 10, **whole), record("fab", 9, **whole))
    assert text == "4 MiB: take `lru` or `fab`: outlived the run; worn out: `none` 1.17 MiB."
    assert "take `fab`: 3.52 MiB" in said(worn("lru", 1, 300), worn("fab", 1, 900))
    assert "no run has this figure" in said(record("lru", 10, **whole), record("fab", 9, **whole))


def test_a_figure_that_the_measure_lacks_is_no_matter_of_trust() -> None:
    column = column_named("controller-memory", "--sort")
    [found] = conclusions_of(rows(record("lru", 10), record("hbm", 9, buffer_paper_bytes=1000)), column)
    assert "`lru` has no such figure, so it is no measure." in found.verdicts[0].text


def test_designs_that_lack_a_setting_of_others_are_told_apart() -> None:
    policies = ({"kind": "random"}, {"kind": "d-choices", "d": 2}, {"kind": "d-choices", "d": 30})
    means = (10, 8, 6)
    runs = [record("lru", mean, victim=policy) for mean, policy in zip(means, policies, strict=True)]
    text = verdict(*runs)
    assert text.startswith("4 MiB: take `ftl.victim.kind d-choices, ftl.victim.d 30`: 6 ms, 40 % below")
    text = verdict(record("lru", 10, spare=None), record("lru", 8, victim={"kind": "cat"}))
    assert "20 % below `default` (10 ms)" in text
    text = verdict(*(record("lru", mean, speedup=speed) for mean, speed in ((10, None), (8, 0.2))))
    assert "null" in text


def test_seeds_are_paired_by_what_they_are() -> None:
    lru, fab = seeds("lru", 10, 11, 20), seeds("fab", 9, 10, 19)
    assert verdict(*lru, *fab) == verdict(*lru, *reversed(fab))
    # Other seeds say nothing of one another.
    text = verdict(*lru[:2], *fab[1:])
    assert "seeds" not in text


def test_who_knew_the_future_wins_nothing() -> None:
    assert "take `fab`" in verdict(record("lru", 10), record("fab", 8), record("opt", 2, offline=True))


def test_untimed_runs_are_decided_by_what_they_write() -> None:
    found = concluded(record("lru", None, programs=100), record("fab", None, programs=80))
    assert found.column is NAMED["writes"]
    assert "take `fab`: 80, 20 % below `lru` (100)" in found.sentences[0]
    assert "Bound for any buffer: writes 50 (here 80)." in found.sentences


def test_another_figure_may_decide() -> None:
    some = rows(record("lru", 10, hits=0.2), record("fab", 5, hits=0.1))
    [found] = conclusions_of(some, NAMED["hits"])
    assert found.title.endswith("by hit ratio")
    assert "take `lru`: 20.0 %" in found.sentences[0]


def test_all_sizes_come_to_one_conclusion() -> None:
    found = concluded(
        *(record("lru", mean, size=size, erases=10) for size, mean in (("1 MiB", 20), ("4 MiB", 10))),
        *(record("fab", mean, size=size, erases=8) for size, mean in (("1 MiB", 10), ("4 MiB", 9))),
        *(record("supa", mean, size=size, erases=5) for size, mean in (("1 MiB", 11), ("4 MiB", 8))),
    )
    assert [one.best.name for one in found.verdicts if one.best] == ["fab", "supa"]
    assert found.summary == "In short: one for all sizes is `supa`, at most 10 % off each best."
    assert found.sentences[0] == found.summary
    assert "A larger buffer pays: 10 ms at 1 MiB, 8 ms at 4 MiB, each with its best." in found.overall
    assert "Why: 20 to 50 % fewer erases than `lru`." in found.overall


def test_what_leaves_together_is_told() -> None:
    def found(fab: float, lru: float) -> str:
        runs = (record("lru", 20, erases=10, flush=lru), record("fab", 10, erases=5, flush=fab))
        return next(one for one in concluded(*runs).overall if one.startswith("Why"))

    assert found(31.0, 1.0).startswith("Why: 31 pages leave at once, not 1; 50 % fewer erases")
    assert found(1.5, 1.0).startswith("Why: 50 % fewer erases")


def test_a_reconstruction_is_not_preferred_for_next_to_nothing() -> None:
    def sizes(scheme: str, *means: float) -> list[dict[str, Any]]:
        return [record(scheme, mean, size=f"{4**place} MiB") for place, mean in enumerate(means)]

    found = concluded(*sizes("lru", 20, 20), *sizes("clc", 10, 10), *sizes("fab", 10.05, 10.05))
    assert found.summary.startswith("In short: one for all sizes is `fab`, ")
    found = concluded(*sizes("lru", 20, 20), *sizes("clc", 10, 10), *sizes("fab", 10.5, 10.5))
    assert "one for all sizes is `clc` (a reconstruction), " in found.summary
    assert found.summary.endswith("; no reconstruction: `fab`, 5 %.")


def test_bursts_that_drive_out_old_pages_are_the_reason() -> None:
    def found(parts: list[float], programs: list[int], **sizes: str) -> list[str]:
        series = {
            "response_sum_ns": [part * 1e6 for part in parts],
            "requests": [100] * 20,
            "host_pages_written": [50] * 20,
            "programs": programs,
            "gc_programs": [one // 4 for one in programs],
        }
        others = (record("none", 20, parts=[20.0] * 20), record("fab", 5, parts=[5.0] * 20))
        some = concluded(record("lru", 90, series=series, **sizes), *others).overall
        return [one for one in some if one.startswith("Why `lru`")]

    burst, calm = [1700.0, *[5.0] * 19], [90.0] * 20
    assert found(burst, [4000, *[40] * 19]) == [
        "Why `lru` loses to `none`: 5 % of the requests take 95 % of its time; they write 50 pages, "
        "read more, 3,000 old ones leave, 1,000 are copied."
    ]
    # Waiting all the time, or a burst of writes, has other reasons.
    assert found(calm, [4000] * 20) == []
    assert found(burst, [60] * 20) == []


def test_a_larger_buffer_may_bring_nothing() -> None:
    found = concluded(
        *(record("lru", mean, size=size) for size, mean in (("1 MiB", 10), ("4 MiB", 12))),
        *(record("fab", mean, size=size) for size, mean in (("1 MiB", 11), ("4 MiB", 13))),
    )
    assert "A larger buffer than 1 MiB brings nothing." in found.overall
    little = concluded(
        *(record("lru", mean, size=size) for size, mean in (("1 MiB", 10), ("2 MiB", 9.9), ("4 MiB", 9.8))),
        *(record("fab", mean, size=size) for size, mean in (("1 MiB", 11), ("2 MiB", 12), ("4 MiB", 13))),
    )
    text = "A larger buffer brings little: 10 ms at 1 MiB, 9.80 ms at 4 MiB, each with its best."
    assert text in little.overall
    alone = concluded(*(record("lru", mean, size=size) for size, mean in (("1 MiB", 10), ("4 MiB", 5))))
    assert "10 ms at 1 MiB, 5 ms at 4 MiB" in alone.sentences[0]


def test_those_that_do_the_same_are_named_once() -> None:
    found = concluded(record("lru", 10), record("bplru", 8), record("cave", 8), record("fab", 9))
    assert "Equal in every figure: `bplru` = `cave`." in found.overall


def test_a_drive_that_never_erased_is_told() -> None:
    found = concluded(record("none", 90, erases=5), record("lru", 10, erases=0), record("fab", 5, erases=0))
    assert found.overall[-1].startswith("Mind: these erased no block")
    found = concluded(record("lru", 10, erases=1), record("fab", 5, erases=0))
    assert not any(sentence.startswith("Mind") for sentence in found.overall)


def test_a_swept_word_is_what_is_chosen() -> None:
    some = [record("lru", mean, victim=name) for name, mean in (("greedy", 10), ("fifo", 12), ("cat", 8))]
    found = concluded(*some)
    assert found.title == "Which ftl.victim to take on hbm-2010, by mean response"
    assert "take `cat`: 8 ms, 20 % below `greedy` (10 ms)" in found.sentences[0]


def test_a_swept_number_is_a_curve() -> None:
    some = [record("lru", mean, spare=part) for part, mean in ((0.07, 20), (0.15, 10.2), (0.28, 10))]
    assert concluded(*some).sentences[0] == (
        "4 MiB: ftl.over_provisioning: mean response 20 ms at 0.07, 10 ms at 0.28 (50 % less); "
        "within 5 % of the best from 0.15 on."
    )
    some = [record("lru", mean, spare=part) for part, mean in ((0.07, 20), (0.15, 10), (0.28, 15))]
    assert "is best at 0.15 (10 ms); 20 ms at 0.07, 15 ms at 0.28." in concluded(*some).sentences[0]
    some = [record("lru", 10, spare=part) for part in (0.07, 0.15, 0.28)]
    assert "stays at 10 ms, whatever the value" in concluded(*some).sentences[0]


def test_what_a_workload_is_like_is_no_choice() -> None:
    some = [
        record(name, mean * speed, speedup=speed)
        for speed in (1, 2)
        for name, mean in (("lru", 5), ("fab", 4))
    ]
    found = concluded(*some)
    assert [one.place for one in found.verdicts] == ["4 MiB, host.speedup 1", "4 MiB, host.speedup 2"]


def test_ftls_are_rivals() -> None:
    some = [
        record(name, mean, ftl=ftl) for ftl, mean in (("page", 5), ("bast", 9)) for name in ("lru", "fab")
    ]
    [contest] = contests_of(rows(*some))
    assert [design.name for design in contest.designs] == [
        "lru on page",
        "fab on page",
        "lru on bast",
        "fab on bast",
    ]
    alone = concluded(record("lru", 5, ftl="page"), record("lru", 9, ftl="bast"))
    assert alone.title == "Which FTL to take on hbm-2010, by mean response"
    assert "take `page`: 5 ms" in alone.sentences[0]
    fab_on_bast = contest.designs[3]
    reference = contest.reference(fab_on_bast)
    assert reference is not None
    assert reference.name == "lru on bast"


def cased(name: str, mean: float, **other: Any) -> dict[str, Any]:
    found = record(other.pop("scheme", "lru"), mean, **other)
    found["config"]["case"] = name
    return found


@pytest.mark.parametrize(
    ("records", "choice"),
    [
        ([cased("plain", 5, ftl="bast"), cased("fancy", 9, ftl="page")], "case"),
        ([cased("plain", 5, spare=0.1), cased("fancy", 9, spare=0.2)], "case"),
        ([cased("plain", 5, ftl="bast", scheme="fab"), cased("fancy", 9, ftl="page")], "case"),
        # Cases that differ in their buffers alone.
        ([cased("plain", 5, scheme="fab"), cased("fancy", 9)], "buffer"),
        (
            [
                record("lru", mean, victim=victim, ftl=ftl)
                for victim, ftl, mean in (("cat", "page", 5), ("cat", "dftl", 6), ("fifo", "page", 7))
            ],
            "FTL and ftl.victim",
        ),
        (
            [record(name, mean, ftl=ftl) for name, ftl, mean in (("lru", "page", 5), ("fab", "dftl", 6))],
            "buffer",
        ),
        ([record("lru", 5), record("lru", 3, size="8 MiB")], "buffer"),
    ],
)
def test_what_differs_is_what_is_chosen(records: list[dict[str, Any]], choice: str) -> None:
    found = concluded(*records)
    assert found.title == f"Which {choice} to take on hbm-2010, by mean response"
    assert any(one.startswith("Bound for any buffer") for one in found.overall) <= (choice == "buffer")


def test_drives_have_conclusions_of_their_own_and_are_compared() -> None:
    some = rows(
        *(record(name, mean, drive="hbm-2010", ftl="bast") for name, mean in (("lru", 9), ("fab", 5))),
        *(record(name, mean, drive="nvme-tlc", spare=0.07) for name, mean in (("lru", 3), ("fab", 4))),
    )
    # What comes with the drive is no setting of its own.
    assert {key for row in some for key in row.settings} == {"preset"}
    found = conclusions_of(some)
    assert [one.drive for one in found] == ["hbm-2010", "nvme-tlc"]
    assert drives_of(found) == [
        "Drives at their best, by mean response: hbm-2010 5 ms (`fab`, 4 MiB), nvme-tlc 3 ms (`lru`, 4 MiB)."
    ]


def test_from_python_it_is_a_list_of_sentences() -> None:
    some = [record("lru", 10, hits=0.3), record("fab", 5, hits=0.2)]
    assert eraseblock.verdict(some)[0] == verdict(*some)
    assert "take `lru`: 30.0 %" in eraseblock.verdict(some, by="hits")[0]
    with pytest.raises(eraseblock.ConfigError, match="by: there is no column `hit`; did you mean `hits`"):
        eraseblock.verdict(some, by="hit")


def test_one_run_is_no_comparison() -> None:
    assert concluded(record("lru", 10)).sentences == []


def test_worn_out_values_of_an_axis_are_named() -> None:
    whole = {"requests": {"submitted": 1000, "completed": 1000}}

    def swept(*served: int) -> str:
        runs = [
            record("lru", 10 - place, speedup=2.0**place, **whole)
            if count == 1000
            else worn("lru", 1, count, speedup=2.0**place)
            for place, count in enumerate(served)
        ]
        return verdict(*runs)

    assert swept(1000, 1000, 300).endswith("and left out: `4`.")
    assert swept(1000, 300).startswith("4 MiB: take `1`: 10 ms.")


def test_one_for_all_sizes_wears_out_at_none() -> None:
    whole = {"requests": {"submitted": 1000, "completed": 1000}}
    runs = [
        worn("lru", 1, 300, size="1 MiB"),
        record("fab", 9, size="1 MiB", **whole),
        *(record(name, mean, size="2 MiB", **whole) for name, mean in (("lru", 5), ("fab", 6))),
    ]
    assert concluded(*runs).summary.startswith("In short: one for all sizes is `fab`")
    ends = [
        worn(name, 1, served, size=size)
        for size in ("1 MiB", "2 MiB")
        for name, served in (("lru", 3), ("fab", 9))
    ]
    [found] = conclusions_of(rows(*ends), column_named("lifetime", "--sort"))
    assert found.summary.startswith("In short: one for all sizes is `fab`")


def test_what_wore_out_early_is_not_held_against_other_sizes_and_drives() -> None:
    whole = {"requests": {"submitted": 1000, "completed": 1000}}
    small = [worn("lru", 1, 200, size="1 MiB"), worn("fab", 1, 300, size="1 MiB")]
    large = [record(name, mean, size="2 MiB", **whole) for name, mean in (("lru", 5), ("fab", 6))]
    found = concluded(*small, *large)
    assert found.summary == ""
    assert found.overall[0] == (
        "Sizes are not held against one another: drives wore out before others had served as much."
    )
    other = [record("lru", 9, drive="epo-2011", **whole)]
    [told] = drives_of(conclusions_of(rows(*small, *other)))
    assert (
        told == "Drives are not held against one another: drives wore out before others had served as much."
    )
    # Drives that served as much are alike, worn out or not.
    alike = [worn("fab", 1, 300, size="2 MiB"), worn("lru", 2, 300, size="2 MiB")]
    assert "A larger buffer" in concluded(*small, *alike).overall[0]


def test_a_larger_buffer_is_worth_what_the_best_of_them_is() -> None:
    def swept(*means: float) -> str:
        runs = [record("lru", mean, size=f"{1 << place} MiB") for place, mean in enumerate(means)]
        return concluded(*runs).overall[0]

    assert swept(12.41, 8.57, 7.17, 12.55) == (
        "A larger buffer pays: 12.4 ms at 1 MiB, 7.17 ms at 4 MiB, each with its best; beyond 4 MiB "
        "it brings under 5 %."
    )
    assert swept(5, 9, 5) == "A larger buffer than 1 MiB brings nothing."


def test_no_reason_is_given_against_what_is_no_measure() -> None:
    text = " ".join(concluded(record("lru", 10, reasons=["slow"]), record("fab", 5, erases=1)).sentences)
    assert "so it is no measure" in text
    assert "Why" not in text


def test_an_axis_whose_ends_are_level_is_told_in_a_sentence() -> None:
    [text, *_] = concluded(
        *(record("lru", mean, speedup=2.0**place) for place, mean in enumerate((5.0, 5.6, 5.0)))
    ).sentences
    assert text == "4 MiB: host.speedup: mean response 5 ms at 1, 5 ms at 4."


def test_what_comes_after_the_last_request_may_decide() -> None:
    def flushed(scheme: str, in_parts: float, after: float) -> dict[str, Any]:
        series = {"programs": [in_parts] * 10}
        return record(scheme, None, programs=in_parts * 10 + after, series=series)

    column = NAMED["writes"]

    def told(one: dict[str, Any], other: dict[str, Any]) -> str:
        [found] = conclusions_of(rows(one, other), column)
        return found.verdicts[0].text

    # All that decides is written at the end.
    text = told(flushed("none", 15, 0), flushed("bplru", 0, 496))
    assert "in 0 of 10 parts of the run only: what comes after the last request decides" in text
    # What is ahead in each part is ahead, unless the end outweighs the parts.
    assert "in 10 of 10 parts of the run." in told(flushed("lru", 30, 50), flushed("fab", 15, 50))
    assert "in 10 of 10 parts of the run." in told(flushed("lru", 30, 40), flushed("fab", 15, 50))
    # The end takes most of the lead back, and less of it.
    text = told(flushed("lru", 30, 0), flushed("fab", 20, 80))
    assert text.endswith("`fab`, 280, is ahead in 10 of 10 parts of the run only.")
    text = told(flushed("lru", 30, 0), flushed("fab", 20, 60))
    assert text.endswith(
        "in 10 of 10 parts of the run only: what comes after the last request takes much of it back."
    )
    # What was unsure before is so for the same reason.
    late = [flushed(name, 10, end) for name, end in (("lru", 2), ("fab", 1))]
    for one, last in zip(late, (1000, 100), strict=True):
        one["series"]["programs"] = [10.0] * 9 + [last]
        one["flash"]["programs"]["total"] += last - 10
    assert "its last part decides" in told(*late)


def test_drives_are_not_ranked_by_lifetime_where_one_outlives_the_run() -> None:
    column = column_named("lifetime", "--sort")

    def on(drive: str, *served: int) -> list[dict[str, Any]]:
        return [worn(name, 1, n, drive=drive) for name, n in zip(("lru", "fab"), served, strict=True)]

    whole = record("lru", 1, drive="epo-2011", requests={"submitted": 1000, "completed": 1000})
    dead = [*on("hbm-2010", 300, 400), *on("nvme-tlc", 500, 600)]
    assert len(drives_of(conclusions_of(rows(*dead), column))) == 1
    alive = [whole, worn("fab", 1, 300, drive="epo-2011")]
    assert drives_of(conclusions_of(rows(*dead, *alive), column)) == []


def test_a_drive_that_wears_out_with_some_seeds_has_not_outlived_the_others() -> None:
    alive = record("lru", 5, seed=0, requests={"submitted": 1000, "completed": 1000})
    dead = [worn("lru", 5, 300, seed=seed) for seed in (1, 2)]
    others = [worn("fab", 5, 900, seed=seed) for seed in range(3)]
    [found] = conclusions_of(rows(alive, *dead, *others), column_named("lifetime", "--sort"))
    assert "take `fab`" in found.verdicts[0].text
