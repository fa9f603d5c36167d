"""How much of a paper holds: results alone are counted, each fact once; and what has to be said beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from eraseblock_reproduction.answers import Answer, PaperAnswer
from eraseblock_reproduction.data import CONSTRUCTION, EXAMPLE, RESULT
from eraseblock_reproduction.finding import CONTRADICTS, NOT, REPRODUCED, VERDICTS, Finding


def tally(findings: Iterable[Finding]) -> str:
    """How many have which verdict, as a short text."""
    counted = Counter(finding.verdict for finding in findings)
    return ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS if counted[verdict])


def asides(paper: PaperAnswer) -> list[str]:
    """Sentences that stand beside a paper's headline."""
    return [
        f"{text[:1].upper()}{text[1:]}." for text in (_robust(paper), *_causes(paper), _chosen(paper)) if text
    ]


def beside(found: Sequence[Answer]) -> str:
    """A sentence on the claims that the headline leaves out; empty if it counts all."""
    parts = []
    for shows, what in (
        (CONSTRUCTION, "are so by construction (settings, workload figures, constants)"),
        (EXAMPLE, "are worked examples"),
    ):
        some = [one for one in found if one.claim.shows == shows]
        held = sum(one.finding.verdict == REPRODUCED for one in some)
        if some:
            parts.append(f"{len(some)} {what}, {held} of them as stated")
    if following := sum(one.claim.shows == RESULT and bool(one.claim.follows) for one in found):
        parts.append(f"{following} follow from others")
    return f"Not counted: {'; '.join(parts)}." if parts else ""


def _robust(paper: PaperAnswer) -> str:
    if paper.study is None:
        return "how far verdicts hang on what the paper leaves open was not tried (`--sensitivity` does)"
    told = paper.study.sentence([answer.claim.id for answer in paper.results]).rstrip(".")
    return f"{told} (one seed, engine {paper.study.engine})"


def _causes(paper: PaperAnswer) -> list[str]:
    """What several of the failures come from, each with its number."""
    failing = [one for one in paper.results if one.finding.verdict == NOT and one.claim.cause]
    found = Counter(str(one.claim.cause) for one in failing)
    return [
        f"{count} of the {paper.counts[NOT]} not reproduced have one likely cause, "
        f"{paper.paper.causes[cause]}"
        for cause, count in found.most_common()
    ]


def _chosen(paper: PaperAnswer) -> str:
    """On the reading of a quantity that was chosen by what came out; empty if none was."""
    quantities = paper.paper.quantities
    by = {one.claim.id: quantities[one.claim.quantity].chosen for one in paper.results if one.claim.quantity}
    # A claim that contradicts others of its paper does so under each reading.
    concerned = [one for one in paper.results if by.get(one.claim.id) and one.finding.verdict != CONTRADICTS]
    if not concerned:
        return ""
    names = dict.fromkeys(name for one in concerned for name in one.finding.readings)
    others = [
        f"{name}: {tally(one.finding.readings[name] for one in concerned if name in one.finding.readings)}"
        for name in names
    ]
    return (
        f"what the paper measures was chosen {by[concerned[0].claim.id]}: of {len(concerned)} results on it "
        f"the reading taken has {tally(one.finding for one in concerned)}; the others would have, "
        f"{'; '.join(others)}"
    )
