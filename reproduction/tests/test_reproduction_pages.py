"""What people cite: the headline counts results alone, each fact once; the pages are short, and whole."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claims import FIGURE, PAPER, READINGS, STAND_IN, A, B, quantity, run

from eraseblock_reproduction import data
from eraseblock_reproduction.answers import Answer, FigureAnswer, PaperAnswer
from eraseblock_reproduction.charts import effects_of
from eraseblock_reproduction.data import CONSTRUCTION, EXAMPLE, RESULT, Claim, Main
from eraseblock_reproduction.headline import asides, beside
from eraseblock_reproduction.pages.made import Made
from eraseblock_reproduction.pages.overview import overview
from eraseblock_reproduction.pages.paper import paper_page
from eraseblock_reproduction.pages.pictures import smaller
from eraseblock_reproduction.pages.tables import claims_csv
from eraseblock_reproduction.plan import FigurePlan
from eraseblock_reproduction.selection import Run
from eraseblock_reproduction.sensitivity import Hangs, Sensitivity, Under, Way
from eraseblock_reproduction.verdicts import judge

DOCS = Path(__file__).resolve().parents[2] / "docs"
MADE = Made("0.1.0+abc", "1234567")
RUNS = [run("a", time=1.0), run("b", time=2.0)]
LESS: Mapping[str, Any] = {"left": A, "right": B, "relation": "less"}


def made(id_: str, kind: str = "order", shows: str = RESULT, by: str = "time", **table: Any) -> Claim:
    """A claim of this id."""
    whole = {"id": id_, "figure": "1", "says": f"{id_} is so", "kind": kind, "quantity": by, **table}
    return Claim(id_, "1", "1", whole["says"], kind, by, whole, shows=shows)


def answered(*claims: Claim, study: Sensitivity | None = None, runs: list[Run] = RUNS) -> PaperAnswer:
    """A paper with these claims; the first is what it is cited for."""
    quantities = {
        **PAPER.quantities,
        "chosen": replace(quantity("chosen", "time", READINGS), chosen="by luck"),
    }
    paper = replace(
        PAPER,
        quantities=quantities,
        claims=claims,
        main=Main("A is quick.", (claims[0].id,)),
        causes={"weather": "the weather"},
    )
    plan = FigurePlan(paper, FIGURE, runs, [], is_run=True, is_read=False)
    found = [
        Answer(paper, part, judge(paper, FIGURE, part, runs), (STAND_IN,))
        for claim in claims
        for part in claim.parts()
    ]
    return PaperAnswer(paper, (FigureAnswer(plan, tuple(found)),), study)


ORDER = made("order", **LESS)
STUDY = Sensitivity(
    "0.1.0+old",
    {"otherwise": Way("how it was done", "how", ("1",), 2, 0)},
    {"order": Hangs("reproduced", "1 < 2", 4, 3, {"otherwise": Under("not reproduced", "3 > 2")})},
)


def test_only_results_count_and_each_fact_once() -> None:
    paper = answered(
        ORDER,
        made("again", **LESS, follows="order"),
        made("example", "exact", EXAMPLE, left=A, value=1),
        made("set", "exact", CONSTRUCTION, left=A, value=2),
    )
    assert paper.counts == {"reproduced": 1}
    assert beside(paper.answers) == (
        "Not counted: 1 are so by construction (settings, workload figures, constants), 0 of them as stated; "
        "1 are worked examples, 1 of them as stated; 1 follow from others."
    )
    page = paper_page(paper, [], MADE)
    assert "**All 1 results:** 1 reproduced." in page
    assert 'reproduced: <a id="again">again</a>.' in page
    assert "- Worked examples: 1 of 1 as stated." in page
    assert '- By construction: 0 of 1 as stated:\n  - <a id="set">set</a>, not reproduced: 1' in page


def test_what_a_claim_shows_is_told_by_what_it_is_about() -> None:
    shown = {claim.id: claim.shows for name in data.PAPERS for claim in data.paper(name).claims}
    assert {shown[name] for name in ("table4.1-size", "table4.2-settings", "table4.4-read")} == {CONSTRUCTION}
    assert {shown[name] for name in ("table1.1-page-hits", "fig3.2-striping", "fig6-example")} == {EXAMPLE}
    assert {shown[name] for name in ("fig4.1-response-vs-fab", "fig24-order")} == {RESULT}
    # Four of five stand-ins were fitted to this average.
    assert shown["fig3-read"] == CONSTRUCTION


def test_a_result_that_no_study_tried_says_so_and_one_that_nothing_decides_says_nothing() -> None:
    open_ = made("open", waits=["rain"], **LESS)
    example = made("example", "exact", EXAMPLE, left=A, value=1)
    paper = answered(ORDER, made("again", follows="order", **LESS), open_, example, study=STUDY)
    assert [paper.robust(one) for one in paper.answers] == ["3 of 4", "none run", "", ""]
    robust = [one["robust"] for one in csv.DictReader(claims_csv(paper).splitlines())]
    assert robust == ["3 of 4", "none run", "", ""]


def test_the_first_screen_says_whether_it_holds_and_how_robustly() -> None:
    head = "| [order](#order) | order is so | < | 1 < 2 | reproduced |"
    assert f"{head} none run |" in paper_page(answered(ORDER), [], MADE)
    page = paper_page(answered(ORDER, study=STUDY), [], MADE)
    assert "**Does it hold here?** Yes: of 1 claims" in page
    assert f"{head} 3 of 4 |" in page
    assert "(one seed, engine 0.1.0+old)" in page
    other = replace(STUDY, claims={"order": replace(STUDY.claims["order"], verdict="partly")})
    assert "| 3 of 4 (as partly) |" in paper_page(answered(ORDER, study=other), [], MADE)
    assert "| `otherwise` | how it was done | 1 | order: reproduced → not reproduced |" in page
    assert "engine 0.1.0+abc, commit 1234567" in page
    assert "eraseblock reproduce made 1 -o out/made" in page


def test_a_page_that_is_too_long_tells_things_once(monkeypatch: pytest.MonkeyPatch) -> None:
    paper = answered(ORDER, made("other", "exact", left=A, value=1))
    whole = paper_page(paper, [], MADE)
    monkeypatch.setattr("eraseblock_reproduction.pages.paper.LARGEST", len(whole.encode()) - 1)
    short = paper_page(paper, [], MADE)
    assert "| **Figure 1**: a figure |" in whole
    assert "| **Figure 1** |" in short
    # The claim that it is cited for is on the first screen.
    told = '| <a id="order">order</a> | order is so | < | 1 < 2 | reproduced |'
    assert whole.index("## Claims") < whole.index(told)
    assert short.index(told) < short.index("## Claims")
    assert (whole.count("order is so"), short.count("order is so")) == (2, 1)
    assert '| <a id="other">other</a> | other is so | 1 | 1 | reproduced |' in short


def test_a_reading_that_was_chosen_by_what_came_out_is_said_beside_the_headline() -> None:
    [_, said] = asides(answered(made("chosen", "exact", by="chosen", left=A, value=1)))
    assert said == (
        "What the paper measures was chosen by luck: of 1 results on it the reading taken has 1 reproduced; "
        "the others would have, twice: 1 not reproduced."
    )
    assert said in overview([answered(made("chosen", "exact", by="chosen", left=A, value=1))], "papers", MADE)


def test_failures_of_one_cause_are_told_together() -> None:
    failing = [made(name, "exact", left=A, value=9, cause="weather") for name in ("x", "y")]
    found = asides(answered(*failing, made("z", "exact", left=A, value=9)))
    assert found[1] == "2 of the 3 not reproduced have one likely cause, the weather."


def test_of_a_claim_that_lists_values_some_may_have_a_cause() -> None:
    both = made("both", "number", by="time", values={"a": 9, "b": 9}, cause={"a": "weather"})
    both = replace(both, table={**both.table, "by": "buffer.scheme"})
    assert asides(answered(both))[1] == "1 of the 2 not reproduced have one likely cause, the weather."


def test_a_claim_that_lists_values_is_one_row_and_all_of_its_parts_are_data() -> None:
    both = made("both", "number", by="time", values={"a": 1, "b": 9})
    both = replace(both, table={**both.table, "by": "buffer.scheme"})
    paper = answered(both)
    page = paper_page(paper, [], MADE)
    row = "| both is so | a: 1<br>b: 9 | a: 1<br>b: 2 | 1 reproduced, 1 not reproduced |"
    assert f'| <a id="both">both</a> {row}\n' in page
    rows = list(csv.DictReader(claims_csv(paper).splitlines()))
    assert [(one["id"], one["verdict"], one["value"]) for one in rows] == [
        ("both.a", "reproduced", "1"),
        ("both.b", "not reproduced", "2"),
    ]


def test_a_page_says_in_full_why_a_paper_contradicts_itself() -> None:
    both = made("both", "exact", left=A, value=9, contradicts="It says 8 elsewhere. So it does.")
    paper = answered(both)
    for title in ("short", "x" * 25_000):
        page = paper_page(replace(paper, paper=replace(paper.paper, title=title)), [], MADE)
        assert "| both is so | 9 | 1 | contradicts itself |" in page
        assert "- [both](#both): It says 8 elsewhere. So it does." in page


def test_values_of_a_claim_that_follow_are_named_unless_all_do() -> None:
    both = made("both", "number", by="time", values={"a": 1, "b": 1}, follows={"a": "order"})
    both = replace(both, table={**both.table, "by": "buffer.scheme"})
    assert "reproduced: both (a)." in paper_page(answered(ORDER, both), [], MADE)
    every = replace(both, table={**both.table, "values": {"a": 1}})
    assert 'reproduced: <a id="both">both</a>.' in paper_page(answered(ORDER, every), [], MADE)


def test_what_a_figure_needs_is_said_once() -> None:
    paper = answered(made("one", "statement"), made("two", "statement"))
    figure = replace(FIGURE, needs="hardware", reason="A drive is measured.")
    told = replace(paper.paper, figures={"1": figure})
    plan = replace(paper.figures[0].plan, paper=told, figure=figure)
    found = [
        replace(answer, paper=told, finding=judge(told, figure, answer.claim, RUNS))
        for answer in paper.answers
    ]
    page = paper_page(PaperAnswer(told, (FigureAnswer(plan, tuple(found)),)), [], MADE)
    assert "| **Figure 1**: a figure (needs hardware: A drive is measured) |" in page
    assert page.count("A drive is measured") == 1
    assert '| <a id="two">two</a> | two is so |  | needs hardware | undecided |' in page


def test_the_data_say_which_runs_a_claim_is_of() -> None:
    [row] = csv.DictReader(
        claims_csv(answered(made("one", **LESS, where={"buffer.size": ["1 MiB"]}))).splitlines()
    )
    assert row["of"] == "where: buffer.size = 1 MiB; left: buffer.scheme = a; right: buffer.scheme = b"
    padded = made("two", "exact", left={"buffer.scheme": {"kind": "a", "padding": True}}, value=1)
    [row] = csv.DictReader(claims_csv(answered(padded)).splitlines())
    assert row["of"] == "left: buffer.scheme = (kind = a, padding = true)"


@pytest.mark.parametrize("name", data.PAPERS)
def test_each_paper_has_a_page_that_is_short_and_has_all_results(name: str) -> None:
    path = DOCS / "papers" / f"{name}.md"
    page = path.read_text()
    assert len(page.encode()) <= 25_000
    paper = data.paper(name)
    parts = [part for claim in paper.claims for part in claim.parts()]
    anchors = re.findall(r'<a id="([^"]+)">', page)
    assert len(anchors) == len(set(anchors))
    assert {part.whole for part in parts if part.shows == RESULT} <= set(anchors)
    with (DOCS / "papers" / f"{name}.csv").open() as file:
        assert sorted(row["id"] for row in csv.DictReader(file)) == sorted(part.id for part in parts)
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page)
    assert [link for link in links if not (path.parent / link).exists()] == []
    assert [anchor for anchor in re.findall(r"\]\(#([^)]+)\)", page) if anchor not in anchors] == []


def test_the_overview_has_a_row_for_each_paper() -> None:
    text = (DOCS / "reproduction.md").read_text()
    assert len(text.encode()) < 12_000
    assert all(f"| [{name}](papers/{name}.md) |" in text for name in data.PAPERS)
    assert "## Results" in text


def test_a_picture_of_effects_has_what_is_stated_beside_ours() -> None:
    runs = [
        run(name, seed=seed, time=time * seed) for name, time in (("a", 1.0), ("b", 2.0)) for seed in (1, 2)
    ]
    runs += [run("c", trusted=False, time=1.0)]
    sides: Mapping[str, Any] = {"left": B, "right": A}
    paper = answered(
        made("times", "ratio", value=3, **sides),
        made("more", "increase", value=0.8, **sides),
        made("open", "increase", left={"buffer.scheme": "c"}, right=A, value=0.5),
        made("read", "ratio", value=4, our_bound=True, **sides),
        runs=runs,
    )
    [chart] = effects_of(paper.answers, by_id=True)
    drawn = {(one["claim"], one["kind"]): one for one in chart.spec["data"]["values"]}
    # Three times as much is 200 % more. What no run decides is not drawn, nor is a reading as if printed.
    assert {key: round(one["x"]) for key, one in drawn.items()} == {
        ("times", "here"): 100,
        ("times", "the paper"): 200,
        ("more", "here"): 100,
        ("more", "the paper"): 80,
    }
    # The interval is ours.
    assert "low" in drawn["more", "here"]
    assert "low" not in drawn["more", "the paper"]


def test_a_smaller_picture_has_the_same_numbers_on_its_axes() -> None:
    drawn = '<g role="axis" transform="translate(1.234,-5.678)"><text x="1.26">0.05</text></g>'
    assert smaller(drawn) == '<g transform="translate(1.2,-5.7)"><text x="1.3">0.05</text></g>'


def test_a_figure_about_the_size_of_a_page_is_drawn_by_it_and_not_by_the_blocks_that_follow_from_it() -> None:
    picture = (DOCS / "papers" / "epo-5-response.svg").read_text()
    assert "nand.page_size" in picture
    assert "4 KiB" in picture


def test_the_readme_says_how_many_results_hold() -> None:
    row = re.search(r"^\| all \|(.*)\|$", (DOCS / "reproduction.md").read_text(), re.MULTILINE)
    assert row
    results, *held, contradicts, undecided = (int(cell or 0) for cell in row[1].split("|"))
    readme = (DOCS.parent / "README.md").read_text()
    said = re.search(r"Of \d+ stated results.*?undecided", readme, re.DOTALL)
    assert said
    numbers = [int(number) for number in re.findall(r"\d+", said[0])]
    assert numbers == [results, *held, contradicts + undecided]
