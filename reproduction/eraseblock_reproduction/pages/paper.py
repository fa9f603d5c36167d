"""The page of one paper: whether it holds on the first screen, then every claim, and how to run it again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import groupby

from eraseblock.toolkit import markdown_row as row
from eraseblock_reproduction.answers import Answer, FigureAnswer, PaperAnswer
from eraseblock_reproduction.data import CONSTRUCTION, EXAMPLE, NEEDS, RESULT
from eraseblock_reproduction.finding import CONTRADICTS, REPRODUCED
from eraseblock_reproduction.findings import findings_of
from eraseblock_reproduction.headline import asides, beside, tally
from eraseblock_reproduction.pages import cells
from eraseblock_reproduction.pages.made import Made
from eraseblock_reproduction.pages.pictures import Picture

# What a page may have at most.
LARGEST = 25_000
# How many ways are told of, and how many claims of each: the most with which the page is not too large.
# With none figures have no titles, the first screen is not told again, nor how robust the other claims are.
_TOLD = ((99, 3), (20, 2), (12, 1), (6, 1), (0, 0))


def paper_page(paper: PaperAnswer, pictures: Sequence[Picture], made: Made) -> str:
    """The page as text."""
    decides, *findings = findings_of(paper.paper).split("\n\n")
    middle = [
        *_pictures(pictures),
        *(["", "## Findings", "", "\n\n".join(findings)] if findings else ()),
    ]
    foot = list(_again(paper))
    pages = (
        "\n".join(
            [
                *_first_screen(paper, decides, made, anchors=not ways),
                *middle,
                *_claims(paper, whole=ways > 0),
                *_hangs(paper, ways, claims),
                *foot,
            ]
        )
        + "\n"
        for ways, claims in _TOLD
    )
    page = ""
    for page in pages:
        if len(page.encode()) <= LARGEST:
            break
    return page


def _first_screen(paper: PaperAnswer, decides: str, made: Made, *, anchors: bool) -> Iterator[str]:
    told = paper.paper
    yield f"# {told.name}: {told.title}\n"
    yield f"{told.authors}, {told.source}, {told.year}.\n"
    if told.main is not None and paper.main:
        yield f"**It is cited for:** {told.main.says}\n"
        yield f"**Does it hold here?** {cells.holds(paper)}: of {len(paper.main)} claims that carry it "
        yield f"{tally(one.finding for one in paper.main)}.\n"
        yield from _table(paper, paper.main, anchors=anchors)
        yield ""
    if decides:
        yield f"**What decides it:** {decides}\n"
    yield f"**All {len(paper.results)} results:** {tally(one.finding for one in paper.results)}.\n"
    for aside in asides(paper):
        yield f"- {aside}"
    if sentence := beside(paper.answers):
        yield f"- {sentence}"
    yield (
        f"\nMade with {made.sentence}. All claims as data: [{told.name}.csv]({told.name}.csv); "
        "what the words mean: [verdicts](../verdicts.md)."
    )


def _pictures(pictures: Sequence[Picture]) -> Iterator[str]:
    if not pictures:
        return
    yield "\n## Ours and the printed numbers\n"
    yield "Lines and circles are ours, with 95 % intervals of seeds; diamonds are what the paper prints.\n"
    for picture in pictures:
        yield f"**{picture.title}**\n\n![{picture.of}]({picture.file})\n"


def _claims(paper: PaperAnswer, *, whole: bool) -> Iterator[str]:
    """All results in one table, under their figures; what follows from others, and what is no result."""
    yield "\n## Claims\n"
    if paper.study is None:
        yield "Results. How many of the choices that the paper leaves open keep each verdict: none was run.\n"
    elif whole:
        yield "Results. Robust: so many of the choices that the paper leaves open keep the verdict.\n"
    else:
        yield f"Results, beside those at the top of the page. How robust each is: `{paper.paper.name}.csv`.\n"
    head = _HEAD if paper.study is not None and whole else _HEAD[:-1]
    yield row(head)
    yield row(["---"] * len(head))
    above = set() if whole else {answer.claim.id for answer in paper.main}
    for one in paper.figures:
        own = [answer for answer in one.answers if answer.claim.counts and answer.claim.id not in above]
        if own:
            yield row([_figure(one, titles=whole), *[""] * (len(head) - 1)])
            yield from (row(cells_[: len(head)]) for cells_ in _rows(paper, own, anchors=True))
    results = [answer for answer in paper.answers if answer.claim.shows == RESULT]
    rows = {answer.claim.whole for answer in results if answer.claim.counts}
    parts = Counter(answer.claim.whole for answer in results)
    following = [answer for answer in results if not answer.claim.counts]
    some: dict[str, list[str]] = {}
    for _, group in groupby(following, key=lambda one: one.claim.whole):
        told = list(group)
        whole_claim = len(told) == parts[told[0].claim.whole]
        some.setdefault(cells.verdict(told), []).append(_following(told, rows, whole=whole_claim))
    if some:
        told_of = "; ".join(f"{verdict}: {', '.join(names)}" for verdict, names in some.items())
        yield f"\nFollow from others (from which, `{paper.paper.name}.csv` says). {told_of}."
    if against := [answer for answer in results if answer.finding.verdict == CONTRADICTS]:
        yield "\nWhere the paper contradicts itself:\n"
        yield from (f"- [{one.claim.id}](#{one.claim.whole}): {one.finding.reason}" for one in against)
    yield from _others(paper)


def _figure(one: FigureAnswer, *, titles: bool) -> str:
    """The row above a figure's claims."""
    notes = []
    if one.untrusted:
        notes.append(f"{one.untrusted} of {len(one.plan.runs)} runs not to be trusted")
    if one.figure.needs is not None:
        notes.append(f"{NEEDS[one.figure.needs]}: {(one.figure.reason or '').rstrip('.')}")
    notes += [f"runs failed: {error}" for error in one.errors]
    more = f" ({'; '.join(notes)})" if notes else ""
    title = f": {one.figure.title}" if titles else ""
    return f"**{one.figure.label}**{title}{more}"


