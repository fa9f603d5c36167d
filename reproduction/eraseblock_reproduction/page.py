"""Writes the results as a Markdown page: for each paper the counts, what was learned, and all claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from eraseblock.toolkit import check_writable, replace_file
from eraseblock.toolkit import markdown_row as _row
from eraseblock_reproduction import wording
from eraseblock_reproduction.answers import Answer, FigureAnswer, PaperAnswer, counts, made_so
from eraseblock_reproduction.beyond.answers import StudyAnswer
from eraseblock_reproduction.beyond.markdown import studies_page
from eraseblock_reproduction.finding import VERDICTS
from eraseblock_reproduction.findings import findings_of
from eraseblock_reproduction.sensitivity import Switched, sentence

_HEAD = """\
# What papers state, and what came out

Made by `eraseblock reproduce --all --page`. The papers' claims and the experiments are
in [reproduction](../reproduction/README.md), which also says what each verdict means.
"""


def write_page(papers: Sequence[PaperAnswer], path: Path, studies: Sequence[StudyAnswer] = ()) -> None:
    """Put the page in the place of the one that is there."""
    check_writable(path.resolve().parent)
    replace_file(path, [page(papers, studies).encode()])


def page(papers: Sequence[PaperAnswer], studies: Sequence[StudyAnswer] = ()) -> str:
    """The page as text."""
    lines = [_HEAD, *(_claims(papers) if papers else ()), *(studies_page(studies) if studies else ())]
    return "\n".join(lines) + "\n"


def _claims(papers: Sequence[PaperAnswer]) -> list[str]:
    lines = []
    answers = [answer for paper in papers for answer in paper.answers]
    used = [verdict for verdict in VERDICTS if counts(answers).get(verdict)]
    lines.append(_row(["paper", "claims", *used]))
    lines.append(_row(["---", *["---:"] * (1 + len(used))]))
    for paper in papers:
        counted = counts(paper.answers)
        numbers = [str(counted.get(verdict, "")) for verdict in used]
        lines.append(_row([f"[{paper.paper.name}](#{paper.paper.name})", str(len(paper.answers)), *numbers]))
    total = counts(answers)
    lines.append(_row(["all", str(len(answers)), *(str(total[verdict]) for verdict in used)]))
    if sentence := made_so(answers):
        lines.append(f"\n{sentence}")
    lines.append(f"\n{_which_are_switched(papers)}")
    for paper in papers:
        lines += _paper(paper)
    return lines


def _which_are_switched(papers: Sequence[PaperAnswer]) -> str:
    """Of which papers it is said what their verdicts hang on."""
    switched = [paper.paper.name for paper in papers if paper.switched]
    others = [paper.paper.name for paper in papers if not paper.switched]
    what = "What verdicts hang on of all that papers leave open"
    if not switched:
        return f"{what} was not run: `--sensitivity` runs it."
    rest = f"; `--sensitivity` runs it for {', '.join(others)}, too" if others else ""
    return f"{what} is told for {', '.join(switched)}{rest}."


def _paper(answer: PaperAnswer) -> Iterator[str]:
    paper = answer.paper
    yield f"\n## {paper.name}\n"
    yield f"{paper.authors}, *{paper.title}*, {paper.source}, {paper.year}.\n"
    if text := findings_of(paper):
        yield f"{text}\n"
    yield _row(["its workload", "what was run"])
    yield _row(["---", "---"])
    for source in answer.sources:
        yield _row([source.called, source.sentence])
    for figure in answer.figures:
        yield from _figure(figure)
    if answer.switched:
        yield from _sensitivity(answer.switched)


def _figure(one: FigureAnswer) -> Iterator[str]:
    figure = one.figure
    yield f"\n### {figure.label}: {figure.title}\n"
    counted = ", ".join(f"{count} {verdict}" for verdict, count in counts(one.answers).items())
    yield f"Section {figure.section}. {counted}.\n"
    if figure.reason:
        yield f"{figure.reason}\n"
    if one.untrusted:
        yield f"{one.untrusted} of {len(one.plan.runs)} runs are not to be trusted, and decide nothing.\n"
    for error in one.errors:
        yield f"Runs failed: {error}\n"
    yield _row(["the paper says", "stated", "here", "verdict", "on"])
    yield _row(["---"] * 5)
    for answer in one.answers:
        yield _row(_cells(answer))


def _sensitivity(found: Sequence[Switched]) -> Iterator[str]:
    yield "\n### What hangs on things that are left open\n"
    yield f"{sentence(found)}\n"
    moving = [one for one in found if one.changes or one.notes]
    if moving:
        yield _row(
            ["done in another way", "left open", "claims", "more comes out", "less comes out", "which"]
        )
        yield _row(["---", "---", "---:", "---:", "---:", "---"])
    for one in moving:
        which = [
            f"{change.claim.id}: {change.ours(change.before)} → {change.ours(change.after)}, "
            f"{change.after.verdict}"
            for change in one.changes
        ]
        cells = [f"`{one.name}`", one.open, str(len(one.claims)), str(one.better), str(one.worse)]
        yield _row([*cells, "<br>".join([*which, *one.notes])])


def _cells(answer: Answer) -> list[str]:
    claim, finding = answer.claim, answer.finding
    says = f"{claim.says} ({claim.part})" if claim.part else claim.says
    here = [wording.ours(answer.paper, claim, finding)]
    others = {
        name: f"{wording.other_reading(answer.paper, claim, other)}, {other.verdict}"
        for name, other in finding.readings.items()
    }
    here += [f"{name}: {text}" for name, text in others.items() if text != f"{here[0]}, {finding.verdict}"]
    verdict = f"{finding.verdict}: {finding.reason}" if finding.reason else finding.verdict
    return [
        says,
        wording.stated(answer.paper, claim),
        "<br>".join(part for part in here if part),
        verdict,
        answer.on,
    ]
