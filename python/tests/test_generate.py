"""`trace generate`: traces of generators and stand-ins, and what it says when it cannot make one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli

import eraseblock


def test_a_generated_trace_reads_back(cli: Cli) -> None:
    made = cli(
        "trace", "generate", "uniform", "-o", "out.spc", "--requests", "5000", "--set", "read_share=0.25",
        "--set", 'size={"4 KiB"=50, "8 KiB"=50}', "--set", "footprint=8MiB", "--json",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    report = json.loads(made.stdout)
    assert (report["requests"], report["format"]) == (5000, "spc")
    [summary] = json.loads(cli("trace", "info", "out.spc", "--json").stdout)
    assert summary["requests"] == 5000
    assert summary["highest_end"] <= 8 << 20
    assert abs(summary["reads"] / 5000 - 0.25) < 0.03


def test_what_a_generator_could_not_meet_is_said(cli: Cli) -> None:
    asked = ("calibrated", "-o", "out.ebt", "--requests", "1500", "--set", "footprint=8MiB")
    said = "footprint: 6000 KiB were read or written, and 8 MiB were asked for: give a smaller `footprint`"
    made = cli("trace", "generate", *asked)
    assert made.returncode == 0, made.stderr
    assert f"not as asked for: {said}" in " ".join(made.stdout.split())
    [missed] = json.loads(cli("trace", "generate", *asked, "--force", "--json").stdout)["missed"]
    assert missed.startswith(said)

    generate = {"kind": "calibrated", "requests": 1500, "footprint": "8 MiB"}
    [record] = eraseblock.run(
        {"preset": "hbm-2010", "buffer": {"scheme": "lru"}, "workload": {"generate": generate}}
    )
    assert record["trace"]["missed"] == [missed]
    assert f"workload.generate.{missed}" in record["warnings"]


def test_the_same_seed_gives_the_same_file(cli: Cli, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        made = cli(
            "trace", "generate", "supa-web", "-o", f"{name}.ebt", "--requests", "2000", "--seed", str(seed)
        )
        assert made.returncode == 0, made.stderr
    a, b, c = ((tmp_path / f"{name}.ebt").read_bytes() for name in "abc")
    assert a == b
    assert a != c


def test_a_trace_and_its_generator_are_the_same_workload(cli: Cli, tmp_path: Path) -> None:
    assert cli("trace", "generate", "hbm-financial", "-o", "f.ssdsim", "--requests", "3000").returncode == 0
    drive = {"preset": "hbm-2010", "buffer": {"size": "1 MiB", "scheme": "lru"}}
    fits = {"fit": "compact"}
    generate = {"kind": "standin", "name": "hbm-financial", "requests": 3000}
    [one] = eraseblock.run({**drive, "workload": {**fits, "generate": generate}})
    [two] = eraseblock.run(
        {**drive, "workload": {**fits, "path": str(tmp_path / "f.ssdsim"), "format": "ssdsim"}}
    )
    assert one["response_ns"] == two["response_ns"]
    assert one["trace"]["name"] == "hbm-financial"


def test_a_file_says_what_to_make(cli: Cli, tmp_path: Path) -> None:
    spec = tmp_path / "mix.toml"
    spec.write_text(
        'kind = "mixed"\n[streams.a]\nkind = "sequential"\nrequests = 30\nfootprint = "1 MiB"\n'
        '[streams.b]\nkind = "uniform"\nrequests = 10\nstart = "1 MiB"\nfootprint = "1 MiB"\n',
        encoding="utf-8",
    )
    made = cli("trace", "generate", "--spec", "mix.toml", "-o", "mix.ebt", "--requests", "400", "--json")
    assert json.loads(made.stdout)["requests"] == 400, made.stderr
    experiment = tmp_path / "experiment.toml"
    experiment.write_text(
        'preset = "hbm-2010"\n[workload.generate]\nkind = "zipf"\nrequests = 70\n', encoding="utf-8"
    )
    made = cli("trace", "generate", "--spec", "experiment.toml", "-o", "e.spc", "--json")
    assert json.loads(made.stdout)["format"] == "spc", made.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name a generator"),
        (("zipff", "-o", "a.ebt"), "there is no generator or stand-in `zipff`; did you mean `zipf`?"),
        (("zipf",), "name the file to write with -o"),
        (("zipf", "--spec", "x.toml", "-o", "a.ebt"), "found both `zipf` and --spec"),
        (("--spec", "x.toml", "-o", "a.ebt"), "--spec x.toml: cannot be read"),
        (("zipf", "-o", "a.ebt", "--set", "the ta=1"), "is not a key"),
        (("zipf", "-o", "a.ebt", "--set", "theto=1"), "did you mean `theta`? (options of `zipf`:"),
        (("zipf", "-o", "a.ebt", "--set", "theta=0"), "`theta`: found 0"),
        (("zipf", "-o", "a.ebt", "--set", "size=4096"), "4096 has no unit"),
        (("zipf", "-o", "a.ebt", "--set", "requests=[1,2]"), "found a list"),
        (
            ("zipf", "-o", "a.ebt", "--requests", "9", "--set", "requests=8"),
            "--requests and --set requests=8",
        ),
        (
            ("zipf", "-o", "a.ebt", "--seed", "1", "--set", "seed=2"),
            "--seed and --set seed=2 both set `seed`",
        ),
        (("zipf", "-o", "a.ebt", "--set", "kind=uniform"), "`zipf` and --set kind=uniform both set `kind`"),
        (("hbm-web", "-o", "a.ebt"), "there is no generator or stand-in `hbm-web`"),
        (("supa-web", "-o", "a.ebt", "--set", "variant=x"), "has no variant `x`"),
        (("supa-web", "-o", "a.ebt", "--set", "footprnt=1MiB"), "footprnt"),
        (("zipf", "-o", "a.xyz"), "its name does not say which format"),
        (("zipf", "-o", "a.ebt", "--to", "spd"), "did you mean `spc`?"),
        (("zipf", "--describe"), "there is no stand-in `zipf`"),
        (("zipf", "--compare"), "`zipf` is not a stand-in"),
    ],
)
def test_what_cannot_be_made_is_answered_in_one_line(
    cli: Cli, arguments: tuple[str, ...], message: str
) -> None:
    run = cli("trace", "generate", *arguments)
    assert run.returncode == 2
    assert message in run.stderr
    assert len(run.stderr.strip().splitlines()) == 1, run.stderr


def test_an_existing_file_stays(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "a.ebt").write_text("mine", encoding="utf-8")
    run = cli("trace", "generate", "uniform", "-o", "a.ebt", "--requests", "10")
    assert run.returncode == 2, run.stderr
    assert (tmp_path / "a.ebt").read_text(encoding="utf-8") == "mine"
    assert cli("trace", "generate", "uniform", "-o", "a.ebt", "--requests", "10", "--force").returncode == 0


def test_a_stand_in_is_described(cli: Cli) -> None:
    text = cli("trace", "generate", "hbm-financial", "--describe").stdout
    for part in ("Table 4.1", "Cannot know:", "mean time between requests: 11080.98 us", "Variants"):
        assert part in text
    about = json.loads(cli("trace", "generate", "hbm-financial", "--describe", "--json").stdout)
    assert about["generate"]["kind"] == "calibrated"


def test_a_stand_in_is_compared_with_what_was_published(cli: Cli) -> None:
    rows = json.loads(cli("trace", "generate", "bplru-w7", "--compare", "--json").stdout)
    assert {row["met"] for row in rows} == {True}
    assert "21,594" in cli("trace", "generate", "bplru-w7", "--compare").stdout


def test_lists_tell_generators_and_stand_ins(cli: Cli) -> None:
    text = cli("list", "generators").stdout
    assert all(name in text for name in ("calibrated", "disksim", "mixed", "hotcold"))
    stand_ins = json.loads(cli("list", "stand-ins", "--json").stdout)
    assert len(stand_ins) > 20
