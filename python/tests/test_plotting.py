"""The plotting library is bundled once, and what is kept of it is used only where it is whole."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest
import vl_convert

from eraseblock.plotting import plotting_script


@pytest.fixture
def bundles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was bundled, instead of the library, by a user who has kept nothing yet."""
    asked: list[str] = []

    def bundle(snippet: str) -> str:
        asked.append(snippet)
        return f"{snippet}\r\n'</script>'"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return asked


def test_it_is_bundled_once_for_each_name(bundles: list[str]) -> None:
    first = plotting_script("plot")
    assert first == "window.plot = vegaEmbed;\r\n'<\\/script>'"
    assert plotting_script("plot") == first
    assert len(bundles) == 1
    assert plotting_script("other") != first
    assert plotting_script("plot") == first
    assert len(bundles) == 2


def test_what_is_broken_or_of_another_version_is_not_used(
    bundles: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = plotting_script("plot")
    [kept] = (tmp_path / "eraseblock").iterdir()
    whole = kept.read_bytes()
    for broken in (b"", whole[:-1], b"\xff" + whole, whole.replace(b"plot", b"trap")):
        kept.write_bytes(broken)
        assert plotting_script("plot") == first
        assert kept.read_bytes() == whole
    assert len(bundles) == 5
    monkeypatch.setattr(metadata, "version", lambda _: "0.0.1")
    assert plotting_script("plot") == first
    assert len(bundles) == 6


def test_it_needs_no_folder(bundles: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "eraseblock").write_text("mine", encoding="utf-8")
    assert plotting_script("plot") == plotting_script("plot")
    assert len(bundles) == 2
    assert (tmp_path / "eraseblock").read_text(encoding="utf-8") == "mine"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "nobody")
    assert plotting_script("plot") == plotting_script("plot")
    assert (tmp_path / "nobody/.cache/eraseblock/plotting-plot.js").is_file()
