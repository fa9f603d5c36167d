"""Checks the data of the reproduction: claims, experiments and workloads fit together.

Every file loads, every experiment is one that the engine takes, and every claim picks runs out of its
figure's: at least one on each side, and to each run on the left one on the right. Nothing is run.

    .venv/bin/python tools/reproduction_data.py
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from eraseblock import _core

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "reproduction"
PAPERS = ("hbm", "epo", "bplru", "multibank", "supa")

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
TWO_SIDED = {"reduction", "increase", "ratio", "difference", "order"}
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
    "tolerance",
    "within",
}
EXTRA = {"trend": {"along"}, "agree": {"over", "opposite"}, "statement": {"test"}}
NEEDS = {"flashsim", "hardware", "served drive"}
AGGREGATES = {"each", "mean", "max", "min"}
FUNCTIONS = {"at_most", "bytes", "share"}
SEEDS = re.compile(r"^(how\..*\.)?seed$")
SIZE = re.compile(r"^(\d+(?:\.\d+)?) ?(B|KiB|MiB|GiB|TiB)$")

Run = dict[str, Any]
Selection = Mapping[str, Any]


class DataError(Exception):
    """What is wrong in which file."""


def plain(value: object) -> object:
    """One spelling for each value: sizes in bytes, all else as it is."""
    found = SIZE.match(value) if isinstance(value, str) else None
    if found is None:
        return value
    return float(found[1]) * 1024 ** ("B", "KiB", "MiB", "GiB", "TiB").index(found[2])


def at(config: object, path: str) -> object:
    """The value at a dotted path, or None."""
    for key in path.split("."):
        config = config.get(key) if isinstance(config, dict) else None
    return config


def matches(found: object, wanted: object) -> bool:
    """A list: any of them. A table: all of its keys. A name: the kind of a scheme, or the value itself."""
    if isinstance(wanted, list):
        return any(matches(found, one) for one in wanted)
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(matches(found.get(key), one) for key, one in wanted.items())
    if isinstance(found, dict):
        found = found.get("kind")
    return plain(found) == plain(wanted)


def select(runs: list[Run], *selections: Selection) -> list[Run]:
    """The runs that match all of these."""
    return [
        run for run in runs if all(matches(at(run, path), one) for s in selections for path, one in s.items())
    ]


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Every setting with its dotted path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    else:
        yield path, plain(value)


def identity(run: Run, axes: set[str]) -> str:
    """What a run is apart from some axes, seeds and names."""

    def counts(path: str) -> bool:
        inside = any(path == axis or path.startswith(f"{axis}.") for axis in axes)
        named = path in {"name", "preset"}
        return not (inside or named or SEEDS.match(path))

    return json.dumps([(path, str(one)) for path, one in sorted(leaves(run)) if counts(path)])


def sides(claim: Mapping[str, Any], name: str) -> list[Selection]:
    """One side of a claim, which may be several."""
    side = claim.get(name, {})
    return side if isinstance(side, list) else [side]


@cache
def experiment(path: Path) -> list[Run]:
    """All runs of an experiment, every key explicit."""
    return [json.loads(run) for run in _core.resolve(path.read_text(), path.name, [])]


def experiments(name: str) -> set[Path]:
    """The files of all experiments of a paper."""
    figures = tomllib.loads((FOLDER / name / "claims.toml").read_text())["figures"]
    return {
        (FOLDER / name / file).resolve()
        for figure in figures.values()
        for file in figure.get("experiments", [])
    }


def source_of(workload: Mapping[str, Any]) -> str:
    """What a run's workload is made from: a stand-in, another generator, or the name of a file."""
    generate = workload.get("generate")
    if generate:
        return str(generate.get("name") or generate["kind"])
    return Path(str(workload["path"])).name


def sources(entry: Mapping[str, Any]) -> set[str]:
    """What a workload can come from by default."""
    own = entry.get("own", {})
    names = [entry.get("stand_in"), entry.get("generator"), entry.get("recording"), own.get("file")]
    return {Path(str(name)).name for name in names if name}


def runs_of(paper: Path, figure: Mapping[str, Any], workloads: Mapping[str, Any]) -> list[Run]:
    """The runs of a figure, with the workload's name from workloads.toml in place of its settings."""
    runs = []
    for file in figure.get("experiments", []):
        for config in experiment((paper / file).resolve()):
            source = source_of(config["workload"])
            names = [name for name in figure["workloads"] if source in sources(workloads[name])]
            if len(names) != 1:
                raise DataError(f"{file}: workload {source} is {names or 'none'} of {figure['workloads']}")
            runs.append({**config, "workload": names[0], "how": config["workload"]})
    return runs


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


