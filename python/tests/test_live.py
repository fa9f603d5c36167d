"""The page of a drive that is being served, and its figures over HTTP, without a browser."""

from __future__ import annotations

import http.client
import json
import os
import signal
from pathlib import Path

import pytest
from conftest import Cli
from test_serve import DRIVE, Client, served

from eraseblock.live.page import build_live

pytestmark = pytest.mark.skipif(os.name != "posix", reason="images are served on POSIX")
CONFIG = {"buffer": {"scheme": {"kind": "hbm"}}, "ftl": {"mapping": "page"}}


def get(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def port_of(said: str) -> int:
    before, _, port = said.strip().removesuffix("/").rpartition(":")
    assert before == "what it does is at http://127.0.0.1"
    return int(port)


def test_the_page_needs_nothing_from_outside_and_escapes_names() -> None:
    page = build_live("<b>&.img", CONFIG)
    assert "&lt;b&gt;&amp;.img" in page
    assert "<b>hbm</b>" in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "https://" not in page


def test_a_server_shows_what_its_drive_does(tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    with served(image, *DRIVE, "--http") as (process, _):
        assert process.stdout is not None
        port = port_of(process.stdout.readline())
        with Client(Path(f"{image}.sock")) as client:
            client.ask(1, 0, data=bytes(8192))
            client.ask(3)
            status, metrics = get(port, "/metrics")
            assert status == 200
            assert 'eraseblock_requests_total{op="write"} 1\n' in metrics
            status, page = get(port, "/")
            assert (status, "drive.img" in page) == (200, True)
            standing = json.loads(get(port, "/standing.json")[1])
            assert standing["requests"]["completed"] == 2
            assert get(port, "/else")[0] == 404
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0


def test_ports_that_are_none_are_refused(cli: Cli, tmp_path: Path) -> None:
    run = cli("serve", "--image", str(tmp_path / "x"), *DRIVE, "--http", "70000")
    assert (run.returncode, "--http: found 70000, expected 0 to 65535" in run.stderr) == (2, True)
