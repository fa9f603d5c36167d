"""Finds out what verdicts hang on: everything that a paper leaves open is done in its other ways.

All of it at full length takes a day. So each way is tried at a tenth of the length first, and only what moved
there, or what a tenth cannot tell, is run at full length: that decides. Then pairs of ways are tried that
each move the same claim, with the runs that such claims are about; of them only what neither brings alone.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from eraseblock import Experiment
from eraseblock.toolkit import Outcome, engine
from eraseblock_reproduction import wording
from eraseblock_reproduction.data import TWO_SIDED, Claim, Paper, Selection
from eraseblock_reproduction.finding import GRADES, Finding
from eraseblock_reproduction.plan import FigurePlan, needs_a_run
from eraseblock_reproduction.selection import Run, select
from eraseblock_reproduction.sensitivity import Hangs, Sensitivity, Under, Way, asked, keeping
from eraseblock_reproduction.switches import Variant, both, first_seeds, variants
from eraseblock_reproduction.verdicts import judge

# Runs experiments, or finds them where they are kept.
Running = Callable[[Sequence[Experiment]], Sequence[Outcome]]

# Runs with fewer requests are not shortened: they take no time, and a tenth says nothing of them.
_SMALL = 20_000
_TENTH = 10
# A tenth of the length tells where its figure is that of all of it, but for this share.
_LIKE = 0.5


@dataclass
class _Trial:
    """A figure whose claims are tried: its runs with one seed each, whole and shortened."""

    paper: Paper
    plan: FigurePlan
    runs: list[Run]
    experiments: list[Experiment]
    claims: list[Claim]
    short: list[Run] = field(default_factory=list)
    ways: list[Variant] = field(default_factory=list)
    # By claim and way what comes out: at a tenth of the length, and where that does not tell, at all of it.
    screened: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    found: dict[str, dict[str, Under]] = field(default_factory=lambda: defaultdict(dict))
    judged: dict[str, dict[str, bool]] = field(default_factory=lambda: defaultdict(dict))
    surprises: dict[str, dict[str, Under]] = field(default_factory=lambda: defaultdict(dict))
    left_out: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    errors: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    @property
    def places(self) -> set[int]:
        """Those of the runs that its claims are about."""
        return {place for claim in self.claims for place in used(claim, self.runs)}

    def base(self, claim: Claim) -> Finding:
        """What comes out at full length with nothing done in another way."""
        return judge(self.paper, self.plan.figure, claim, self.runs)

    def said(self, claim: Claim, finding: Finding) -> Under:
        """A finding as it is stored."""
        return Under(finding.verdict, wording.ours(self.paper, claim, finding))


def study(plans: Sequence[FigurePlan], run: Running) -> Sensitivity:
    """The figures of one paper, whose own runs are done."""
    return by_figures(plans, run, lambda _found: None)


def by_figures(plans: Sequence[FigurePlan], run: Running, keep: Callable[[Sensitivity], None]) -> Sensitivity:
    """One figure of a paper after the other; what has been found is kept after each: all takes hours.

    The claims that the paper is cited for come first, then all claims, then pairs of ways.
    """
    # What a served drive and the simulation make of one drive hangs on no choice of that.
    wanted = [plan for plan in in_order(plans) if not plan.figure.served]
    trials: dict[str, _Trial] = {}
    for only in (_is_main, None):
        for plan in wanted:
            trial = _trial(plan, only)
            name, known = plan.figure.name, trials.get(plan.figure.name)
            if not trial.claims or (known is not None and known.claims == trial.claims):
                continue
            _shorten(trial, run)
            _try(trial, trial.ways, run, _moves)
            trials[name] = trial
            keep(_put_together(list(trials.values()), 0))
    pairs = 0
    for trial in trials.values():
        if some := list(_pairs(trial)):
            _try(trial, some, run, _surprises)
            pairs += len(some)
            keep(_put_together(list(trials.values()), pairs))
    return _put_together(list(trials.values()), pairs)


def in_order(plans: Sequence[FigurePlan]) -> list[FigurePlan]:
    """Figures with claims that a paper is cited for come first, then those with fewest requests."""

    def place(plan: FigurePlan) -> tuple[bool, int]:
        own = plan.paper.claims_of(plan.figure.name)
        return not any(_is_main(plan.paper, claim) for claim in own), sum(map(_requests, plan.runs))

    return sorted((plan for plan in plans if plan.is_run), key=place)


def used(claim: Claim, runs: Sequence[Run]) -> set[int]:
    """The places of the runs that a claim is about."""
    sides = [*claim.lefts, *(claim.rights if claim.kind in TWO_SIDED else ())]
    steps: list[Selection] = claim.table.get("along") or [{}]
    chosen = {
        id(run): run for side in sides for step in steps for run in select(runs, claim.where, side, step)
    }
    if (base := claim.table.get("relative_to")) is not None:
        known = {run.identity(base) for run in chosen.values()}
        chosen |= {id(run): run for run in select(runs, base) if run.identity(base) in known}
    return {place for place, run in enumerate(runs) if id(run) in chosen}


def shortened(experiment: Experiment, requests: int) -> Experiment:
    """The same with a tenth of these requests, the first of them; as it is if they are few."""
    if requests < _SMALL:
        return experiment
    config = experiment.config
    config["workload"]["first"] = requests // _TENTH
    text = json.dumps(config, ensure_ascii=False, separators=(",", ":"))
    return Experiment(text, experiment.base, reading=experiment.reading)


def _is_main(paper: Paper, claim: Claim) -> bool:
    """Whether it is one of the claims that the paper is cited for."""
    return paper.main is not None and not {claim.id, claim.whole}.isdisjoint(paper.main.claims)


def _trial(plan: FigurePlan, only: Callable[[Paper, Claim], bool] | None) -> _Trial:
    """A figure with its claims, or some of them, and with each way for the runs that they are about."""
    paper, places = plan.paper, first_seeds(plan.runs)
    runs, experiments = [plan.runs[place] for place in places], [plan.experiments[place] for place in places]
    claims = [claim for claim in paper.claims_of(plan.figure.name) if needs_a_run(paper, claim)]
    trial = _Trial(paper, plan, runs, experiments, [])
    for claim in claims:
        if (only is None or only(paper, claim)) and trial.base(claim).verdict in GRADES:
            trial.claims.append(claim)
    asked = trial.places
    for way in variants(paper, plan.figure, runs, experiments) if asked else ():
        if some := {place: one for place, one in way.experiments.items() if place in asked}:
            trial.ways.append(replace(way, experiments=some, parts=(frozenset(some),)))
    return trial


def _requests(run: Run) -> int:
    """How many requests a run had; 0 where it has no record, so that it is not shortened."""
    requests: Mapping[str, int] = (run.record or {}).get("requests", {})
    return int(requests.get("reads", 0)) + int(requests.get("writes", 0))


def _shorten(trial: _Trial, run: Running) -> None:
    """The runs that claims of the figure are about, at a tenth of their length."""
    asked = sorted(trial.places)
    outcomes = run([shortened(trial.experiments[place], _requests(trial.runs[place])) for place in asked])
    records = {place: outcome.record for place, outcome in zip(asked, outcomes, strict=True)}
    trial.short = [
        Run(one.settings, one.source, records.get(place), one.profile) for place, one in enumerate(trial.runs)
    ]


# Says whether a claim has to be run at full length under a variant: by what comes out at a tenth without
# and with it.
_Doubt = Callable[[_Trial, Variant, Claim, Finding, Finding], bool]


def _try(trial: _Trial, ways: Sequence[Variant], run: Running, doubt: _Doubt) -> None:
    """Variants at a tenth of the length, and at full length where that leaves a doubt."""
    short = []
    for variant in ways:
        experiments = {
            place: shortened(one, _requests(trial.runs[place])) for place, one in variant.experiments.items()
        }
        short.append(variant.of(trial.short, experiments))
    _run(short, run)
    whole: list[tuple[Variant, list[Claim]]] = []
    for variant, full in zip(short, ways, strict=True):
        doubtful = [
            claim for claim in _concerned(trial, variant) if _is_doubtful(trial, variant, claim, doubt)
        ]
        if doubtful:
            places = {place for claim in doubtful for place in used(claim, trial.runs)}
            experiments = {key: one for key, one in full.experiments.items() if key in places}
            whole.append((full.of(trial.runs, experiments), doubtful))
        _note(trial, variant)
    _run([variant for variant, _ in whole], run)
    for variant, claims in whole:
        for claim in claims:
            _decide(trial, variant, claim)
        _note(trial, variant)


def _run(variants_: Sequence[Variant], run: Running) -> None:
    wanted = [(variant, place) for variant in variants_ for place in variant.experiments]
    if not wanted:
        return
    outcomes = run([variant.experiments[place] for variant, place in wanted])
    for (variant, place), outcome in zip(wanted, outcomes, strict=True):
        variant.put(place, outcome.record, outcome.error)


def _concerned(trial: _Trial, variant: Variant) -> Iterator[Claim]:
    """The claims about runs that a variant makes others; of a pair, those that both of its ways move."""
    pair = len(variant.names) > 1
    for claim in _moved_by(trial, variant.names) if pair else trial.claims:
        places = used(claim, trial.runs)
        if all(places & part for part in variant.parts):
            yield claim


def _moved_by(trial: _Trial, names: Sequence[str]) -> list[Claim]:
    """The claims that each of these ways moves alone."""
    return [claim for claim in trial.claims if all(name in trial.found[claim.id] for name in names)]


def _is_doubtful(trial: _Trial, variant: Variant, claim: Claim, doubt: _Doubt) -> bool:
    """Judge a claim at a tenth of the length, and note that it was judged if that is all that it needs."""
    before, after = _both_sides(trial, variant, claim)
    trial.screened[claim.id][variant.name] = after.verdict
    if doubt(trial, variant, claim, before, after):
        return True
    trial.judged[claim.id][variant.name] = True
    return False


def _both_sides(trial: _Trial, variant: Variant, claim: Claim) -> tuple[Finding, Finding]:
    before, after = ([pair[side] for pair in variant.compared] for side in (0, 1))
    figure = trial.plan.figure
    return judge(trial.paper, figure, claim, before), judge(trial.paper, figure, claim, after)


def _moves(trial: _Trial, _variant: Variant, claim: Claim, before: Finding, after: Finding) -> bool:
    """One way: the verdict is another one, or a tenth of the length cannot tell."""
    if before.verdict != after.verdict or after.verdict not in GRADES:
        return True
    return not _is_like(before, trial.base(claim))


def _surprises(trial: _Trial, variant: Variant, claim: Claim, before: Finding, after: Finding) -> bool:
    """A pair of ways: something comes out that neither of them brings alone."""
    alone = {trial.screened[claim.id].get(name, before.verdict) for name in variant.names}
    return after.verdict in GRADES and after.verdict not in alone


def _is_like(short: Finding, whole: Finding) -> bool:
    """Whether a tenth of the length gives what all of it gives: the verdict, and about the figure.

    Else what decides may hardly happen in a tenth, such as collection on a drive that was just filled.
    """
    if short.verdict != whole.verdict:
        return False
    ours = [[one.ours.mean] if one.ours else list(one.steps) for one in (short, whole)]
    return all(abs(a - b) <= _LIKE * max(abs(a), abs(b)) for a, b in zip(*ours, strict=True))


def _decide(trial: _Trial, variant: Variant, claim: Claim) -> None:
    """What a claim's verdict is at full length under a variant."""
    before, after = _both_sides(trial, variant, claim)
    if before.verdict not in GRADES or after.verdict not in GRADES:
        return
    if len(variant.names) == 1:
        # Without the points that are left out on both sides the verdict may have been another one before.
        kept = after.verdict in (before.verdict, trial.base(claim).verdict)
        trial.judged[claim.id][variant.name] = kept
        if not kept:
            trial.found[claim.id][variant.name] = trial.said(claim, after)
        return
    alone = {
        trial.found[claim.id][name].verdict if name in trial.found[claim.id] else before.verdict
        for name in variant.names
    }
    if after.verdict not in alone:
        trial.surprises[claim.id][variant.name] = trial.said(claim, after)


