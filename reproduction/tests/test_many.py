"""Corrections for looking at many, on tables made by hand and by chance, and what is stored of a study."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eraseblock import _core
from eraseblock.toolkit import CommandLine, Handling
from eraseblock_reproduction import command
from eraseblock_reproduction.beyond import stored
from eraseblock_reproduction.beyond.answers import StudyAnswer, answer, stored_studies
from eraseblock_reproduction.beyond.headline import headline, worth_table
from eraseblock_reproduction.beyond.many import (
    AS_GOOD,
    OPEN,
    WORSE,
    gains,
    held_out,
    standing,
    together,
)
from eraseblock_reproduction.beyond.markdown import Section, section, studies_page, table_csv
from eraseblock_reproduction.beyond.study import Contest, Study, studies
from eraseblock_reproduction.beyond.tables import Table
from eraseblock_reproduction.beyond.trials import MEASURES, Design, Figures, Trial
from eraseblock_reproduction.beyond.worth import worths
from eraseblock_reproduction.intervals import Estimate, estimate
from eraseblock_reproduction.pages.writing import write_studies

BUFFERS = Contest("buffer", "ftl", "lru")


def noise(designs: int, parts: int, seed: int) -> dict[str, list[float]]:
    """Designs that do not differ, in parts of which some are harder for all."""
    draw = np.random.default_rng(seed)
    table = 100 + 5 * draw.normal(size=(1, parts)) + draw.normal(size=(designs, parts))
    return {f"d{index}": list(map(float, row)) for index, row in enumerate(table)}


def test_one_pair_by_hand() -> None:
    # Differences -1, -2, -3: their mean -2, deviations 1, 0, -1, standard error 1 / sqrt 3. With the signs of
    # the second and third part changed or not the deviations' means are 0, 2/3, 0 and 2/3 by size; two
    # squares are left of which 3 x 4/9 goes off: 2/3 x sqrt(3 x 2 / (2 - 4/3)) = 2.
    found = together({"a": [1, 2, 3], "b": [2, 4, 6]})
    assert found.critical == pytest.approx(2)
    ratio = found.ratio("a", "b")
    assert ratio is not None
    assert ratio.mean == pytest.approx(0.5)
    assert ratio.half == pytest.approx(2 / math.sqrt(3) / 4)
    assert together({"a": [1, 2], "b": [0, 0]}).ratio("a", "b") is None
    with pytest.raises(ValueError, match="two parts"):
        together({"a": [1], "b": [2]})


def test_what_is_hard_for_all_makes_no_difference() -> None:
    plain, hard = noise(6, 10, 1), noise(6, 10, 1)
    for parts in hard.values():
        parts[3] += 1000
    assert together(hard).critical == pytest.approx(together(plain).critical, rel=1e-6)
    # Nor do designs that differ by the same in each part, which are apart whatever chance does.
    same = together({"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 4.0]})
    assert (same.critical, same.errors[0][1]) == (0, 0)


def test_of_many_that_do_not_differ_hardly_any_two_are_told_apart() -> None:
    """Without a correction the least of 20 is told from the greatest in most tables."""
    tables = [noise(20, 10, seed) for seed in range(40)]
    wrong = alone = 0
    for table in tables:
        held = together(table)
        order = sorted(table, key=lambda name: held.means[held.names.index(name)])
        ratio = held.ratio(order[-1], order[0])
        assert ratio is not None
        wrong += ratio.low is not None and ratio.low > 1
        pair = estimate([a - b for a, b in zip(table[order[-1]], table[order[0]], strict=True)])
        alone += pair.low is not None and pair.low > 0
    assert wrong <= 4
    assert alone > 25


def test_what_differs_is_still_told_apart() -> None:
    table = noise(20, 10, 2)
    table["ahead"] = [one - 8 for one in table["d0"]]
    held = together({name: parts for name, parts in table.items() if name != "d0"})
    for name in ("d1", "d10", "d19"):
        ratio = held.ratio(name, "ahead")
        assert ratio is not None
        assert ratio.low is not None
        assert ratio.low > 1


FAMILIES = {f"w{index}": f"family {index // 2}" for index in range(12)}


def test_a_family_counts_once() -> None:
    # Four workloads of one family and one of another: means over families, not over workloads.
    families = {"a": "one", "b": "one", "c": "one", "d": "one", "e": "two"}
    ratios = {"x": {"a": 0.5, "b": 0.5, "c": 0.5, "d": 0.5, "e": 2.0}}
    [gain] = gains(ratios, families)
    assert gain.ratio == pytest.approx(1)
    assert gain.log.seeds == 2
    # One family has no interval, and nothing to choose by.
    [gain] = gains({"x": {"a": 0.5, "b": 0.5}}, families)
    assert gain.ratio == pytest.approx(0.5)
    assert gain.ends is None
    assert held_out({"x": {"a": 0.5, "b": 0.5}}, families) is None


def test_the_best_of_many_by_chance_gains_nothing_where_it_was_not_chosen() -> None:
    draw = np.random.default_rng(3)
    ratios = {
        f"d{scheme}": {name: float(math.exp(draw.normal(scale=0.2))) for name in FAMILIES}
        for scheme in range(28)
    }
    best = gains(ratios, FAMILIES)[0]
    out = held_out(ratios, FAMILIES)
    assert out is not None
    # It looks like a gain, which its corrected interval does not show, and which is gone elsewhere.
    assert best.ratio < 0.93
    assert best.ends is not None
    assert best.ends[1] > 1
    assert out.ratio > 0.95
    assert set(out.chosen) == set(FAMILIES.values())


def test_a_scheme_that_is_better_is_chosen_and_gains_elsewhere() -> None:
    draw = np.random.default_rng(4)
    ratios = {
        f"d{scheme}": {
            name: float((0.5 if scheme == 7 else 1) * math.exp(draw.normal(scale=0.1))) for name in FAMILIES
        }
        for scheme in range(28)
    }
    out = held_out(ratios, FAMILIES)
    assert out is not None
    assert set(out.chosen.values()) == {"d7"}
    assert out.ends is not None
    assert 0.4 < out.ends[0] < out.ratio < out.ends[1] < 0.6
    best = gains(ratios, FAMILIES)[0]
    assert best.name == "d7"
    assert best.ends is not None
    assert best.ends[1] < 1


@pytest.mark.parametrize(
    ("mean", "half", "more", "expected"),
    [
        (1.0, 0.0, False, AS_GOOD),
        (1.004, 0.005, False, AS_GOOD),
        (1.004, 0.05, False, OPEN),
        (1.2, 0.1, False, WORSE),
        (1.2, 0.3, False, OPEN),
        (0.996, 0.005, True, AS_GOOD),
        (0.8, 0.1, True, WORSE),
    ],
)
def test_noise_makes_nobody_as_good(mean: float, half: float, more: bool, expected: str) -> None:
    assert standing(Estimate(mean, half, 10), 0.01, more=more) == expected


def made(ratio: dict[str, float], workloads: int = 12) -> StudyAnswer:
    """A study with two groups of FTLs: `clever` is at these ratios of LRU, `plain` at all of it."""
    draw = np.random.default_rng(5)
    trials = []
    for index in range(workloads):
        for ftl, clever in ratio.items():
            hard = 100 * (1 + draw.random(10))
            for buffer, share in (("lru", 1.0), ("clever", clever), ("plain", 1.0)):
                parts = tuple(float(one) for one in share * hard * (1 + 0.02 * draw.normal(size=10)))
                figures = {one.name: Figures(sum(parts), parts, None) for one in MEASURES}
                trials.append(
                    Trial(Design(f"w{index}", buffer, ftl, "4 under way"), figures, made=index % 2 == 0)
                )
    study = Study(
        "s",
        "A study",
        "Does it pay?",
        "Made by chance.",
        Path("s.toml"),
        {},
        (BUFFERS,),
        (),
        groups={"single pages": ["page", "dftl"], "whole blocks": ["block"]},
        families=FAMILIES,
    )
    return answer(study, trials, made_with="0.1.0+made")


def test_where_it_pays_is_said_first() -> None:
    found = made({"page": 1.0, "dftl": 0.99, "block": 0.3})
    pages, blocks = worths(found)
    assert (pages.group, pages.pays, blocks.group, blocks.pays) == (
        "single pages",
        False,
        "whole blocks",
        True,
    )
    assert pages.members == ("page", "dftl")
    assert blocks.held_out is not None
    assert blocks.held_out.ratio == pytest.approx(0.3, abs=0.02)
    assert blocks.chosen == [("clever", 6)]
    # The best of each contest is at least as good as any that was chosen beforehand.
    assert pages.hindsight <= min(1.0, pages.held_out.ratio if pages.held_out else 1.0)
    told = headline(found)
    assert told[0].startswith("A clever buffer pays with whole blocks (-")
    assert told[1].startswith("It is not shown to pay with single pages (")
    assert "`clever` -" in told[2]
    assert "6 families" in told[3]
    table = worth_table(found)
    assert table is not None
    assert [row[0] for row in table.rows] == ["single pages: page, dftl", "whole blocks: block"]
    assert all(len(row) == len(table.head) for row in table.rows)


def test_one_family_makes_no_headline() -> None:
    assert headline(made({"page": 0.5}, workloads=2)) == []


def test_a_stored_outcome_is_the_same_answer(tmp_path: Path) -> None:
    found = made({"page": 1.0, "dftl": 0.9, "block": 0.3})
    study = replace(found.study, path=tmp_path / "s.toml")
    assert stored.stored(study) is None
    assert stored_studies([study]) == []
    lost = Trial(Design("w0", "cave", "page", ""), {}, distrust="backlog", flash=(220, 200))
    refused = Trial(Design("w0", "cave", "dftl", ""), {}, error="no", refused=True, offline=True)
    stored.write(study, [*found.trials, lost, refused])
    first = stored.path_of(study).read_bytes()
    kept = stored.stored(study)
    assert kept is not None
    assert kept.engine == _core.engine()
    assert kept.trials[-2:] == (lost, refused)
    for one, other in zip(found.trials, kept.trials, strict=False):
        assert (one.design, one.made) == (other.design, other.made)
        assert one.figures["erases"].parts == pytest.approx(other.figures["erases"].parts, rel=1e-5)
    stored.write(study, kept.trials)
    assert stored.path_of(study).read_bytes() == first
    [again] = stored_studies([study])
    assert headline(again) == headline(found)
    assert again.engine == _core.engine()


@pytest.mark.parametrize(
    "damage", [b"", b"no gzip", gzip.compress(b"{}\n"), gzip.compress(b'{"format": "x"}\n')]
)
def test_a_stored_outcome_that_is_none_is_refused(damage: bytes, tmp_path: Path) -> None:
    study = replace(studies()["nvme"], path=tmp_path / "nvme.toml")
    stored.path_of(study).write_bytes(damage)
    with pytest.raises(_core.InputError, match="not what `reproduce beyond nvme` writes"):
        stored.stored(study)


def test_long_tables_are_data_beside_the_page(tmp_path: Path) -> None:
    long = Table(
        "Every buffer, over all: too many", ("buffer", "ratio"), tuple((f"b{n}", "1") for n in range(40))
    )
    short = Table("Few", ("FTL", "ratio"), (("page", "1"),))
    one = Section("s", "A study", "Why?", "So.", "0.1.0", ("It pays.",), ("It does.",), (long, short))
    write_studies([one], tmp_path)
    page = (tmp_path / "beyond.md").read_text()
    assert page.index("It pays.") < page.index("## A study")
    assert "| page | 1 |" in page
    assert "b39" not in page
    assert "(beyond-s-every-buffer-too-many.csv)" in page
    rows = (tmp_path / "beyond-s-every-buffer-too-many.csv").read_text().splitlines()
    assert (rows[0], len(rows)) == ("buffer,ratio", 41)
    assert table_csv(short) == "FTL,ratio\npage,1\n"


def test_a_page_of_every_buffer_and_ftl_is_short() -> None:
    page = "\n".join(studies_page([section(made({"page": 1.0, "dftl": 0.9, "block": 0.3}))]))
    assert len(page.encode()) < 25_000


def test_the_page_of_today_is_short() -> None:
    docs = Path(__file__).parents[2] / "docs" / "papers"
    assert len((docs / "beyond.md").read_bytes()) <= 25_000


def test_every_workload_of_the_studies_has_a_family() -> None:
    for study in studies().values():
        cases = {one.config["case"] for one in replace(study, every={}, loads=({},)).experiments()}
        assert cases <= set(study.families)
        assert len({study.family(case) for case in cases}) >= 5


def test_beside_all_papers_studies_are_read_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def never(*_arguments: object) -> list[StudyAnswer]:
        raise AssertionError("a study was run")

    monkeypatch.setattr("eraseblock_reproduction.beyond.answers.run_studies", never)
    found = made({"page": 1.0, "block": 0.3})
    there, missing = (replace(found.study, name=name, path=tmp_path / f"{name}.toml") for name in ("a", "b"))
    stored.write(there, found.trials)
    [told] = command._as_stored([there, missing])
    assert headline(told) == headline(found)
    said = capsys.readouterr().err
    assert "beyond b: no outcome is stored; `eraseblock reproduce beyond b` makes one" in said
    assert "beyond a" not in said


def test_a_study_that_was_run_is_stored_unless_runs_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made({"page": 1.0, "block": 0.3})
    whole = replace(found, study=replace(found.study, path=tmp_path / "whole.toml"))
    lost = Trial(Design("w0", "cave", "page", ""), {}, error="it broke")
    failed = replace(found, study=replace(found.study, path=tmp_path / "failed.toml"), trials=(lost,))
    monkeypatch.setattr(
        "eraseblock_reproduction.beyond.answers.run_studies", lambda *_arguments: [whole, failed]
    )
    assert command._run([whole.study, failed.study], Handling(), CommandLine()) == [whole, failed]
    assert [path.name for path in tmp_path.iterdir()] == ["whole.outcome.json.gz"]
