"""What lets real programs at a served drive: it goes on where it was interrupted, and says what it lacks."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import serve_e2e
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
