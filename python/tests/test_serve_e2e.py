"""What lets real programs at a served drive: it goes on where it was interrupted, and says what it lacks."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import serve_e2e
import serve_guide
from e2e import machine
from e2e.job import Job
from e2e.machine import LackingError

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="it kills servers")


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def run(monkeypatch: pytest.MonkeyPatch, check: object, *words: str) -> int:
    monkeypatch.setattr(serve_e2e, "CHECKS", {"made-up": check})
    monkeypatch.setattr("sys.argv", ["serve_e2e.py", *words])
    return serve_e2e.main()


def test_kills_that_were_survived_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, killed = tmp_path / "kept.json", []

    def interrupted(job: Job) -> None:
        """Is interrupted."""
        for round_ in job.rounds():
            killed.append(round_.number)
            if len(killed) == 4:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(monkeypatch, interrupted, "--kills", "10", "--kept", str(kept))
    # The drive was not looked at after the last one.
    assert json.loads(kept.read_text()) == {"made-up": 3}
    assert run(monkeypatch, interrupted, "--kills", "10", "--kept", str(kept)) == 0
    assert len(killed) == 4 + 7
    assert json.loads(kept.read_text()) == {"made-up": 10}
    assert run(monkeypatch, interrupted, "--kills", "10", "--kept", str(kept)) == 0
    assert len(killed) == 4 + 7


def test_checks_side_by_side_are_counted_and_keep_their_kills(tmp_path: Path) -> None:
    tool = Path(serve_e2e.__file__)
    # Where nothing is installed, and nothing can be, each is skipped at once.
    environment = {"PATH": "/nowhere", "PYTHONPATH": str(tool.parent)}
    command = [sys.executable, str(tool), "--jobs", "3", "announced", "scripted", "copied", "virtual_machine"]
    done = subprocess.run(command, env=environment, text=True, capture_output=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 5, done.stdout
    assert all(line.startswith("skipped") for line in lines[:4])
    assert lines[4].startswith("0 passed, 0 failed, 4 skipped")
    # Two sessions that note their kills in one file.
    kept = tmp_path / "kept.json"
    one, other = serve_e2e.Kept(kept), serve_e2e.Kept(kept)
    for _ in range(3):
        one.note("ext4")
        other.note("xfs")
    assert json.loads(kept.read_text()) == {"ext4": 3, "xfs": 3}


def test_the_last_round_looks_at_everything() -> None:
    job = Job("made-up", Path(), 25, 2, lambda: None)
    assert [round_.number for round_ in job.rounds() if round_.looks_at_all] == [19, 22]
    assert job.chance.random() != Job("made-up", Path(), 25, 3, lambda: None).chance.random()


def test_what_fails_is_kept_and_what_is_lacking_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(job: Job) -> None:
        """Fails."""
        (job.folder / "drive.img").touch()
        raise AssertionError("a row is lost")

    def lacks(_job: Job) -> None:
        """Lacks something."""
        raise LackingError("no such program")

    assert run(monkeypatch, fails) == 1
    said = capsys.readouterr().out
    assert "a row is lost (kept: " in said
    folder = Path(said.partition("(kept: ")[2].partition(")")[0])
    assert [file.name for file in folder.iterdir()] == ["drive.img"]
    (folder / "drive.img").unlink()
    folder.rmdir()
    assert run(monkeypatch, lacks) == 0
    said = capsys.readouterr().out
    assert said.startswith("skipped")
    assert "no such program" in said


def test_a_program_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(machine, "_path", lambda: "/nowhere")
    with pytest.raises(LackingError, match="fio missing; there is no apt-get here to install fio with"):
        machine.need("fio")


@pytest.mark.parametrize(
    ("says", "signs"),
    [("LibreSSL 3.3.6", False), ("OpenSSL 1.1.1w  11 Sep 2023", False), ("OpenSSL 3.0.19", True)],
)
def test_the_guide_skips_certificates_that_openssl_cannot_sign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str, *, signs: bool
) -> None:
    fake = tmp_path / "openssl"
    fake.write_text(f"#!/bin/sh\n[ $1 = version ] && echo '{says}'\n", encoding="ascii")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    guide = serve_guide.Guide(tmp_path, small=True)
    try:
        for line in serve_guide.lines():
            if "certificates" in line or "new" in line.split()[1:2] or "cd .." in line:
                monkeypatch.setattr(guide, "serve", lambda *_: None)
                if not line.startswith("$ nbdinfo"):
                    guide.do(line[0], line[2:], [])
    except SystemExit:
        # A fake one makes none.
        assert signs
    else:
        assert not signs
        assert "new with certificates (needs OpenSSL 3)" in guide.skipped
        # What follows is done where it would have been.
        guide.shell.run(f"[ $PWD = {tmp_path} ]")
    finally:
        guide.shell.end()
