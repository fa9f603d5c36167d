"""The page of one paper: whether it holds on the first screen, then every claim, and how to run it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from eraseblock.toolkit import markdown_row as row
from eraseblock_reproduction.answers import Answer, FigureAnswer, PaperAnswer
from eraseblock_reproduction.data import CONSTRUCTION, EXAMPLE, RESULT
from eraseblock_reproduction.finding import REPRODUCED
from eraseblock_reproduction.findings import findings_of
from eraseblock_reproduction.headline import asides, beside, tally
from eraseblock_reproduction.pages import cells
from eraseblock_reproduction.pages.made import Made
from eraseblock_reproduction.pages.pictures import Picture

# So many claims of each way are named; the stored study has all.
_NAMED = 4


def paper_page(paper: PaperAnswer, pictures: Sequence[Picture], made: Made) -> str:
    """The page as text."""
    decides, *findings = findings_of(paper.paper).split("\n\n")
    lines = [
        *_first_screen(paper, decides, made),
        *_pictures(pictures),
        *(["", "## Findings", "", "\n\n".join(findings)] if findings else ()),
        *_claims(paper),
        *_hangs(paper),
        *_again(paper),
    ]
    return "\n".join(lines) + "\n"


def _first_screen(paper: PaperAnswer, decides: str, made: Made) -> Iterator[str]:
    told = paper.paper
    yield f"# {told.name}: {told.title}\n"
    yield f"{told.authors}, {told.source}, {told.year}.\n"
    if told.main is not None and paper.main:
        yield f"**It is cited for:** {told.main.says}\n"
        yield f"**Does it hold here?** {cells.holds(paper)}: of {len(paper.main)} claims that carry it "
        yield f"{tally(one.finding for one in paper.main)}.\n"
        yield from _table(paper, paper.main, anchors=False)
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
        "what the words mean: [verdicts](../../reproduction/README.md#verdicts)."
    )


def _pictures(pictures: Sequence[Picture]) -> Iterator[str]:
    if not pictures:
        return
    yield "\n## Ours and the printed numbers\n"
    yield "Lines and circles are ours, with 95 % intervals of several seeds; diamonds are the paper's.\n"
    for picture in pictures:
        yield f"**{picture.title}**\n\n![{picture.title}]({picture.file})\n"


def _claims(paper: PaperAnswer) -> Iterator[str]:
    yield "\n## Claims\n"
    yield "Results; `robust` says how many of the choices that the paper leaves open keep the verdict."
    for one in paper.figures:
        yield from _figure(paper, one)
    yield from _others(paper)


def _figure(paper: PaperAnswer, one: FigureAnswer) -> Iterator[str]:
    results = [answer for answer in one.answers if answer.claim.shows == RESULT]
    if not results:
        return
    figure = one.figure
    yield f"\n### {figure.label}: {figure.title}\n"
    if figure.reason:
        yield f"{figure.reason}\n"
    if one.untrusted:
        yield f"{one.untrusted} of {len(one.plan.runs)} runs are not to be trusted, and decide nothing.\n"
    for error in one.errors:
        yield f"Runs failed: {error}\n"
    if own := [answer for answer in results if answer.claim.counts]:
        yield from _table(paper, own)
    following = [answer for answer in results if not answer.claim.counts]
    if following:
        some = "; ".join(_following(answer) for answer in following)
        yield f"\nFollow from others: {some}."


def _table(paper: PaperAnswer, answers: Sequence[Answer], *, anchors: bool = True) -> Iterator[str]:
    """A row for each claim; one that lists values has them all in its row."""
    yield row(["claim", "the paper says", "stated", "here", "verdict", "robust"])
    yield row(["---"] * 6)
    for name, group in groupby(answers, key=lambda answer: answer.claim.whole):
        some = list(group)
        yield row(
            [
                f'<a id="{name}"></a>{name}' if anchors else f"[{name}](#{name})",
                some[0].claim.says,
                cells.stated(paper, some),
                cells.here(paper, some),
                cells.verdict(some),
                cells.robust(paper, some),
            ]
        )


def _following(answer: Answer) -> str:
    name = answer.claim.id
    return f'<a id="{name}"></a>{name} from {", ".join(answer.claim.follows)} ({answer.finding.verdict})'


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
            name = answer.claim.id
            reason = answer.finding.reason or cells.here(paper, [answer])
            yield f'  - <a id="{name}"></a>{name}, {answer.finding.verdict}: {reason}'


def _hangs(paper: PaperAnswer) -> Iterator[str]:
    study = paper.study
    if study is None:
        return
    yield "\n## What verdicts hang on\n"
    yield "Everything that is left open in its other ways; all of it: "
    yield f"[sensitivity.json](../../reproduction/{paper.paper.name}/sensitivity.json).\n"
    movers = study.movers()
    if movers:
        yield row(["done in another way", "left open", "verdicts moved", "such as"])
        yield row(["---", "---", "---:", "---"])
    for name, moved in movers.items():
        some = [f"{claim}: {was.verdict} → {under.verdict}" for claim, was, under in moved[:_NAMED]]
        yield row([f"`{name}`", study.ways[name].open, str(len(moved)), "<br>".join(some)])
    surprises = [(claim, pair, one) for claim, one in study.claims.items() for pair in one.pairs]
    for claim, pair, one in surprises[:_NAMED]:
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
    yield "\nTo cite this page: [CITATION.cff](../../CITATION.cff), with the engine above and the claim's id."
