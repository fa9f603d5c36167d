"""What stands where a file is written: regular files are replaced, and those of others are left alone."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from conftest import SMALL_SETS, Cli
from test_cli_errors import assert_one_line

import eraseblock
from eraseblock import _core
from eraseblock.results.files import replace_file
from eraseblock.results.ownership import NAMES
from eraseblock.results.record import Record
from eraseblock.results.store import make_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="special files are those of POSIX")


def special(folder: Path, suffix: str) -> list[Path]:
    """A link, a broken link, a pipe, a folder and, where that is allowed, a device like /dev/full."""
    (folder / "mine").write_text("mine", encoding="utf-8")
    found = [folder / f"{name}{suffix}" for name in ("link", "broken", "pipe", "folder")]
    found[0].symlink_to("mine")
    found[1].symlink_to("nowhere")
    os.mkfifo(found[2])
    found[3].mkdir()
    device = folder / f"full{suffix}"
    try:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 7))
    except PermissionError:
        return found
    return [*found, device]


def kinds(paths: list[Path]) -> list[int]:
    return [stat.S_IFMT(path.lstat().st_mode) for path in paths]


@pytest.mark.parametrize("command", ["generate", "convert"])
def test_force_replaces_regular_files_alone(cli: Cli, trace: Path, tmp_path: Path, command: str) -> None:
    paths = special(tmp_path, ".ebt")
    before = kinds(paths)
    for path in paths:
        if command == "generate":
            run = cli("trace", "generate", "zipf", "--requests", "10", "-o", path, "--force")
        else:
            run = cli("trace", "convert", trace, path, "--force")
        assert_one_line(run, 2, path.name, "is a ")
    assert kinds(paths) == before
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"
    assert not (tmp_path / "nowhere").exists()
    plain = tmp_path / "plain.ebt"
    plain.write_text("mine", encoding="utf-8")
    assert cli("trace", "convert", trace, plain, "--force").returncode == 0
    assert plain.read_bytes() != b"mine"


def test_a_trace_may_go_to_stdout(process: Cli, trace: Path) -> None:
    run = process("trace", "convert", trace, "/dev/stdout", "--to", "spc")
    assert run.returncode == 0
    assert run.stdout.count("\n") == 2000
    assert run.stdout.startswith("0,")
    assert "2,000 requests" in run.stderr
    run = process("trace", "generate", "zipf", "--requests", "10", "-o", "/dev/stdout", "--to", "spc")
    assert run.stdout.count("\n") == 10
    assert "10 requests as spc" in run.stderr
    assert process("trace", "convert", trace, "/dev/null", "--to", "spc").returncode == 0
    assert stat.S_ISCHR(Path("/dev/null").lstat().st_mode)


def test_pictures_and_pages_go_to_regular_files(cli: Cli, trace: Path, tmp_path: Path) -> None:
    for path in special(tmp_path, ".svg"):
        before = kinds([path])
        assert_one_line(cli("trace", "info", trace, "--plot", path), 2, path.name, "is a ")
        assert_one_line(cli("reproduce", "hbm", "table1.1", "--page", path), 2, path.name, "is a ")
        with pytest.raises(_core.EraseblockError, match="is a "):
            replace_file(path, [b"new"])
        assert kinds([path]) == before
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"
    assert not list(tmp_path.glob("*.part"))


def test_the_log_of_events_follows_no_link(cli: Cli, trace: Path, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").symlink_to("elsewhere.jsonl")
    run = cli("compare", trace, *SMALL_SETS, "--buffers", "lru", "--events", "log.jsonl")
    assert_one_line(run, 2, "log.jsonl: is a symbolic link to elsewhere.jsonl")
    assert not (tmp_path / "elsewhere.jsonl").exists()


def test_a_full_disk_is_told_with_the_name_of_the_picture(cli: Cli, trace: Path, tmp_path: Path) -> None:
    # A file system of one page, where that is allowed.
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4k", "none", disk], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("only root may mount a file system")
    try:
        run = cli("trace", "info", trace, "--plot", disk / "a.svg")
        assert run.returncode == 1
        assert run.stderr == f"eraseblock: {disk}/a.svg: no space left on device\n"
        assert not list(disk.iterdir())
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("name", NAMES)
def test_files_of_the_names_of_ours_are_looked_at(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(eraseblock.InputError, match=f"holds a {name} that eraseblock did not write"):
        make_folder(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_files_of_others_are_not_replaced(
    cli: Cli, trace: Path, records: list[Record], results_folder: Path, tmp_path: Path
) -> None:
    name = "report.html"
    theirs = tmp_path / "theirs" / name
    theirs.parent.mkdir()
    theirs.write_text("<!doctype html><title>mine</title>", encoding="utf-8")
    said = ("theirs", f"holds a {name} that eraseblock did not write", "name another folder")
    assert_one_line(cli("compare", trace, *SMALL_SETS, "--buffers", "lru", "-o", "theirs"), 2, *said)
    assert_one_line(cli("reproduce", "hbm", "table1.1", "-o", "theirs"), 2, *said)
    assert_one_line(cli("report", results_folder, "-o", "theirs"), 2, *said)
    with pytest.raises(eraseblock.InputError, match="did not write"):
        eraseblock.save_results(records, theirs.parent)
    assert [path.name for path in theirs.parent.iterdir()] == [name]
    assert theirs.read_text(encoding="utf-8") == "<!doctype html><title>mine</title>"


def test_our_own_folders_are_used_again(cli: Cli, trace: Path, records: list[Record], tmp_path: Path) -> None:
    for _ in range(2):
        run = cli("compare", trace, *SMALL_SETS, "--buffers", "lru", "-o", "swept")
        assert run.returncode == 0, run.stderr
    eraseblock.save_results(records[:1], tmp_path / "saved")
    (tmp_path / "saved/report.html").unlink()
    eraseblock.save_results(records[:1], tmp_path / "saved")
    for _ in range(2):
        assert cli("report", "saved", "-o", "both").returncode == 0
    # A folder with nothing of these names is anybody's.
    (tmp_path / "free").mkdir()
    (tmp_path / "free/notes.txt").write_text("mine", encoding="utf-8")
    assert cli("report", "saved", "-o", "free").returncode == 0
