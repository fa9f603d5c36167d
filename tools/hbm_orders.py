"""Tables of who is ahead: HBM against BPLRU, FAB and LB-CLOCK, and its dynamic threshold against static ones.

Reads the `results.json` of an experiment (`eraseblock run ... -o FOLDER`), puts runs that differ in the
buffer scheme alone into one row, and prints Markdown. `T`, `H` and `E` say that HBM has the lower mean
response time, more hits and fewer erases; `.` that it has not.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Row = dict[str, str | float]
BASELINES = ("bplru", "fab", "lb-clock")
MEASURES = ("mean_ms", "hits_pct", "erases")


def scheme_of(record: Json) -> str:
    """A buffer's name, with what makes it another one here."""
    scheme = record["config"]["buffer"]["scheme"]
    table: Json = {"kind": scheme} if isinstance(scheme, str) else scheme
    name = str(table["kind"])
    if name == "bplru" and not table.get("pad_unwritten", True):
        name = "bplru-stored"
    if name == "hbm" and table.get("threshold", "dynamic") != "dynamic":
        name = f"hbm-{table['threshold']}"
    elif name == "hbm":
        # Those that are left as they were are not told.
        said = [f"{key} {table[key]}" for key in ("beta", "settle") if table.get(key) not in (None, 100)]
        name = " ".join([name, *said])
    return name


def flat(tree: Json, path: str = "") -> Row:
    """Settings by their paths."""
    found: Row = {}
    for key, value in tree.items():
        below = f"{path}.{key}" if path else key
        if isinstance(value, dict):
            found |= flat(value, below)
        else:
            found[below] = value if isinstance(value, int | float) else json.dumps(value).strip('"')
    return found


def rows_of(records: list[Json]) -> list[Row]:
    """One row for each run: the settings that vary, the scheme and its figures."""
    settings = [
        {
            key: value
            for key, value in flat(record["config"]).items()
            if not key.startswith(("buffer.scheme", "name"))
        }
        for record in records
    ]
    varied = sorted({key for one in settings for key in one if len({str(s.get(key)) for s in settings}) > 1})
    return [
        {key.split("generate.")[-1]: one.get(key, "") for key in varied}
        | {
            "scheme": scheme_of(record),
            "trusted": record["trusted"],
            "mean_ms": round(record["response_ns"]["all"]["mean"] / 1e6, 3),
            "hits_pct": round(100 * record["hit_ratio"]["all"], 2),
            "erases": record["flash"]["erases"]["total"],
            "page_reads": record["flash"]["reads"]["total"],
            "programs": record["flash"]["programs"]["total"],
        }
        for record, one in zip(records, settings, strict=True)
    ]


def cases_of(rows: list[Row]) -> list[tuple[Row, dict[str, Row]]]:
    """Rows by what they have in common but for the scheme."""
    figures = {"scheme", "trusted", "page_reads", "programs", *MEASURES}
    cases: dict[str, tuple[Row, dict[str, Row]]] = {}
    for row in rows:
        case = {key: value for key, value in row.items() if key not in figures}
        cases.setdefault(json.dumps(case), (case, {}))[1][str(row["scheme"])] = row
    return list(cases.values())


def ahead(hbm: Row, other: Row) -> str:
    """In what HBM is ahead."""
    less, hits, erases = (float(hbm[key]) - float(other[key]) for key in MEASURES)
    return ("T" if less < 0 else ".") + ("H" if hits > 0 else ".") + ("E" if erases < 0 else ".")


def orders(cases: list[tuple[Row, dict[str, Row]]]) -> str:
    """HBM against the others, case by case."""
    lines: list[str] = []
    for case, runs in cases:
        if "hbm" not in runs:
            continue
        others = [name for name in ("bplru", "bplru-stored", *BASELINES[1:]) if name in runs]
        cells = [*map(str, case.values()), figures(runs["hbm"])]
        cells += [f"{figures(runs[name])} {ahead(runs['hbm'], runs[name])}" for name in others]
        if not lines:
            lines = [
                f"| {' | '.join([*case, 'hbm', *others])} |",
                "|" + " --- |" * (len(case) + 1 + len(others)),
            ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def figures(row: Row) -> str:
    """Mean, hits and erases in one cell."""
    mark = "" if row["trusted"] else "!"
    return f"{row['mean_ms']} ms{mark}, {row['hits_pct']} %, {row['erases']}"


def thresholds(cases: list[tuple[Row, dict[str, Row]]]) -> str:
    """In how many cases the dynamic threshold answers at least as fast as each static one."""
    lines: list[str] = []
    good: dict[str, list[bool]] = {}
    for case, runs in cases:
        static = {name: float(run["mean_ms"]) for name, run in runs.items() if name.startswith("hbm-")}
        if not static:
            continue
        best = min(static, key=static.__getitem__)
        for name in (name for name in runs if name.split()[0] == "hbm"):
            own = float(runs[name]["mean_ms"])
            good.setdefault(name, []).append(own <= static[best])
            mark = " *" * good[name][-1]
            where = ", ".join(map(str, case.values()))
            lines.append(f"- {where}: {name} {own} ms; best static {best}, {static[best]} ms{mark}")
    totals = [
        f"{name}: at least as good as each static one in {sum(g)} of {len(g)}" for name, g in good.items()
    ]
    return "\n".join([*lines, *totals])


def main() -> int:
    """Print the tables; write the rows where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="results.json of the experiment")
    parser.add_argument("--csv", type=Path, help="write one line for each run there")
    arguments = parser.parse_args()
    found = json.loads(arguments.results.read_text(encoding="utf-8"))
    rows = rows_of(found if isinstance(found, list) else found["records"])
    cases = cases_of(rows)
    sys.stdout.write(orders(cases) + "\n\n" + thresholds(cases) + "\n")
    if arguments.csv:
        with arguments.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
