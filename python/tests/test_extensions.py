"""Commands of other projects: found by entry points, imported when called, told of when they are absent."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from eraseblock.cli import extensions, main

MODULE = """\
from cyclopts import App

app = App(name="polish", help="Polish the platters.")


@app.default
def polish(times: int = 1) -> int:
    print("polished", times)
    return 0


def brushes(name=None, *, as_json=False):
    print("brush", name, as_json)
"""


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extensions, "entry_points", lambda group: ())  # noqa: ARG005


@pytest.fixture
def polish(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "polishing.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "polishing", raising=False)
    found = {
        extensions.COMMANDS: EntryPoint("polish", "polishing:app", extensions.COMMANDS),
        extensions.LISTS: EntryPoint("brushes", "polishing:brushes", extensions.LISTS),
    }
    monkeypatch.setattr(extensions, "entry_points", lambda group: (found[group],))


@pytest.mark.parametrize(
    "arguments", [["reproduce"], ["reproduce", "hbm", "--all", "-o", "x"], ["list", "papers"]]
)
@pytest.mark.usefixtures("nothing_installed")
def test_what_is_not_installed_says_how_to_get_it(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert "not installed" in said
    assert "pip install -e reproduction" in said


@pytest.mark.usefixtures("nothing_installed")
def test_the_help_names_it_all_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    assert "reproduce" in capsys.readouterr().out


@pytest.mark.usefixtures("polish")
def test_commands_of_other_projects_are_imported_when_they_are_called(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["schema"]) == 0
    assert "polishing" not in sys.modules
    capsys.readouterr()
    assert main(["polish", "--times", "3"]) == 0
    assert capsys.readouterr().out == "polished 3\n"
    assert main(["--help"]) == 0
    assert "Polish the platters." in capsys.readouterr().out


@pytest.mark.usefixtures("polish")
def test_kinds_of_other_projects_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "brushes", "fine", "--json"]) == 0
    assert capsys.readouterr().out == "brush fine True\n"
    assert main(["list", "brushs"]) == 2
    assert "`brushes`" in capsys.readouterr().err
