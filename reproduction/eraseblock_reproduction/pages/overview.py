"""The overview: a row for each paper, and where the rest is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eraseblock.toolkit import markdown_row as row
from eraseblock_reproduction.answers import Answer, PaperAnswer, counts
from eraseblock_reproduction.finding import VERDICTS
from eraseblock_reproduction.headline import asides, beside, tally
from eraseblock_reproduction.pages import cells
from eraseblock_reproduction.pages.made import Made

_HEAD = """\
# What papers state, and what came out

Made by `eraseblock reproduce --all --page docs/reproduction.md`. [Verdicts](verdicts.md) says what each of
them means, `reproduction/README.md` in the source tree how claims are written down.
"""


def overview(papers: Sequence[PaperAnswer], folder: str, made: Made, *, with_beyond: bool = False) -> str:
    """The page as text; the papers' pages are in `folder` beside it."""
    lines = [_HEAD, *(_first(papers, folder) if papers else ())]
    if papers:
        lines += ["", "## Results", "", *_headline(papers)]
    if with_beyond:
        lines += [
            "",
            "## Beyond the papers",
            "",
            f"Every buffer with every FTL, and on a modern drive: [beyond]({folder}/beyond.md). "
            "Where each buffer is worst: [adversaries](adversaries.md).",
        ]
    lines += ["", f"Made with {made.sentence}. To cite it: `CITATION.cff`."]
    return "\n".join(lines) + "\n"


def _first(papers: Sequence[PaperAnswer], folder: str) -> Iterator[str]:
    yield row(["paper", "what it is cited for", "does it hold here?", "stated", "here", "robust"])
    yield row(["---"] * 6)
    for paper in papers:
        main = paper.paper.main
        told = _leading(paper)
        link = f"[{paper.paper.name}]({folder}/{paper.paper.name}.md)"
        holds = f"{cells.holds(paper)}: {tally(one.finding for one in paper.main)}" if paper.main else ""
        says = "" if main is None else main.says
        if told is None:
            yield row([link, says, holds, "", "", ""])
            continue
        stated = f"{told.claim.says}"
        yield row([link, says, holds, stated, cells.here(paper, [told]), cells.robust(paper, [told])])


def _leading(paper: PaperAnswer) -> Answer | None:
    """The first number among the claims that a paper is cited for."""
    numbers = [one for one in paper.main if "value" in one.claim.table and one.finding.ours is not None]
    return next(iter(numbers or paper.main), None)


def _headline(papers: Sequence[PaperAnswer]) -> Iterator[str]:
    results = [answer for paper in papers for answer in paper.results]
    used = [verdict for verdict in VERDICTS if counts(results).get(verdict)]
    yield row(["paper", "results", *used])
    yield row(["---", *["---:"] * (1 + len(used))])
    for paper in papers:
        numbers = [str(paper.counts.get(verdict, "")) for verdict in used]
        yield row([paper.paper.name, str(len(paper.results)), *numbers])
    total = counts(results)
    yield row(["all", str(len(results)), *(str(total[verdict]) for verdict in used)])
    if sentence := beside([answer for paper in papers for answer in paper.answers]):
        yield f"\n{sentence}"
    for paper in papers:
        yield f"\n**{paper.paper.name}.** {' '.join(asides(paper))}"