def _pairs(trial: _Trial) -> Iterator[Variant]:
    """Each two ways of different choices that both move one claim of the figure."""
    for one, other in combinations(trial.ways, 2):
        claims = _moved_by(trial, (one.name, other.name))
        if one.choice == other.choice or not claims:
            continue
        places = {place for claim in claims for place in used(claim, trial.runs)}
        if (pair := both(one, other, trial.experiments, places)) is not None:
            yield pair


def _note(trial: _Trial, variant: Variant) -> None:
    for name in variant.names if len(variant.names) == 1 else ():
        trial.left_out[name] |= variant.left_out
        trial.errors[name] += [error for error in variant.errors if error not in trial.errors[name]]


def _put_together(trials: Sequence[_Trial], pairs: int) -> Sensitivity:
    ways: dict[str, Way] = {}
    claims: dict[str, Hangs] = {}
    choice_of = {way.name: way.choice for trial in trials for way in trial.ways}
    for name, choice in choice_of.items():
        some = [(trial, way) for trial in trials for way in trial.ways if way.name == name]
        ways[name] = Way(
            open=some[0][1].open,
            choice=choice,
            figures=tuple(trial.plan.figure.name for trial, _ in some),
            runs=sum(len(way.experiments) for _, way in some),
            left_out=sum(len(trial.left_out[name]) for trial, _ in some),
            errors=tuple(dict.fromkeys(error for trial, _ in some for error in trial.errors[name])),
        )
    for trial in trials:
        for claim in trial.claims:
            choices: dict[str, list[bool]] = defaultdict(list)
            for name, kept in trial.judged[claim.id].items():
                if name in choice_of and ways[name].is_open:
                    choices[choice_of[name]].append(kept)
            base = trial.said(claim, trial.base(claim))
            claims[claim.id] = Hangs(
                verdict=base.verdict,
                ours=base.ours,
                choices=len(choices),
                kept=keeping(choices),
                moved=dict(trial.found[claim.id]),
                pairs=dict(trial.surprises[claim.id]),
                asked=asked(trial.paper, claim),
            )
    return Sensitivity(engine(), ways, claims, pairs)
