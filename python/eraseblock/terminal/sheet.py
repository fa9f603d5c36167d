"""What a workload is like, on about one screen: mix and sizes, time, pages, and the miss ratios of LRU."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from eraseblock.results import units
from eraseblock.terminal.bars import columns, resample, sparkline
from eraseblock.terminal.fitting import left_out

Figures = Mapping[str, Any]
READ, WRITE, ALL = "cyan", "yellow", "bold"
_NAME = 12
# Fewer columns than this, and the tables give up what matters least.
_NARROW = 84
_TITLES = ("requests", "", "bytes", "", "mean", "median", "99 %", "aligned", "seq.", "in runs")
# Places of those for which there is no room then.
_WIDE = frozenset({3, 5, 7, 9})
_CURVE_HEIGHT = 5


def print_sheet(console: Console, info: Figures) -> None:
    """Print one workload."""
    profile = info["profile"]
    width = console.width
    console.print(Text(info["name"], "bold", overflow="fold"))
    for line in _head(info):
        console.print(line)
    console.print()
    console.print(_mix(profile, width))
    if width < _NARROW:
        console.print(Text(left_out(_TITLES[index] for index in sorted(_WIDE) if _TITLES[index]), "dim"))
    console.print()
    console.print(_lines(_sizes(profile)))
    console.print(_lines(_time(profile, width)))
    console.print()
    console.print(_lines(_pages(profile)))
    console.print()
    for block in _miss_ratio(profile, width):
        console.print(block)


def _lines(rows: Iterator[tuple[str, Text]]) -> Table:
    """Names on the left, sentences on the right; long ones go on below themselves."""
    table = Table.grid(padding=(0, 1))
    table.add_column(style="dim", width=_NAME, no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(name, text)
    return table


def _joined(*parts: str | None) -> Text:
    return Text(" · ".join(part for part in parts if part))


def _head(info: Figures) -> Iterator[Text]:
    profile = info["profile"]
    volumes = len(info["volumes"])
    span = (info["highest_end"] or 0) - (info["lowest_byte"] or 0)
    addresses = f"{volumes} volumes" if volumes > 1 else f"addresses over {units.size(span)}"
    yield _joined(
        str(info["format"]),
        f"{units.count(info['requests'])} requests",
        units.duration(info["duration_ns"]),
        addresses,
    )
    yield Text(f"format told by: {info['evidence']}", "dim", overflow="fold")
    if profile["requests"] != info["requests"]:
        reasons = [
            f"{units.count(count)} {name.replace('_', ' ')}"
            for name, count in info["selected"]["left_out"].items()
            if count
        ]
        text = f"below: {units.count(profile['requests'])} of them; left out: {', '.join(reasons)}"
        yield Text(text, "yellow")
    scale = info["selected"]["workload"]["time_scale"]
    if scale != 1:
        span = units.duration(profile["arrivals"]["duration_ns"])
        yield Text(
            f"below: times are {scale:g} times those of the file (time_scale), {span} in all", "yellow"
        )
    for how in ("clamped", "sorted"):
        if info[how]:
            back = units.duration(info[f"{how}_max_ns"])
            text = f"{units.count(info[how])} requests came up to {back} late in the file and were {how}"
            yield Text(text, "yellow")
    bad = info["bad_lines"]
    if bad["count"]:
        yield Text(f"bad and skipped: {units.count(bad['count'])} lines or records, the first:", "yellow")
        for line in bad["first"]:
            yield Text(f"  {line}", "yellow", overflow="fold")
        if bad["unread_bytes"]:
            yield Text(f"  not read: {units.count(bad['unread_bytes'])} bytes after the last one", "yellow")
    others = ", ".join(f"{units.count(count)} {what}" for what, count in info["other_lines"].items())
    if others:
        yield Text(f"lines without a request: {others}", "dim")


def _mix(profile: Figures, width: int) -> Table:
    narrow = width < _NARROW
    table = Table.grid(padding=(0, 1 if narrow else 2, 0, 0))
    table.add_column(width=_NAME - (5 if narrow else 1))
    shown = [index for index in range(len(_TITLES)) if not (narrow and index in _WIDE)]
    for _ in shown:
        table.add_column(justify="right", no_wrap=True)
    table.add_row("", *(Text(_TITLES[index], "dim") for index in shown))
    for kind, style in (("read", READ), ("write", WRITE), ("trim", ""), ("flush", "")):
        part = profile["mix"][kind]
        if not part["requests"]:
            continue
        cells = [units.count(part["requests"]), units.share(part["requests_share"])]
        if kind != "flush":
            share = part["bytes_share"]
            cells += [units.size(part["bytes"]), "" if share is None else units.share(share)]
        if kind in ("read", "write"):
            sizes = profile["size_bytes"][kind]
            cells += [units.size(sizes[key]) for key in ("mean", "p50", "p99")]
            order = profile[f"sequential_{kind}s"]
            aligned = dict(profile["alignment"][kind])[4096]
            cells += [
                units.share(share) for share in (aligned, order["stream_share"], order["run_bytes_share"])
            ]
        cells += [""] * (len(_TITLES) - len(cells))
        table.add_row(Text(kind, style), *(cells[index] for index in shown))
    return table


def _sizes(profile: Figures) -> Iterator[tuple[str, Text]]:
    """Requests by power of two of their size, reads beside writes."""
    histograms = {kind: dict(profile["size_bytes"][kind]["histogram"]) for kind in ("read", "write")}
    sizes = [size for histogram in histograms.values() for size in histogram if size]
    if not sizes:
        return
    powers = range(min(sizes).bit_length(), max(sizes).bit_length() + 1)
    first, last = (units.size(1 << (power - 1)) for power in (powers[0], powers[-1]))
    for kind, style in (("read", READ), ("write", WRITE)):
        values = [histograms[kind].get(1 << (power - 1), 0) for power in powers]
        if any(values):
            line = (sparkline(values), style)
            yield f"{kind} sizes", Text.assemble((f"{first} ▕", "dim"), line, (f"▏ {last}", "dim"))


def _time(profile: Figures, width: int) -> Iterator[tuple[str, Text]]:
    arrivals, over_time = profile["arrivals"], profile["over_time"]
    if arrivals["requests_per_s"] is None:
        yield "rate", Text("all requests arrive at once")
        return
    busiest = arrivals["busiest_second"]
    peak = f"busiest second {units.count(busiest['requests'])} at {units.duration(busiest['start_ns'])}"
    yield (
        "rate",
        _joined(
            f"{units.count(arrivals['requests_per_s'])} requests/s",
            f"{units.size(arrivals['bytes_per_s'])}/s",
            peak,
        ),
    )
    gap = arrivals["gap_ns"]
    bursts = ", ".join(
        f"{scale['index']:,.1f} at {units.duration(scale['window_ns'])}" for scale in arrivals["dispersion"]
    )
    yield (
        "gaps",
        _joined(
            f"mean {units.duration(gap['mean'])}",
            f"median {units.duration(gap['p50'])}",
            f"99 % {units.duration(gap['p99'])}",
            f"CV {units.ratio(gap['cv'])}",
        ),
    )
    if bursts:
        yield "bursts", Text(f"variance/mean {bursts}")
    windows = over_time["windows"]
    room = min(width - _NAME - 2, 64)
    if len(windows) > 1:
        yield "over time", Text(sparkline(resample([w["requests"] for w in windows], room)), "green")
        pages = [window["pages"] for window in windows]
        yield "pages in use", Text(sparkline(resample(pages, room)), "magenta")
    page = profile["footprint"]["page_bytes"]
    yield (
        "working set",
        _joined(
            f"mean {units.size(over_time['pages_mean'] * page)}",
            f"largest {units.size(over_time['pages_max'] * page)}",
            f"in windows of {units.duration(over_time['window_ns'])}",
        ),
    )
    flushes = profile["flushes"]
    if flushes["count"]:
        yield (
            "flushes",
            _joined(
                units.count(flushes["count"]),
                f"every {units.duration(flushes['interval_ns']['p50'])} (median)",
                f"{units.size(flushes['write_bytes_between']['mean'])} written between two",
            ),
        )


def _pages(profile: Figures) -> Iterator[tuple[str, Text]]:
    footprint = profile["footprint"]
    page = footprint["page_bytes"]
    about = "about " if profile["miss_ratio"]["method"] == "sampled" else ""

    def of(pages: float | None) -> str:
        return units.NOTHING if pages is None else units.size(pages * page)

    yield (
        "footprint",
        _joined(
            f"{about}{units.size(footprint['bytes'])} in pages of {units.size(page)}",
            f"read {of(footprint['read_pages'])}",
            f"written {of(footprint['written_pages'])}",
            f"both {of(footprint['both_pages'])} ({units.share(footprint['both_share'])})",
        ),
    )
    if footprint["overwrite_ratio"]:
        first = of(footprint["read_before_written_pages"])
        yield (
            "overwrites",
            _joined(
                f"each written page {footprint['overwrite_ratio']:,.1f} times", f"{first} read before written"
            ),
        )
    hot = profile["hot_spots"]["all"]
    if hot["gini"] is not None:
        tops = ", ".join(
            f"{percent} % has {units.share(hot[f'top_{percent}_percent_share'])}" for percent in (1, 10, 20)
        )
        yield "hot spots", _joined(f"of the pages, {tops} of accesses", f"Gini {hot['gini']:.2f}")
    for kind, style in (("read", READ), ("write", WRITE)):
        reuse = profile["reuse"][kind]
        distance, time = reuse["distance_pages"], reuse["time_ns"]
        if distance["count"]:
            text = _joined(
                f"after {of(distance['p50'])} (median), {of(distance['p90'])} (90 %)",
                f"{units.duration(time['p50'])}, {units.duration(time['p90'])}",
            )
            text.stylize(style)
            yield f"{kind} re-use", text


def _miss_ratio(profile: Figures, width: int) -> Iterator[Text | Table | Padding]:
    curve = profile["miss_ratio"]
    points = [point for point in curve["points"] if point["all"] is not None]
    if not points:
        footprint = profile["footprint"]
        if footprint["page_reads"] + footprint["page_writes"] > 0:
            yield Text("none of the pages is in the sample: follow a larger share (--sample)", "yellow")
        return
    title = Text("Miss ratio of an LRU buffer", "bold")
    if curve["method"] == "sampled":
        rate = round(1 / curve["sample_rate"])
        title.append(
            f"  one page in {rate}; mean error up to about {units.share(curve['expected_error'])}", "dim"
        )
    else:
        title.append("  exact", "dim")
    yield title
    # As many columns as there are sizes; each wider where there is room.
    room = min(width, 100) - _NAME - 2
    step = -(-len(points) // room)
    shown = points[::-1][::step][::-1]
    wide = max(1, min(3, room // len(shown)))
    lines = columns([point["all"] for point in shown for _ in range(wide)], _CURVE_HEIGHT)
    labels = {0: "100 %", _CURVE_HEIGHT // 2: "50 %", _CURVE_HEIGHT - 1: "0 %"}
    for index, line in enumerate(lines):
        text = Text(f"{labels.get(index, ''):>{_NAME - 1}} ", "dim")
        text.append(line.ljust(room), "green")
        yield text
    first, last = (units.size(point["buffer_bytes"]) for point in (shown[0], shown[-1]))
    length = wide * len(shown)
    axis = first + " " * max(1, length - len(first) - len(last)) + last
    yield Text(" " * _NAME + axis, "dim")
    yield _miss_table(points, width)


def _miss_table(points: list[Figures], width: int) -> Table:
    """The ratios at some sizes."""
    chosen = _chosen(points, max(3, (width - _NAME) // 11))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=_NAME - 1, style="dim", no_wrap=True)
    for _ in chosen:
        table.add_column(justify="right", no_wrap=True)
    table.add_row("buffer", *(Text(units.size(point["buffer_bytes"]), "dim") for point in chosen))
    names = {"all": ALL, "read": READ, "write": WRITE, "write_only": WRITE}
    labels = {"write_only": "write alone"}
    for name, style in names.items():
        one_kind = chosen[-1]["read"] is None or chosen[-1]["write"] is None
        if chosen[-1][name] is None or (name != "all" and one_kind):
            continue
        cells = (Text(units.share(point[name]), style) for point in chosen)
        table.add_row(labels.get(name, name), *cells)
    return table


def _chosen(points: list[Figures], most: int) -> list[Figures]:
    """Powers of two, evenly spaced, and all pages."""
    powers = [point for point in points[:-1] if point["buffer_pages"].bit_count() == 1]
    step = max(1, -(-len(powers) // max(1, most - 1)))
    return [*powers[::-1][::step][::-1], points[-1]]
