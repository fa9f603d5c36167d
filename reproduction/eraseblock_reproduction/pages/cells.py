"""What tables of several pages say of claims."""

from __future__ import annotations

from collections.abc import Sequence

from eraseblock_reproduction import wording
from eraseblock_reproduction.answers import NOT_TRIED, Answer, PaperAnswer
from eraseblock_reproduction.data import NEEDS
from eraseblock_reproduction.finding import DIRECTION, PARTLY, REPRODUCED
from eraseblock_reproduction.headline import tally

# Of a reason so much is shown.
_LONG = 110


def holds(paper: PaperAnswer) -> str:
    """Whether it holds what a paper is cited for, by the claims that carry it."""
    verdicts = [answer.finding.verdict for answer in paper.main]
    if set(verdicts) <= {REPRODUCED}:
        return "Yes"
    there = sum(verdict in (REPRODUCED, PARTLY) for verdict in verdicts)
    if 2 * there >= len(verdicts):
        return "In part"
    return "Hardly" if there or DIRECTION in verdicts else "No"


def stated(paper: PaperAnswer, answers: Sequence[Answer]) -> str:
    """What the paper states, of each part of a claim."""
    return _joined([_part(one, wording.stated(paper.paper, one.claim)) for one in answers])


def here(paper: PaperAnswer, answers: Sequence[Answer]) -> str:
    """What came out, of each part of a claim; or why nothing did."""
    return _joined([_part(one, _here(paper, one)) for one in answers])


def _here(paper: PaperAnswer, answer: Answer) -> str:
    needs = paper.paper.figures[answer.claim.figure].needs
    # Why is said of the figure.
    if needs is not None and not {"needs", "contradicts"} & set(answer.claim.table):
        return NEEDS[needs]
    return wording.ours(paper.paper, answer.claim, answer.finding) or shortened(answer.finding.reason)


def shortened(text: str) -> str:
    """The first sentence of a reason, cut where that is long; the data beside the page have all of it."""
    first = text.partition(". ")[0]
    if len(first) > _LONG:
        first = first.partition("; ")[0]
    return first if len(first) <= _LONG else f"{first[:_LONG].rpartition(' ')[0]} …"


def verdict(answers: Sequence[Answer]) -> str:
    """The verdict, or how many parts have which."""
    return answers[0].finding.verdict if len(answers) == 1 else tally(one.finding for one in answers)


def robust(paper: PaperAnswer, answers: Sequence[Answer]) -> str:
    """How many of the choices that the paper leaves open keep the verdict."""
    if paper.study is None:
        return NOT_TRIED
    return _joined([paper.robust(one) or "-" for one in answers])


def part(answer: Answer) -> str:
    """Which of the values that a claim lists it is of; a workload without the name of its paper."""
    return answer.claim.part.rpartition(f"{answer.paper.name}-")[2]


def _part(answer: Answer, text: str) -> str:
    name = part(answer)
    return f"{name}: {text}" if name and text else text


def _joined(texts: Sequence[str]) -> str:
    return "<br>".join(text for text in texts if text) if len(set(texts)) > 1 else texts[0]
