"""The plots of a workload, as Vega-Lite specifications built with Altair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from eraseblock.results import units

Figures = Mapping[str, Any]
Data = list[dict[str, Any]]
Chart = alt.Chart | alt.LayerChart

WIDTH, HEIGHT = 440, 190
# Vega expressions that print the values of an axis.
_SIZE_LABEL = (
    "datum.value >= 1073741824 ? format(datum.value / 1073741824, '~r') + ' GiB' : "
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~r') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~r') + ' KiB' : datum.value + ' B'"
)
_SHARE_LABEL = "format(datum.value, '~%')"
# In the order in which the colours of the theme's category range are taken.
KINDS = ("all", "read", "write", "write alone")


def picture(infos: Sequence[Figures]) -> alt.VConcatChart:
    """All plots of all workloads, one block of two columns for each."""
    blocks = [_block(info) for info in infos]
    return alt.vconcat(*blocks, spacing=70)


def _block(info: Figures) -> alt.ConcatChart:
    profile = info["profile"]
    charts = [
        _miss_ratio(profile),
        _reuse(profile),
        _over_time(profile),
        _working_set(profile),
        _sizes(profile),
        _gaps(profile),
        _hot_spots(profile),
        _runs(profile),
    ]
    footprint = profile["footprint"]
    subtitle = (
        f"{units.count(profile['requests'])} requests in {units.duration(profile['arrivals']['duration_ns'])}"
        f" · {units.share(profile['mix']['write']['requests_share'])} writes"
        f" · footprint {units.size(footprint['bytes'])} in pages of {units.size(footprint['page_bytes'])}"
    )
    title = alt.TitleParams(info["name"], subtitle=subtitle, anchor="start", fontSize=18, offset=20)
    # Only the areas of the plots are aligned; axes and titles take their room from the spacing.
    block: alt.ConcatChart = alt.concat(
        *(chart for chart in charts if chart is not None),
        columns=2,
        bounds="flush",
        spacing=alt.RowColnumber(row=100, column=70),
        title=title,
    ).resolve_scale(color="independent")
    return block


def _chart(data: Data, title: str, note: str) -> alt.Chart:
    words = alt.TitleParams(title, subtitle=note, anchor="start", frame="group", fontSize=13, offset=10)
    return alt.Chart(alt.InlineData(values=data), title=words, width=WIDTH, height=HEIGHT)


def _colour(kinds: Sequence[str] = ()) -> alt.Color:
    """The same colour for a kind in every plot, with a legend of `kinds`."""
    legend = (
        alt.Legend(title=None, orient="bottom-left", values=list(kinds), symbolType="stroke")
        if len(kinds) > 1
        else None
    )
    return alt.Color("kind:N", scale=alt.Scale(domain=list(KINDS), range="category"), legend=legend)


def _kinds_in(data: Data) -> list[str]:
    return [kind for kind in KINDS if any(item["kind"] == kind for item in data)]


def _share_axis(title: str | None = None) -> alt.Y:
    return alt.Y("y:Q", title=title, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=5))


def _log_axis(values: Sequence[float], title: str, label: str, base: int = 2) -> alt.X:
    """A logarithmic axis from the first value to the last, labelled at powers: about eight of them."""
    low, high = min(values), max(values)
    powers = [1]
    while powers[-1] < high:
        powers.append(powers[-1] * base)
    inside = [power for power in powers if low <= power <= high]
    step = max(1, -(-len(inside) // 8))
    return alt.X(
        "x:Q",
        title=title,
        scale=alt.Scale(type="log", base=base, domain=[low, max(high, low * base)], nice=False),
        axis=alt.Axis(values=inside[::step], labelExpr=label, grid=False, labelOverlap="greedy"),
    )


def _miss_ratio(profile: Figures) -> Chart | None:
    curve = profile["miss_ratio"]
    names = {"all": "all", "read": "read", "write": "write", "write_only": "write alone"}
    points = curve["points"]
    if not points or points[0]["all"] is None:
        return None
    several = points[0]["read"] is not None and points[0]["write"] is not None
    data: Data = [
        {
            "x": point["buffer_bytes"],
            "y": point[key],
            "kind": kind,
            "Buffer": units.size(point["buffer_bytes"]),
            "Miss ratio": units.share(point[key]),
        }
        for key, kind in names.items()
        for point in points
        if point[key] is not None and (several or key == "all")
    ]
    if curve["method"] == "exact":
        note = "LRU, exact; write alone: a write buffer that reads go past"
    else:
        rate = round(1 / curve["sample_rate"])
        note = f"LRU; one page in {rate}, mean error up to about {units.share(curve['expected_error'])}"
    sizes = [item["x"] for item in data]
    chart: Chart = (
        _chart(data, "Miss ratio against buffer size", note)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=_log_axis(sizes, "Buffer size", _SIZE_LABEL),
            y=_share_axis(),
            color=_colour(_kinds_in(data)),
            tooltip=["kind:N", "Buffer:N", "Miss ratio:N"],
        )
    )
    return chart


def _bars(
    histograms: Mapping[str, Sequence[Sequence[int]]], title: str, note: str, axis: str, unit: str
) -> Chart | None:
    """Histograms by power of two: kinds side by side, each as shares of its own sum."""
    data: Data = []
    for kind, histogram in histograms.items():
        total = sum(count for _, count in histogram)
        data += [
            {"from": start, "kind": kind, "y": count / total, "label": _print(unit, start)}
            for start, count in histogram
        ]
    if not data:
        return None
    starts = sorted({item["from"] for item in data})
    powers = [0] if starts[0] == 0 else []
    power = next((start for start in starts if start), 1)
    while power <= starts[-1]:
        powers.append(power)
        power *= 2
    labels = [_print(unit, start) for start in powers]
    step = max(1, -(-len(labels) // 9))
    for item in data:
        item["Share"] = units.share(item["y"])
    kinds = _kinds_in(data)
    chart: Chart = (
        _chart(data, title, note)
        .mark_bar()
        .encode(
            x=alt.X(
                "label:O",
                title=axis,
                sort=labels,
                scale=alt.Scale(domain=labels, paddingInner=0.15, paddingOuter=0.1),
                axis=alt.Axis(labelAngle=0, values=labels[::step], labelOverlap=False, ticks=False),
            ),
            xOffset=alt.XOffset("kind:N", sort=kinds, scale=alt.Scale(domain=kinds)),
            y=alt.Y("y:Q", title=None, axis=alt.Axis(format="~%", tickCount=5)),
            color=_colour(),
            tooltip=["kind:N", alt.Tooltip("label:N", title="from"), "Share:N"],
        )
    )
    return chart


def _print(unit: str, value: float) -> str:
    show = {"size": units.size, "time": units.duration, "count": units.count}[unit]
    return show(value)


def _sizes(profile: Figures) -> Chart | None:
    sizes = profile["size_bytes"]
    histograms = {kind: sizes[kind]["histogram"] for kind in ("read", "write") if sizes[kind]["count"]}
    note = "share of the reads, of the writes, from each power of two on"
    return _bars(histograms, "Request sizes", note, "Size", "size")


def _gaps(profile: Figures) -> Chart | None:
    gap = profile["arrivals"]["gap_ns"]
    if not gap["count"]:
        return None
    note = f"share of the gaps; mean {units.duration(gap['mean'])}"
    if gap["cv"] is not None:
        note += f", CV {units.ratio(gap['cv'])}"
    return _bars({"all": gap["histogram"]}, "Time between requests", note, "Gap", "time")


def _runs(profile: Figures) -> Chart | None:
    histograms = {}
    for kind in ("read", "write"):
        runs = profile[f"sequential_{kind}s"]["run_bytes"]
        if runs["count"]:
            histograms[kind] = runs["histogram"]
    note = "share of the runs of requests that continue one another"
    return _bars(histograms, "Sequential runs", note, "Bytes in a run", "size")


def _reuse(profile: Figures) -> Chart | None:
    page = profile["footprint"]["page_bytes"]
    histograms = {
        kind: [
            [start * page, count] for start, count in profile["reuse"][kind]["distance_pages"]["histogram"]
        ]
        for kind in ("read", "write")
        if profile["reuse"][kind]["distance_pages"]["count"]
    }
    note = "different bytes touched between two uses of a page; share of the re-uses"
    return _bars(histograms, "Re-use distance", note, "Distance", "size")


_TIMES = (("h", 3.6e12), ("min", 6e10), ("s", 1e9), ("ms", 1e6), ("us", 1e3))
_BYTES = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1))


def _unit(units_: Sequence[tuple[str, float]], largest: float) -> tuple[str, float]:
    """The unit in which the largest value is a few at least."""
    return next((unit for unit in units_ if largest >= 3 * unit[1]), units_[-1])


def _in_time(
    windows: Sequence[Figures], values: Mapping[str, Sequence[float]], words: tuple[str, str]
) -> Chart:
    """Areas of bytes over time, one on the other; `words` are title and note."""
    time, time_scale = _unit(_TIMES, windows[-1]["start_ns"])
    bytes_, scale = _unit(_BYTES, max(map(sum, zip(*values.values(), strict=True))))
    data: Data = [
        {"x": window["start_ns"] / time_scale, "kind": kind, "y": value / scale}
        for kind, series in values.items()
        for window, value in zip(windows, series, strict=True)
    ]
    chart: Chart = (
        _chart(data, words[0], words[1].format(bytes=bytes_))
        .mark_area(interpolate="step-after", opacity=0.9)
        .encode(
            x=alt.X(
                "x:Q",
                title=f"Time ({time})",
                scale=alt.Scale(nice=False),
                axis=alt.Axis(grid=False, tickCount=8),
            ),
            y=alt.Y("y:Q", title=None, stack="zero", axis=alt.Axis(tickCount=5)),
            color=_colour(),
        )
    )
    return chart


def _over_time(profile: Figures) -> Chart | None:
    over_time = profile["over_time"]
    windows = over_time["windows"]
    kinds = [kind for kind in ("read", "write") if profile["mix"][kind]["bytes"]]
    if len(windows) < 2 or not kinds:
        return None
    per_s = 1e9 / over_time["window_ns"]
    values = {kind: [window[f"{kind}_bytes"] * per_s for window in windows] for kind in kinds}
    note = f"{{bytes}}/s, in windows of {units.duration(over_time['window_ns'])}, one on the other"
    return _in_time(windows, values, ("Throughput", note))


def _working_set(profile: Figures) -> Chart | None:
    over_time = profile["over_time"]
    windows = over_time["windows"]
    if len(windows) < 2 or not over_time["pages_max"]:
        return None
    page = profile["footprint"]["page_bytes"]
    note = f"{{bytes}} in different pages used in each window of {units.duration(over_time['window_ns'])}"
    values = {"all": [window["pages"] * page for window in windows]}
    return _in_time(windows, values, ("Working set", note))


def _hot_spots(profile: Figures) -> Chart | None:
    hot = profile["hot_spots"]
    data: Data = [
        {"x": pages, "y": accesses, "kind": kind}
        for kind in ("read", "write")
        for pages, accesses in hot[kind]["curve"]
    ]
    if not data:
        return None
    ginis = ", ".join(f"{kind} {hot[kind]['gini']:.2f}" for kind in ("read", "write") if hot[kind]["curve"])
    chart: Chart = (
        _chart(data, "Hot spots", f"share of the accesses that go to the pages used most; Gini {ginis}")
        .mark_line(point=True, strokeWidth=2)
        .encode(
            x=alt.X(
                "x:Q",
                title="Pages used most",
                scale=alt.Scale(type="log", domain=[0.001, 1], nice=False),
                axis=alt.Axis(values=[0.001, 0.01, 0.1, 1], labelExpr=_SHARE_LABEL, grid=False),
            ),
            y=_share_axis(),
            color=_colour(),
            tooltip=["kind:N", alt.Tooltip("x:Q", format="~%"), alt.Tooltip("y:Q", format=".1%")],
        )
    )
    return chart
