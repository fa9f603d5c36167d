"""Checks the data of the reproduction: claims, experiments and workloads fit together.

Every file loads, every experiment is one that the engine takes, and every claim picks runs out of its
figure's: at least one on each side, and to each run on the left one on the right. Nothing is run.

    .venv/bin/python -m eraseblock_reproduction.check
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eraseblock import EraseblockError
from eraseblock_reproduction import data
from eraseblock_reproduction.data import TWO_SIDED, Claim, Paper, Selection
from eraseblock_reproduction.plan import FigurePlan, plan
from eraseblock_reproduction.selection import Run, at, matches, select
from eraseblock_reproduction.switches import changes_any
from eraseblock_reproduction.traces import Survey

# The source tree, whose tests claims may name.
ROOT = Path(__file__).resolve().parents[2]

# What each kind of claim has to have; one of these.
KINDS = {
    "number": {"value", "values"},
    "exact": {"value", "values"},
    "range": {"low", "high"},
    "reduction": {"value", "values"},
    "increase": {"value", "values"},
    "ratio": {"value", "values"},
    "difference": {"value", "values"},
    "order": {"relation"},
    "trend": {"relation"},
    "agree": {"with"},
    "setting": {"is"},
    "statement": set[str](),
}
RELATIONS = {"less", "more", "at most", "at least", "equal"}
TRENDS = {"rising", "falling", "never rising", "never falling", "flat"}
COMMON = {
    "id",
    "figure",
    "section",
    "says",
    "kind",
    "quantity",
    "where",
    "note",
    "contradicts",
    "needs",
    "reason",
    "waits",
    "shows",
    "follows",
    "cause",
}
SELECTING = {
    "where",
    "left",
    "right",
    "by",
    "aggregate",
    "relative_to",
    "relative",
    "spread",
    "absolute",
    "tolerance",
    "within",
}
EXTRA = {
    "setting": {"departs"},
    "range": {"our_bound"},
    "ratio": {"neutral", "our_bound"},
    "order": {"ahead", "apart", "lead"},
    "trend": {"along", "lead"},
    "agree": {"over", "opposite", "similar"},
    "statement": {"test"},
}
AGGREGATES = {"each", "mean", "max", "min", "some"}
FUNCTIONS = {"at_most", "bytes", "share"}


class DataError(Exception):
    """What is wrong in which file."""


def check_expression(text: str) -> None:
    """Only numbers, fields, + - * / and the functions of the README."""
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS):
                raise DataError(f"`{text}`: only {sorted(FUNCTIONS)} can be called")
        elif not isinstance(
            node,
            ast.Expression
            | ast.BinOp
            | ast.UnaryOp
            | ast.operator
            | ast.unaryop
            | ast.Name
            | ast.Attribute
            | ast.Constant
            | ast.expr_context,
        ):
            raise DataError(f"`{text}`: {type(node).__name__} is not arithmetic")


def check_keys(claim: Claim) -> None:
    """The keys that this kind of claim has, and no others."""
    kind, table = claim.kind, claim.table
    known = COMMON | SELECTING | KINDS[kind] | EXTRA.get(kind, set())
    if unknown := set(table) - known:
        raise DataError(f"unknown keys {sorted(unknown)}")
    if kind != "statement" and "needs" not in table and not KINDS[kind] & set(table):
        raise DataError(f"a claim of kind {kind} has one of {sorted(KINDS[kind])}")
    if ("values" in table) != ("by" in table):
        raise DataError("`by` and `values` go together")
    if kind == "order" and table["relation"] not in RELATIONS:
        raise DataError(f"relation is one of {sorted(RELATIONS)}")
    if kind == "trend" and (table["relation"] not in TRENDS or "along" not in table):
        raise DataError(f"a trend has `along`, and its relation is one of {sorted(TRENDS)}")
    if table.get("aggregate", "each") not in AGGREGATES:
        raise DataError(f"aggregate is one of {sorted(AGGREGATES)}")
    if table.get("aggregate") == "some" and kind != "order":
        raise DataError(f"only an order holds at some points; this is of kind {kind}")
    check_order_keys(claim)
    if not 0 < table.get("similar", 1) <= 1:
        raise DataError("`similar` is the share of the pairs that has to be in this order")
    if table.get("needs", "flashsim") not in data.NEEDS or ("needs" in table) != ("reason" in table):
        raise DataError(f"needs is one of {sorted(data.NEEDS)}, with a reason")


def check_order_keys(claim: Claim) -> None:
    """What an order asks for beside its sides; of a trend its lead."""
    table = claim.table
    if "ahead" in table and (table["relation"] not in ("less", "more") or not 0 < table["ahead"] < 1):
        raise DataError("`ahead` is a share, and the relation is less or more")
    if "lead" in table and "relative_to" not in table:
        raise DataError("a `lead` is relative to something: `relative_to`")
    if table.get("lead", True) not in ((True, "left") if claim.kind == "order" else (True,)):
        raise DataError('`lead` is true, or "left" of an order')
    if "apart" in table and not isinstance(claim.where.get(table["apart"]), list):
        raise DataError("`apart` is a setting of which `where` lists several")


def check_selection(claim: Claim, runs: Sequence[Run]) -> None:
    """Each side picks runs, and each run on the left has its counterparts."""
    base: Selection = claim.table.get("relative_to", {})
    steps: list[Selection] = claim.table.get("along", [])
    for selection in (claim.where, base, *claim.lefts, *claim.rights, *steps):
        check_values(runs, selection)
    for part in claim.parts():
        for left in part.lefts:
            found = select(runs, part.where, left)
            if not found:
                raise DataError(f"no run has {dict(part.where)} {dict(left)}")
            check_counterparts(found, select(runs, base), set(base))
            if claim.kind in TWO_SIDED:
                for right in part.rights:
                    if not right:
                        raise DataError("no right side")
                    check_counterparts(found, select(runs, part.where, right), set(left) | set(right))
    departs: set[str] = set()
    for run in select(runs, claim.where):
        is_ = claim.table.get("is", {})
        if missed := [key for key, one in is_.items() if not matches(at(run.settings, key), one)]:
            departs.update(missed)
    said = set(claim.table.get("departs", []))
    if departs != said:
        raise DataError(f"settings differ: {sorted(departs)}; `departs` names {sorted(said)}")
    for step in steps:
        if not select(runs, claim.where, step):
            raise DataError(f"along: no run has {dict(claim.where)} {dict(step)}")


def check_values(runs: Sequence[Run], selection: Selection) -> None:
    """Each value that a selection lists is one that some run has."""
    for path, wanted in selection.items():
        for one in wanted if isinstance(wanted, list) else [wanted]:
            if not select(runs, {path: one}):
                raise DataError(f"no run has {path} = {one}")


def check_counterparts(left: Sequence[Run], right: Sequence[Run], axes: set[str]) -> None:
    """To each run on the left there is one on the right that differs in these axes alone."""
    if not axes:
        return
    known = {run.identity(axes) for run in right}
    for run in left:
        if run.identity(axes) not in known:
            what = {key: run.settings[key] for key in ("workload", "buffer")}
            raise DataError(
                f"a run on the left has no counterpart that differs in {sorted(axes)} alone: {what}"
            )


def check_test(table: Mapping[str, Any]) -> None:
    """The test that a statement names is there."""
    if "test" in table:
        file, name = table["test"].split(": ")
        if f"fn {name}(" not in (ROOT / file).read_text():
            raise DataError(f"{file} has no test {name}")


def check_facts(paper: Paper) -> None:
    """Every claim that follows from others leads to a fact that counts; causes and main claims are there."""
    parts = [part for claim in paper.claims for part in claim.parts()]
    known: dict[str, list[Claim]] = {}
    for part in parts:
        for name in dict.fromkeys((part.id, part.whole)):
            known.setdefault(name, []).append(part)
    for part in parts:
        check_follows(part, known)
        if part.shows not in data.SHOWS:
            raise DataError(f"{part.id}: `shows` is one of {sorted(data.SHOWS)}")
        if part.cause is not None and part.cause not in paper.causes:
            raise DataError(f"{part.id}: there is no cause `{part.cause}`")
    main = paper.main
    if main is None:
        raise DataError("it does not say in [main] what the paper is cited for")
    for name in main.claims:
        if any(part.shows != data.RESULT for part in known.get(name, ())) or name not in known:
            raise DataError(f"[main]: `{name}` is no result")
        if told := [other for part in known[name] for other in part.follows]:
            raise DataError(f"[main]: `{name}` follows from {', '.join(told)}: name what it follows from")
    for name, quantity in main.charts:
        if (name and name not in paper.figures) or (quantity and quantity not in paper.quantities):
            raise DataError(f"[main]: there is no chart of `{quantity}` in figure `{name}`")


def check_follows(part: Claim, known: Mapping[str, Sequence[Claim]], seen: tuple[str, ...] = ()) -> None:
    """What a claim follows from is there, and does not follow from the claim itself."""
    if part.id in seen:
        raise DataError(f"{part.id}: it follows from itself, by {', '.join(seen)}")
    table = part.table.get("follows")
    if isinstance(table, Mapping) and part.part not in table and not part.part:
        raise DataError(f"{part.id}: `follows` by value is for claims that list values")
    for name in part.follows:
        if name not in known:
            raise DataError(f"{part.id}: follows from `{name}`, which is no claim")
        for other in known[name]:
            check_follows(other, known, (*seen, part.id))


def check_claim(planned: FigurePlan, claim: Claim) -> None:
    """One claim fits its figure."""
    if not re.fullmatch(r"[a-z0-9.-]+", claim.id):
        raise DataError("its id has other characters than a-z, 0-9, - and .")
    check_keys(claim)
    check_test(claim.table)
    nothing_run = planned.figure.needs or {"waits", "needs"} & set(claim.table)
    if not nothing_run and claim.kind != "statement":
        check_selection(claim, planned.runs)


def check_paper(paper: Paper) -> str:
    """All claims, quantities and switches of a paper; says how many there are."""
    where = f"{paper.name}/{data.CLAIMS_NAME}"
    for quantity in paper.quantities.values():
        for text in (quantity.value, *quantity.readings.values()):
            check_expression(text)
    whole = plan([(paper, figure) for figure in paper.figures.values()], Survey())
    figures = dict(zip(paper.figures, whole.figures, strict=True))
    count = 0
    for claim in paper.claims:
        try:
            check_claim(figures[claim.figure], claim)
        except (DataError, KeyError, EraseblockError) as error:
            raise DataError(f"{where}: {claim.id}: {error}") from error
        count += len(claim.table.get("values", claim.table.get("is", [0])))
    ids = [claim.id for claim in paper.claims]
    if twice := sorted({one for one in ids if ids.count(one) > 1}):
        raise DataError(f"{where}: several claims are called {twice}")
    try:
        check_facts(paper)
    except DataError as error:
        raise DataError(f"{where}: {error}") from error
    used = {claim.figure for claim in paper.claims}
    if idle := [key for key, figure in paper.figures.items() if key not in used and not figure.needs]:
        raise DataError(f"{where}: no claims of figures {idle}")
    for switch in paper.switches:
        if not any(changes_any(switch, one.figure, one.experiments) for one in whole.figures):
            raise DataError(f"{where}: switch `{switch.name}` changes no run")
    runs = {whole.key(one) for figure in whole.figures for one in figure.experiments}
    facts = sum(part.counts for claim in paper.claims for part in claim.parts())
    return f"{paper.name}: {len(ids)} claims of {count} numbers and orders, {facts} results, {len(runs)} runs"


def main() -> int:
    """Check all papers."""
    try:
        for name in data.PAPERS:
            sys.stdout.write(f"{check_paper(data.paper(name))}\n")
    except (DataError, EraseblockError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
