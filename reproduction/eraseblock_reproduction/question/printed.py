"""What the HBM thesis prints of its four random traces with a buffer of 1 MiB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

OTHERS = ("bplru", "fab", "lb-clock")
MEASURES = ("response", "hits", "erases")
SIZES = ("1 MiB", "4 MiB", "16 MiB", "64 MiB")


@dataclass(frozen=True)
class Trace:
    """A trace by Table 4.1, and HBM's figures as shares of the others' in Figures 4.1 to 4.4 and 4.7."""

    name: str
    # Bytes of a request (KB are 1,024), and the share of requests that write.
    request: int
    writes: float
    sequential: float
    # Mean time between requests: ms as printed, but for Financial, where they would make 1.3 years of 11.4 h.
    interval: str
    # By measure and other scheme; what the thesis tells without a number is left out.
    ratios: Mapping[str, Mapping[str, float]]


TRACES = {
    trace.name: trace
    for trace in (
        Trace(
            name="Financial",
            request=3983,
            writes=0.18,
            sequential=0.006,
            interval="11080.98 us",
            ratios={
                "response": {"bplru": 0.16, "fab": 0.24, "lb-clock": 0.50},
                "hits": {"bplru": 2.85, "fab": 2.46},
                "erases": {"bplru": 0.15, "fab": 0.18},
                "reads": {"bplru": 1 / 4.68, "fab": 3.75 / 4.68, "lb-clock": 3.94 / 4.68},
            },
        ),
        Trace(
            name="MSNFS",
            request=10045,
            writes=0.33,
            sequential=0.061,
            interval="586.79 ms",
            ratios={
                "response": {"bplru": 0.18, "fab": 0.37, "lb-clock": 0.90},
                "hits": {"bplru": 1.39, "fab": 1.63},
                "erases": {"bplru": 0.22, "fab": 1 / 4.08, "lb-clock": 1 / 0.99},
            },
        ),
        Trace(
            name="Exchange",
            request=12298,
            writes=0.72,
            sequential=0.105,
            interval="3780.67 ms",
            ratios={
                "response": {"bplru": 0.55, "fab": 0.77, "lb-clock": 0.78},
                "hits": {"bplru": 1.62, "fab": 3.80},
                "erases": {"bplru": 0.90, "fab": 0.95},
            },
        ),
        Trace(
            name="CAMWEBDEV",
            request=8335,
            writes=0.99,
            sequential=0.002,
            interval="707.10 ms",
            ratios={
                "response": {"bplru": 0.28, "fab": 0.60, "lb-clock": 0.39},
                "hits": {"bplru": 2.28, "fab": 1.65, "lb-clock": 1.18},
                "erases": {"bplru": 0.52, "fab": 0.79, "lb-clock": 0.61},
            },
        ),
    )
}

# Not random: for the dynamic threshold alone (Figure 4.8). It is generated as Table 4.3 says.
SYNTHETIC = Trace(
    name="Synthetic", request=20_808, writes=0.7, sequential=0.8, interval="52.22 us", ratios={}
)
