"""What a page shows of a picture."""

from __future__ import annotations

from dataclasses import dataclass

from eraseblock.results.record import Record


@dataclass(frozen=True)
class Picture:
    """An SVG under docs/pictures, and the sentence below it, whose figures come from the same runs."""

    name: str
    # What a reader who does not see it is told.
    told: str
    caption: str
    svg: str

    def markdown(self) -> str:
        """The picture and its caption, as pages in docs show them."""
        return f"![{self.told}](pictures/{self.name}.svg)\n\n{self.caption}\n"


class PictureError(Exception):
    """The engine did something else than a picture shows."""


def spare_of(record: Record) -> float:
    """Spare flash as a share of what the host sees."""
    nand, ftl = record["config"]["nand"], record["config"]["ftl"]
    units = nand["channels"] * nand["chips_per_channel"] * nand["dies_per_chip"] * nand["planes_per_die"]
    from eraseblock.results.units import bytes_of

    physical = units * nand["blocks_per_plane"] * nand["pages_per_block"] * bytes_of(nand["page_size"])
    return float(physical / bytes_of(ftl["exported"]) - 1)
