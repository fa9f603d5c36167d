"""How much can be written before the flash wears out."""

from __future__ import annotations

from eraseblock.advice.answer import Answer, Picture, Table
from eraseblock.advice.case import Case
from eraseblock.advice.small import cut_down, doubts_here
from eraseblock.results import units
from eraseblock.results.units import bytes_of
from eraseblock.results.view import Row

ABOUT = "How long does the drive live, in terabytes written (TBW)?"
# Where neither the drive nor the caller says how often a block can be erased: usual for TLC flash.
ENDURANCE = 3000
# Shares of spare flash that drives are sold with; those near the drive's own are left out.
_USUAL, _NEAR = (0.07, 0.15, 0.28), 0.02
_DAY_NS = 86_400 * 10**9
# From so many times the bytes on, that whole pages are written is told.
_WHOLE = 1.01


def ask(case: Case) -> Answer:
    """Write amplification in steady state, with the drive's spare flash and others, into bytes of the host.

    TBW = bytes of flash x erases that a block endures / write amplification, as if wear were even. Like write
    amplification it counts whole pages, also where the host writes parts of them.
    """
    drive = cut_down(case)
    config = case.config()
    nand = config["nand"]
    planes = nand["channels"] * nand["chips_per_channel"] * nand["dies_per_chip"] * nand["planes_per_die"]
    flash = planes * nand["blocks_per_plane"] * nand["pages_per_block"] * bytes_of(nand["page_size"])
    said = case.wish.endurance or int(nand["endurance"]) or None
    endurance = said or ENDURANCE
    own_spare = round(drive.spare, 4)
    spares = sorted({own_spare, *(one for one in _USUAL if abs(one - own_spare) > _NEAR)})
    own_blocks = drive.flash_blocks(own_spare)
    counts = sorted({own_blocks, *(drive.flash_blocks(one) for one in spares if drive.has(one))})
    sets = {**drive.sets(), "nand.blocks_per_plane": counts}
    runs, command = case.runs(
        buffers=[case.scheme()], ftls=["page"], sets=sets, fit="compact", may_refuse=True
    )
    rows, shown, taken = list[dict[str, object]](), list[list[str]](), None
    for run in runs:
        blocks = int(run.record["config"]["nand"]["blocks_per_plane"])
        spare = drive.spare_of(blocks)
        waf = run.figure("waf")
        written = flash * endurance / waf if waf else None
        if blocks == own_blocks:
            taken = len(rows)
        rows.append({"spare": spare, "waf": waf, "tbw_bytes": written})
        shown.append([units.share(spare), units.ratio(waf), units.until_worn(written)])
    table = Table({"spare": "spare", "waf": "WAF", "tbw_bytes": "TBW"}, rows, shown, taken)
    picture = Picture("bars", "Written until the flash is worn out", "spare", "tbw_bytes")
    if taken is None:
        sentence = (
            f"Lifetime: it cannot be said, as with {units.share(drive.spare_of(own_blocks))} spare flash the "
            "drive cut down has no room to collect."
        )
        return Answer("lifetime", sentence, doubts_here(case, runs), table, picture, (command,))
    own, tbw = runs[taken], rows[taken]["tbw_bytes"]
    if not isinstance(tbw, float):
        sentence = "Lifetime: without end, as the workload writes nothing to flash."
        return Answer("lifetime", sentence, doubts_here(case, [own]), table, picture, (command,))
    # Lifetime is asked of a drive that collects, whatever maps the drive it is asked for.
    mapping = config["ftl"]["mapping"]
    kind = mapping["kind"] if isinstance(mapping, dict) else mapping
    under = "" if kind == "page" else f" under page mapping in the place of {kind}"
    whose = "" if said else " (usual for TLC; --endurance says another)"
    sentence = (
        f"Lifetime: {units.sold_size(tbw)} written ({units.sold_size(flash)} of flash x "
        f"{endurance:,} erase{'' if endurance == 1 else 's'}{whose} / write amplification "
        f"{units.ratio(own.figure('waf'))}{under}, as if wear were even){_years(case, own, tbw)}."
    )
    result = {"tbw_bytes": tbw, "waf": own.figure("waf"), "endurance": endurance, "flash_bytes": flash}
    return Answer("lifetime", sentence, doubts_here(case, [own]), table, picture, (command,), result)


def _years(case: Case, run: Row, tbw: float) -> str:
    """How long that is at the pace of the trace, as it is replayed."""
    info = case.profile()
    host = case.config()["host"]
    # Elsewhere the next request comes when one has been answered, whatever the pace.
    speedup = float(host["speedup"]) if host["replay"] == "open" else 1.0
    span = info["profile"]["arrivals"]["duration_ns"] / speedup
    if not span or not info["write_bytes"]:
        return ""
    said = info["write_bytes"]
    nand = case.config()["nand"]
    page = bytes_of(nand.get("mapping_unit") or nand["page_size"])
    # A warm-up is in no figure of the run.
    written = max(said, run.figure("host_pages.write") * page)
    pace = f"{units.size(said * _DAY_NS / span)} a day"
    if written > said * _WHOLE:
        pace += f", in whole pages {units.size(written * _DAY_NS / span)},"
    whose = "the trace's" if speedup == 1 else f"{speedup:g} times the trace's pace,"
    return f"; at {whose} {pace} that is {units.long_time(tbw / written * span)}"
