"""The claims of the papers, their experiments and workloads fit together."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eraseblock import _core
from eraseblock_reproduction import check as tool
from eraseblock_reproduction import data


@pytest.mark.parametrize("paper", data.PAPERS)
def test_every_claim_picks_runs_of_its_figure(paper: str) -> None:
    said = re.fullmatch(
        rf"{paper}: (\d+) claims of \d+ numbers and orders, \d+ results, \d+ runs",
        tool.check_paper(data.paper(paper)),
    )
    assert said is not None
    assert int(said[1]) > 20


def test_every_paper_with_claims_is_checked() -> None:
    assert {path.parent.name for path in data.folder().glob("*/claims.toml")} == set(data.PAPERS)


@pytest.fixture(scope="module")
def hbm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all of one paper: its experiments are resolved once, whatever becomes of its claims."""
    folder = tmp_path_factory.mktemp("papers")
    (folder / "hbm").mkdir()
    for name in (data.WORKLOADS_NAME, *(f"hbm/{path.name}" for path in (data.folder() / "hbm").iterdir())):
        (folder / name).write_bytes((data.folder() / name).read_bytes())
    return folder


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"48 MiB"', '"47 MiB"', "no run has buffer.size = 47 MiB"),
        ('kind = "order"', 'kind = "ordre"', "there is no kind `ordre`; did you mean `order`?"),
        ('relation = "less"', 'relation = "fewer"', "relation is one of"),
        ("ahead = 0.1", "ahead = 10", "`ahead` is a share"),
        ("similar = 0.75", "similar = 75", "`similar` is the share of the pairs"),
        ('relative_to = { "buffer.scheme" = "hbm" }\n', "", "a `lead` is relative to something"),
        ("lead = true", 'lead = "right"', '`lead` is true, or "left"'),
        ('apart = "buffer.scheme"', 'apart = "workload"', "`apart` is a setting of which"),
        ('aggregate = "max"', 'aggregate = "some"', "only an order holds at some points"),
        (
            'id = "summary-erases"',
            'id = "summary-response"',
            "several claims are called ['summary-response']",
        ),
        ('quantity = "hits"', 'quantity = "hit"', "there is no quantity `hit`"),
        ('value = "energy_mj"', 'value = "open(energy_mj)"', "only ['at_most', 'bytes', 'share']"),
        ("lb-clock = 0.23", "lb-clok = 0.23", "'buffer.scheme': 'lb-clok'"),
        ('follows = "fig4.9-least"', 'follows = "fig4.9-last"', "`fig4.9-last`, which is no claim"),
        (
            'id = "fig4.9-least"\n',
            'id = "fig4.9-least"\nfollows = "summary-energy"\n',
            "it follows from itself, by summary-energy",
        ),
        ('cause = "lengths"', 'cause = "length"', "there is no cause `length`"),
        ('shows = "by construction"', 'shows = "an art"', "`shows` is one of"),
        ("claims = [", 'claims = ["table4.4-read",', "[main]: `table4.4-read` is no result"),
        (
            "claims = [",
            'claims = ["sec4.3.2-order",',
            "[main]: `sec4.3.2-order` follows from sec4.3.2-vs-bplru",
        ),
        ('"ftl.exported" = "32 GiB"', '"ftl.exported" = "31 GiB"', "settings differ: ['ftl.exported']"),
        (
            "[[claims]]",
            '[[switches]]\nname = "x"\nopen = ""\nset = { "host.speedup" = 1.0 }\n\n[[claims]]',
            "`x` changes",
        ),
    ],
)
def test_a_claim_that_does_not_fit_is_named(
    old: str, new: str, message: str, hbm: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (data.folder() / "hbm" / data.CLAIMS_NAME).read_text()
    assert old in text
    claims = hbm / "hbm" / data.CLAIMS_NAME
    claims.write_text(text.replace(old, new, 1) if "switches" in new else text.replace(old, new))
    monkeypatch.setattr(data, "folder", lambda: hbm)
    with pytest.raises((tool.DataError, _core.InputError)) as error:
        tool.check_paper(data.paper.__wrapped__("hbm"))
    assert message in str(error.value)


def claim_of(paper: str, name: str) -> data.Claim:
    [found] = [one for one in data.paper(paper).claims if one.id == name]
    return found


def test_one_fact_counts_once() -> None:
    """The 84 % of the HBM thesis stand in five places, and SUPA's abstract repeats Figure 24."""
    names = ("summary-response", "fig4.1-bplru-response", "fig4.7-response-vs-hbm")
    assert all("fig4.1-response-vs-bplru" in claim_of("hbm", name).follows for name in names)
    parts = {part.part: part for part in claim_of("hbm", "sec4.3.2-vs-lb-clock").parts()}
    assert parts["hbm-financial"].follows == ["fig4.1-response-vs-lb-clock"]
    assert parts["hbm-msnfs"].counts
    assert claim_of("supa", "abstract-up-to-read").follows == ["fig24-read-vs-blas"]
    assert claim_of("multibank", "conclusion-huge").follows == ["fig4.9-sysmark-rise"]
    # With one bank both allocators erase alike.
    assert claim_of("multibank", "fig4.7-growth").follows == ["abstract-erases"]
    assert claim_of("multibank", "fig4.9-specweb-prefers").follows == ["fig4.8-eight-banks"]
    assert claim_of("supa", "fig18-slower").follows == ["fig18-factor"]
    assert claim_of("supa", "fig24-order").aggregate == "mean"
    assert len(claim_of("supa", "fig24-order").follows) == 3
    assert claim_of("epo", "fig6-scalable-epo").where["workload"] == "epo-financial2"
    # One pair of buffers, with two numbers; and what two other claims make.
    assert claim_of("supa", "abstract-read-buffer").follows == ["fig20-read"]
    assert len(claim_of("supa", "abstract-write-buffer").follows) == 2
    assert claim_of("hbm", "fig4.1-sequential-order").follows == ["fig4.1-writes-above-4"]
    assert claim_of("hbm", "fig4.3-bplru-response-vs-fab").follows[0] == "fig4.3-erases-decide"
    schemes = [one["buffer.scheme"] for one in claim_of("hbm", "fig4.9-bplru").rights]
    assert schemes == ["fab", "lb-clock"], "that BPLRU consumes more than HBM is fig4.9-least"


def test_a_cause_may_be_of_some_values_alone() -> None:
    """LB-CLOCK's writes are shorter than stated, FAB's longer."""
    parts = {part.part: part.cause for part in claim_of("hbm", "fig4.5-writes-above-8").parts()}
    assert parts == {"bplru": "lengths", "fab": "lengths", "lb-clock": None}
    assert claim_of("hbm", "fig4.5-hbm-writes-below-4").cause == "lengths"


def test_claims_say_no_more_and_no_less_than_the_papers() -> None:
    # What striping gains is related to the length of requests: only a picture tells how.
    assert claim_of("multibank", "fig4.5-request-length").kind == "statement"
    assert claim_of("multibank", "fig3.4-parallelism").kind == "statement"
    # An element has 4 GB, and the experiments have less.
    settings = claim_of("epo", "table1-settings").table
    assert settings["departs"] == ["nand.blocks_per_plane"]
    assert settings["is"]["nand.blocks_per_plane"] * 8 * 64 * 4096 == 4 << 30
    # Whoever writes longer erases less: half of what section 4.3.1 (4) concludes.
    assert claim_of("hbm", "fig4.5-length-decides").table["with"] == "erases"
    # "Fairly good" is not "ahead everywhere".
    assert claim_of("bplru", "fig15-good-everywhere").table["relation"] == "at least"
    # It is an aim, and nothing was stated of what came out.
    assert claim_of("bplru", "fig11-not-harmful").kind == "statement"
    # Counts of flash operations know nothing of copies in RAM.
    assert claim_of("bplru", "fig20-mp3").table["needs"] == "hardware"
    # "Can" is with one size at least.
    assert claim_of("bplru", "conclusion-buffer-helps").aggregate == "some"
    assert claim_of("supa", "fig17-switches").table["quantity"] == "switches"
    # Section 4.4.3 has erases fall within a part of the units alone; nothing is said of each step.
    assert claim_of("multibank", "fig4.9-unit-erases").kind == "order"
    # It contradicts itself with four banks alone.
    assert claim_of("multibank", "fig4.8-few-banks-specweb").where["nand.channels"] == 2
    assert "contradicts" not in claim_of("multibank", "fig4.8-few-banks-specweb").table
    # An advantage narrows if there is one.
    leads = (
        "fig4.2-narrows",
        "fig4.6-smaller-lead",
        "fig4.6-smaller-lead-bplru",
        "fig4.7-lb-clock-elsewhere",
    )
    for name in leads:
        assert claim_of("hbm", name).table["lead"], name
    # They name no size; and Figure 4.1(a) is in ms.
    for name in ("fig4.2-lb-clock-hits", "fig4.7-lb-clock-vs-hbm", "fig4.7-lb-clock-elsewhere"):
        assert "buffer.size" not in claim_of("hbm", name).where, name
    assert claim_of("hbm", "fig4.1-stable").table["absolute"]
    # The first screen has each of the twelve leads that section 4.3.2 prints.
    main = data.paper("hbm").main
    assert main is not None
    assert sum("response" in name or "sec4.3.2" in name for name in main.claims) == 12
    # The works before SUPA are S-FTL, BLAS and p-CAVE, and BLAS erases least.
    for name in ("fig21-lifetime", "fig21-lifetime-copies", "abstract-lifetime"):
        schemes = {one["buffer.scheme"] for one in claim_of("supa", name).rights}
        assert schemes == {"sftl", "cave"}, name
    assert "placement" in data.paper("supa").quantities["copies"].value
    assert claim_of("supa", "fig21-handler-free").where == {"workload": "supa-webengine"}
    assert claim_of("supa", "fig4-read-write").lefts == [{"buffer.scheme": "blas"}]
    # What is set against what is said.
    assert "p-CAVE" in claim_of("supa", "fig22-erases").says
    assert claim_of("supa", "fig19-dbt2-dirty-only").where == {"workload": "supa-dbt2"}
    assert "does not say" in claim_of("supa", "fig21-webengine").table["note"]


def test_one_word_is_read_in_one_way() -> None:
    """Section 4.3.1 of the HBM thesis calls lengths correlated with erases and response times."""
    for name in (
        "fig4.4-length-decides",
        "fig4.4-length-responds",
        "fig4.5-length-decides",
        "fig4.5-length-responds",
    ):
        assert claim_of("hbm", name).table["similar"] == claim_of("hbm", "fig4.9-erases").table["similar"], (
            name
        )
    # Of erases and response times it says without exception that fewer make shorter ones.
    for name in ("fig4.3-erases-decide", "fig4.4-erases-decide"):
        assert "similar" not in claim_of("hbm", name).table, name


def test_claims_measure_what_the_sentence_is_about() -> None:
    assert claim_of("multibank", "fig4.5-pcmark-4").quantity == "write-response"
    # Figure 19 (a) is of read hits; and to have some is what the stand-ins were fitted to.
    assert claim_of("supa", "fig19-dbt2-dirty-only").quantity == "read-hits"
    assert not claim_of("supa", "fig19-read-not-zero").counts
    # "In all situations" is no mean.
    assert claim_of("epo", "fig4-bplru-padding").aggregate == "each"
    # W4 differs from all others: from each of seven, and not from one; nothing is said of a mean.
    assert len(claim_of("bplru", "fig7-14-only-iometer").rights) == 7
    assert claim_of("bplru", "fig7-14-only-iometer").aggregate == "each"
    # What is true of BPLRU as a whole is so under all nine workloads: none is left out.
    for name in ("intro-much-more-effective", "conclusion-more-effective"):
        assert claim_of("bplru", name).figure == "7-15", name
    # The biggest gain is one.
    assert claim_of("bplru", "fig15-fat16-most").table["lead"] == "left"
    # What is undecided is not left out of what the thesis is cited for.
    main = data.paper("multibank").main
    assert main is not None
    assert "fig4.8-few-banks-pcmark" in main.claims