_HEAD = ["claim", "the paper says", "stated", "here", "verdict", "robust"]


def _table(paper: PaperAnswer, answers: Sequence[Answer], *, anchors: bool) -> Iterator[str]:
    """The claims that a paper is cited for."""
    yield row(_HEAD)
    yield row(["---"] * len(_HEAD))
    yield from (row(cells_) for cells_ in _rows(paper, answers, anchors=anchors))


def _rows(paper: PaperAnswer, answers: Sequence[Answer], *, anchors: bool) -> Iterator[list[str]]:
    """The cells of each claim; one that lists values has them all in its row, where they stand together."""
    placed: set[str] = set()
    for name, group in groupby(answers, key=lambda answer: answer.claim.whole):
        some = list(group)
        place = f'<a id="{name}">{name}</a>' if anchors else f"[{name}](#{name})"
        yield [
            name if anchors and name in placed else place,
            some[0].claim.says,
            cells.stated(paper, some),
            cells.here(paper, some),
            cells.verdict(some),
            cells.robust(paper, some),
        ]
        placed.add(name)


def _following(answers: Sequence[Answer], rows: Collection[str], *, whole: bool) -> str:
    """A claim that follows from others, or values that it lists; its place is here, if it has no row."""
    name = answers[0].claim.whole
    of = "" if whole else f" ({', '.join(cells.part(one) for one in answers)})"
    place = name if name in rows else f'<a id="{name}">{name}</a>'
    return f"{place}{of}"


def _others(paper: PaperAnswer) -> Iterator[str]:
    """What is no result: how much of it is as stated, and what is not."""
    yield "\n### What is no result\n"
    for shows, what in ((EXAMPLE, "Worked examples"), (CONSTRUCTION, "By construction")):
        some = [answer for answer in paper.answers if answer.claim.shows == shows]
        if not some:
            continue
        apart = [answer for answer in some if answer.finding.verdict != REPRODUCED]
        yield f"- {what}: {len(some) - len(apart)} of {len(some)} as stated" + (":" if apart else ".")
        for answer in apart:
            name, reason = answer.claim.id, answer.finding.reason
            if answer.finding.verdict != CONTRADICTS:
                reason = cells.shortened(reason) or cells.here(paper, [answer])
            yield f'  - <a id="{name}">{name}</a>, {answer.finding.verdict}: {reason}'


def _hangs(paper: PaperAnswer, ways: int, claims: int) -> Iterator[str]:
    """The ways that move most verdicts, and some of the claims that each moves."""
    study = paper.study
    if study is None:
        return
    yield "\n## What verdicts hang on\n"
    # What follows from other claims counts there.
    counted = {answer.claim.id for answer in paper.results}
    movers = study.movers(counted)
    stored = f"`reproduction/{paper.paper.name}/sensitivity.json`"
    left = len(movers) - ways
    if movers and not ways:
        yield f"{len(movers)} ways move a verdict; which, and all that they move: {stored}."
        return
    more = f"; {left} more, and" if left > 0 else "; with"
    yield f"Ways that move a verdict{more} all that they move: {stored}.\n"
    if movers and ways:
        yield row(["done in another way", "left open", "verdicts moved", "such as"])
        yield row(["---", "---", "---:", "---"])
    for name, moved in list(movers.items())[:ways]:
        some = [f"{claim}: {was.verdict} → {under.verdict}" for claim, was, under in moved[:claims]]
        yield row([f"`{name}`", study.ways[name].open, str(len(moved)), "<br>".join(some)])
    together = [
        (claim, pair, one) for claim, one in study.claims.items() if claim in counted for pair in one.pairs
    ]
    for claim, pair, one in together[:claims]:
        under = one.pairs[pair]
        yield f"\nBoth of `{pair}` make {claim} {under.verdict} ({under.ours}), which neither does alone."


def _again(paper: PaperAnswer) -> Iterator[str]:
    name = paper.paper.name
    yield "\n## Run it again\n"
    first = next((one for one in paper.figures if one.plan.is_run), None)
    example = first.figure.name if first is not None else paper.figures[0].figure.name
    yield "One figure, and what all verdicts hang on; figures are called as above.\n"
    yield f"    eraseblock reproduce {name} {example} -o out/{name}"
    yield f"    eraseblock reproduce {name} --sensitivity -o out/{name}\n"
    yield row(["its workload", "what was run"])
    yield row(["---", "---"])
    for source in paper.sources:
        yield row([source.called, source.sentence])
    yield "\nTo cite this page: `CITATION.cff`, with the engine above and the claim's id."
