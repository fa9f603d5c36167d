"""What the printed numbers of Figures 4.1 and 4.7 ask of any trace at all: arithmetic, no runs.

All is counted in pages for each request of Financial, with a buffer of 1 MiB. S pages are asked for, p of
them by reads. A buffer that takes reads in reads what it misses. So FAB reads at least p - H pages, H being
its hits, and HBM's hits are at most S less what it reads, even if every write hits. By Figure 4.1 HBM has
a = 2.46 times FAB's hits, by Figure 4.7 FAB reads 1 / f and HBM 1 / b of BPLRU's pages. Together

    a (p - R / f)  <=  S - R / b,    so    R  >=  (a p - S) / (a / f - 1 / b)

for R, the pages that BPLRU reads. What of these the host did not ask for, at least R - p, BPLRU reads to
pad blocks (or merges copy), and each of them is programmed, too: that takes c_r R + c_w (R - p) at least.

Where the pages read count those of merges, HBM may read fewer than it misses by as many as its merges read;
each of those is programmed in the 0.12 ms that it has, which bounds them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# Figure 4.1, and Figure 4.7 (a): "368%, 275% [...] more page reads".
WRITES = 0.18
HITS_TO_FAB = 2.46
READS_TO_HBM, READS_TO_FAB = 4.68, 3.75
BPLRU_MS, HBM_MS = 0.75, 0.12
# Half a unit of the last digit that is printed.
ROUNDING = {"hits": 0.005, "reads": 0.005, "bplru": 0.005, "hbm": 0.005, "writes": 0.005, "shares": 0.005}


@dataclass(frozen=True)
class Costs:
    """How long pages take, and what counts as read: what the thesis leaves open."""

    name: str
    read_ms: float
    write_ms: float
    merges_counted: bool
    # Pages of a request: 3.89 KB, rounded as is kindest, in pages of 2 KB. More if requests straddle pages.
    pages: float = 3.885 / 2
    # BPLRU's page reads as a multiple of HBM's and FAB's; 368 % more may have been meant as 3.68 times.
    to_hbm: float = READS_TO_HBM
    to_fab: float = READS_TO_FAB


def readings() -> Iterator[Costs]:
    """Every way to charge them."""
    for name, read, write in (
        ("25 and 200 us and the bus (Table 4.2)", 0.125, 0.3),
        ("the array's time behind the bus", 0.1, 0.2),
        ("the bus alone: chips work side by side", 0.1, 0.1),
        ("25 and 200 us, no bus", 0.025, 0.2),
    ):
        for merges in (False, True):
            yield Costs(name, read, write, merges)


def least_bplru_ms(costs: Costs, read_pages: float) -> float:
    """BPLRU's least mean response time, every printed number being as kind as its rounding allows."""
    hits = HITS_TO_FAB - ROUNDING["hits"]
    fab, hbm = costs.to_fab - ROUNDING["reads"], costs.to_hbm - ROUNDING["reads"]
    least = float("inf")
    # A ratio may be rounded either way; which is kinder depends on the others.
    for to_fab in (fab, fab + 2 * ROUNDING["reads"]):
        for to_hbm in (hbm, hbm + 2 * ROUNDING["reads"]):
            over = hits * read_pages - costs.pages
            slope = hits / to_fab - 1 / to_hbm
            if costs.merges_counted:
                over -= (HBM_MS + ROUNDING["hbm"]) / costs.write_ms
                slope -= costs.read_ms / costs.write_ms / to_hbm
            read = max(0.0, over / slope)
            least = min(least, costs.read_ms * read + costs.write_ms * max(0.0, read - read_pages))
    return least


def read_pages(costs: Costs, longer: float) -> float:
    """Pages that reads ask for, a request, where writes are `longer` times as long as reads."""
    writes = WRITES + ROUNDING["writes"]
    return costs.pages * (1 - writes) / (1 - writes + writes * longer)


def least_length(costs: Costs) -> float:
    """How many times as long as reads writes have to be for BPLRU's 0.75 ms; 0 if they may be of any length.

    Example:
        >>> costs = next(readings())
        >>> ms = BPLRU_MS + ROUNDING["bplru"]
        >>> abs(least_bplru_ms(costs, read_pages(costs, least_length(costs))) - ms) < 1e-6
        True
    """
    most = BPLRU_MS + ROUNDING["bplru"]
    low, high = 0.0, 1000.0
    if least_bplru_ms(costs, read_pages(costs, low)) <= most:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        if least_bplru_ms(costs, read_pages(costs, middle)) > most:
            low = middle
        else:
            high = middle
    return high


# Figure 4.3 with 1 MiB (Exchange): BPLRU's response time, its writes of one page and those above four, and
# how many of its hits HBM has.
EXCHANGE_MS, EXCHANGE_ONE, EXCHANGE_ABOVE_4, EXCHANGE_HITS = 3.14, 0.44, 0.20, 1.62
EXCHANGE_PAGES, EXCHANGE_WRITES = 12.01 / 2, 0.72
BLOCK = 64


def least_exchange_hits(costs: Costs) -> float:
    """HBM's least hit ratio under Exchange, where BPLRU fills whole blocks and writes are as long as reads.

    What BPLRU writes back in its time is bounded, as each flush is of 64 pages; all else that the host writes
    has to hit. The lengths of its writes are taken as long as the printed shares allow.

    Example:
        >>> f"{least_exchange_hits(next(readings())):.0%}"
        '65%'
    """
    one, above = EXCHANGE_ONE - ROUNDING["shares"], EXCHANGE_ABOVE_4 + ROUNDING["shares"]
    longest = one + 4 * (1 - one - above) + BLOCK * above
    flush = BLOCK * costs.write_ms + (BLOCK - longest) * costs.read_ms
    written = longest * (EXCHANGE_MS + ROUNDING["bplru"]) / flush
    hits = EXCHANGE_PAGES * (EXCHANGE_WRITES - ROUNDING["writes"]) - written
    return max(0.0, hits / EXCHANGE_PAGES * (EXCHANGE_HITS - ROUNDING["hits"]))