def check_keys(claim: Mapping[str, Any]) -> None:
    """The keys that this kind of claim has, and no others."""
    kind = claim["kind"]
    if kind not in KINDS:
        raise DataError(f"unknown kind `{kind}`")
    known = COMMON | SELECTING | KINDS[kind] | EXTRA.get(kind, set())
    if unknown := set(claim) - known:
        raise DataError(f"unknown keys {sorted(unknown)}")
    if kind != "statement" and "needs" not in claim and not KINDS[kind] & set(claim):
        raise DataError(f"a claim of kind {kind} has one of {sorted(KINDS[kind])}")
    if ("values" in claim) != ("by" in claim):
        raise DataError("`by` and `values` go together")
    if kind == "order" and claim["relation"] not in RELATIONS:
        raise DataError(f"relation is one of {sorted(RELATIONS)}")
    if kind == "trend" and (claim["relation"] not in TRENDS or "along" not in claim):
        raise DataError(f"a trend has `along`, and its relation is one of {sorted(TRENDS)}")
    if claim.get("aggregate", "each") not in AGGREGATES:
        raise DataError(f"aggregate is one of {sorted(AGGREGATES)}")
    if claim.get("needs", "flashsim") not in NEEDS or ("needs" in claim) != ("reason" in claim):
        raise DataError(f"needs is one of {sorted(NEEDS)}, with a reason")


def check_selection(claim: Mapping[str, Any], runs: list[Run]) -> None:
    """Each side picks runs, and each run on the left has its counterparts."""
    where, base = claim.get("where", {}), claim.get("relative_to", {})
    for selection in (where, base, *sides(claim, "left"), *sides(claim, "right"), *claim.get("along", [])):
        check_values(runs, selection)
    for value in claim.get("values", [None]):
        fixed = {claim["by"]: as_written(value)} if value is not None else {}
        for left in sides(claim, "left"):
            found = select(runs, where, left, fixed)
            if not found:
                raise DataError(f"no run has {dict(where)} {dict(left)} {fixed}")
            check_counterparts(found, select(runs, base), set(base))
            if claim["kind"] in TWO_SIDED:
                for right in sides(claim, "right"):
                    if not right:
                        raise DataError("no right side")
                    other = select(runs, where, right, fixed)
                    check_counterparts(found, other, set(left) | set(right))
    for run in select(runs, where):
        if missed := [key for key, one in claim.get("is", {}).items() if not matches(at(run, key), one)]:
            raise DataError(f"settings differ: {missed}")
    for step in claim.get("along", []):
        if not select(runs, where, step):
            raise DataError(f"along: no run has {dict(where)} {dict(step)}")


def check_values(runs: list[Run], selection: Selection) -> None:
    """Each value that a selection lists is one that some run has."""
    for path, wanted in selection.items():
        for one in wanted if isinstance(wanted, list) else [wanted]:
            if not select(runs, {path: one}):
                raise DataError(f"no run has {path} = {one}")


def check_test(claim: Mapping[str, Any]) -> None:
    """The test that a statement names is there."""
    if "test" in claim:
        file, name = claim["test"].split(": ")
        if f"fn {name}(" not in (ROOT / file).read_text():
            raise DataError(f"{file} has no test {name}")


def as_written(key: str) -> object:
    """A key of `values` as the value that it stands for."""
    return int(key) if key.isdigit() else key


def check_counterparts(left: list[Run], right: list[Run], axes: set[str]) -> None:
    """To each run on the left there is one on the right that differs in these axes alone."""
    if not axes:
        return
    if "workload" in axes:
        axes = axes | {"how"}
    known = {identity(run, axes) for run in right}
    for run in left:
        if identity(run, axes) not in known:
            what = json.dumps({key: run[key] for key in ("workload", "buffer")})
            raise DataError(
                f"a run on the left has no counterpart that differs in {sorted(axes)} alone: {what}"
            )


def check_paper(name: str, workloads: Mapping[str, Any]) -> tuple[int, int]:
    """Claims of a paper, and numbers and orders in them."""
    folder = FOLDER / name
    data = tomllib.loads((folder / "claims.toml").read_text())
    quantities, figures = data["quantities"], data["figures"]
    for quantity in quantities.values():
        for text in (quantity["value"], *quantity.get("readings", {}).values()):
            check_expression(text)
    seen: set[str] = set()
    used: set[str] = set()
    count = 0
    for claim in data["claims"]:
        try:
            if claim["id"] in seen or not re.fullmatch(r"[a-z0-9.-]+", claim["id"]):
                raise DataError("its id is not its own, or has other characters than a-z, 0-9, - and .")
            seen.add(claim["id"])
            check_keys(claim)
            figure = figures[claim["figure"]]
            used.add(claim["figure"])
            for key in ("quantity", "with"):
                if key in claim and claim[key] not in quantities:
                    raise DataError(f"no quantity `{claim[key]}`")
            check_test(claim)
            if (
                "waits" not in claim
                and "needs" not in claim
                and "needs" not in figure
                and claim["kind"] != "statement"
            ):
                check_selection(claim, runs_of(folder, figure, workloads))
            count += len(claim.get("values", claim.get("is", [0])))
        except (DataError, KeyError, _core.EraseblockError) as error:
            raise DataError(f"{name}/claims.toml: {claim.get('id')}: {error}") from error
    if idle := [key for key, figure in figures.items() if key not in used and "needs" not in figure]:
        raise DataError(f"{name}/claims.toml: no claims of figures {idle}")
    return len(data["claims"]), count


def main() -> int:
    """Check all papers that are there."""
    workloads = tomllib.loads((FOLDER / "workloads.toml").read_text())["workloads"]
    try:
        for name in PAPERS:
            claims, count = check_paper(name, workloads)
            runs = sum(len(experiment(path)) for path in experiments(name))
            sys.stdout.write(f"{name}: {claims} claims of {count} numbers and orders, {runs} runs\n")
    except DataError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
