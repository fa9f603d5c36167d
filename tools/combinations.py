"""What goes with what: each FTL on each kind of chip, built to see; the page docs/ftls/combinations.md."""

from __future__ import annotations

from typing import Any

import eraseblock
from eraseblock.pages import table

Json = dict[str, Any]

# A drive that has room for every FTL.
PLAIN: Json = {
    "nand": {
        "channels": 2,
        "chips_per_channel": 1,
        "dies_per_chip": 1,
        "planes_per_die": 2,
        "blocks_per_plane": 128,
        "pages_per_block": 8,
        "page_size": "8 KiB",
        "program_order": "ascending",
        "timing": {"read": "25 us", "program": "200 us", "erase": "1.5 ms", "transfer": "50 us"},
    },
    "ftl": {"over_provisioning": 1.0},
    "buffer": {"size": "64 KiB", "scheme": "lru"},
    "workload": {"generate": {"kind": "uniform", "requests": 20, "footprint": "64 KiB"}, "fit": "wrap"},
}

CHIPS: list[tuple[str, str, Json]] = [
    ("pages in any order", 'program_order = "any"', {"program_order": "any"}),
    ("pages upwards", 'program_order = "ascending"', {}),
    ("every page in turn", 'program_order = "sequential"', {"program_order": "sequential"}),
    ("several mapped pages a page", 'mapping_unit = "4 KiB"', {"mapping_unit": "4 KiB"}),
    ("one program, several pages", "pages_per_program = 2", {"pages_per_program": 2}),
    ("planes as one", "multi_plane = true", {"multi_plane": True}),
    ("planes together", "two_plane", {"two_plane": {"same_page": False}}),
    ("cache program", 'cache_program = "3 us"', {"cache_program": "3 us"}),
    ("suspension", "suspend", {"suspend": {}, "scheduling": "read-first"}),
    ("copy-back", "copy_back = true", {"copy_back": True}),
]

PARTS: list[tuple[str, str, Json]] = [
    ("allocator", 'allocator = "dynamic"', {"allocator": "dynamic"}),
    ("victim policy", 'victim = "fifo"', {"victim": "fifo"}),
    ("wear leveller", 'wear = "dual-pool"', {"wear": "dual-pool"}),
    ("collection", "gc = { step_pages = 4 }", {"gc": {"step_pages": 4}}),
]


def reason(nand: Json, ftl: Json) -> str:
    """Why a drive is refused; empty if it is built, filled and used."""
    experiment = {**PLAIN, "nand": {**PLAIN["nand"], **nand}, "ftl": {**PLAIN["ftl"], **ftl}}
    try:
        eraseblock.run(experiment, jobs=1, verify=True)
    except (eraseblock.ConfigError, eraseblock.InputError) as error:
        # One sentence for all FTLs that say the same of themselves.
        name = ftl["mapping"]
        return str(error).replace(f"`{name}`", "the FTL").removeprefix(f"{name} ").replace("  ", " ")
    return ""


def page() -> str:
    """The page."""
    reasons: list[str] = []

    def cell(nand: Json, ftl: Json) -> str:
        why = reason(nand, ftl)
        if not why:
            return "yes"
        if why not in reasons:
            reasons.append(why)
        return f"no ({reasons.index(why) + 1})"

    ftls = [str(entry["name"]) for entry in eraseblock.registry()["ftls"]]
    head = ["chip", "`nand.`", *(f"`{name}`" for name in ftls)]
    chips = [
        [what, f"`{key}`", *(cell(nand, {"mapping": name}) for name in ftls)] for what, key, nand in CHIPS
    ]
    parts = [
        [what, f"`{key}`", *(cell({}, {"mapping": name, **ftl}) for name in ftls)] for what, key, ftl in PARTS
    ]
    numbered = "".join(f"{number}. {why}\n" for number, why in enumerate(reasons, 1))
    return (
        "# What goes with what\n\nEvery buffer runs on every FTL. FTLs differ in the chips that they can "
        "work with, and in the parts that can be chosen for them. All of this was tried by `make format`: "
        "each drive was built, filled and used, or refused with the sentence below.\n\n"
        f"{table(head, chips)}\n{table(['part', '`ftl.`', *head[2:]], parts)}\n## Why not\n\n{numbered}"
    )
