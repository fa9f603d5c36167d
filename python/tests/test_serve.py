"""Drives with real bytes from the command line: made, served, killed, ended, refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from conftest import COMMAND, Cli

pytestmark = pytest.mark.skipif(os.name != "posix", reason="images are served on POSIX")

DRIVE = (
    *("--device", "hbm-2010", "--set", "nand.blocks_per_plane=200", "--set", 'ftl.exported="16 MiB"'),
    *("--set", 'buffer.size="256 KiB"'),
)
# Certificates of an authority, and of a server and a client that it has signed; and of a stranger.
CERTIFICATES = Path(__file__).parents[2] / "crates/serve/tests/certificates"
STARTTLS = b"IHAVEOPT" + struct.pack(">II", 5, 0)


@contextmanager
def served(image: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server and what it says first; it is killed where it has not ended by then."""
    command = [COMMAND, "serve", "--image", str(image), *options]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline()
        finally:
            with suppress(ProcessLookupError):
                process.kill()


def port_of(said: str) -> int:
    """The port that a server says it listens on."""
    return int(said.rsplit(":", 1)[1])


def trusting(own: str | None) -> ssl.SSLContext:
    """TLS for a client that trusts the authority, and shows a certificate."""
    context = ssl.create_default_context(cafile=str(CERTIFICATES / "ca-cert.pem"))
    if own is not None:
        context.load_cert_chain(CERTIFICATES / f"{own}-cert.pem", CERTIFICATES / f"{own}-key.pem")
    return context


class Client:
    """The oldest way to speak NBD, by hand."""

    def __init__(self, at: Path | int, tls: ssl.SSLContext | None = None) -> None:
        self.socket = socket.socket(socket.AF_UNIX if isinstance(at, Path) else socket.AF_INET)
        self.socket.settimeout(60)
        try:
            self.size = self.choose(at, tls)
        except BaseException:
            self.socket.close()
            raise

    def choose(self, at: Path | int, tls: ssl.SSLContext | None) -> int:
        self.socket.connect(str(at) if isinstance(at, Path) else ("127.0.0.1", at))
        assert self.take(18)[:16] == b"NBDMAGICIHAVEOPT"
        self.socket.sendall(struct.pack(">I", 3))
        if tls is not None:
            self.socket.sendall(STARTTLS)
            assert struct.unpack(">QIII", self.take(20))[2] == 1, "the server has no TLS"
            self.socket = tls.wrap_socket(self.socket, server_hostname="localhost")
        self.socket.sendall(b"IHAVEOPT" + struct.pack(">II", 1, 0))
        size, _ = struct.unpack(">QH", self.take(10))
        return int(size)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def take(self, count: int) -> bytes:
        taken = b""
        while len(taken) < count:
            taken += (more := self.socket.recv(count - len(taken)))
            assert more, "the server has gone"
        return taken

    def ask(self, command: int, offset: int = 0, length: int = 0, data: bytes = b"") -> bytes:
        head = struct.pack(">IHHQQI", 0x25609513, 0, command, 7, offset, length or len(data))
        self.socket.sendall(head + data)
        magic, error, cookie = struct.unpack(">IIQ", self.take(16))
        assert (magic, error, cookie) == (0x67446698, 0, 7)
        return self.take(length) if command == 0 else b""


def test_a_drive_is_made_and_keeps_what_was_flushed_when_it_is_killed(cli: Cli, tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    with served(image, *DRIVE) as (process, said):
        assert said.startswith(f"serving {image} (16 MiB) at nbd+unix:///?socket={image}.sock")
        with Client(Path(f"{image}.sock")) as client:
            assert client.size == 16 << 20
            client.ask(1, 5000, data=b"kept" * 3000)
            client.ask(3)
            client.ask(1, 1 << 20, data=b"lost" * 1024)
            process.kill()
        assert process.wait() == -signal.SIGKILL
    assert "without an end" in cli("image", "info", str(image)).stdout
    assert cli("image", "check", str(image)).returncode == 0
    with served(image) as (process, said), Client(Path(f"{image}.sock")) as client:
        assert client.ask(0, 5000, 12_000) == b"kept" * 3000
        assert client.ask(0, 1 << 20, 4096) in (b"lost" * 1024, bytes(4096))
        client.ask(1, 0, data=b"never flushed")
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert not Path(f"{image}.sock").exists()
    found = json.loads(cli("image", "info", str(image), "--json").stdout)
    assert (found["state"]["clean"], found["state"]["opened"], found["exported"]) == (True, 2, 16 << 20)
    with served(image) as (process, _), Client(Path(f"{image}.sock")) as client:
        assert client.ask(0, 0, 13) == b"never flushed"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0


def test_what_contradicts_is_refused(cli: Cli, tmp_path: Path) -> None:
    image = tmp_path / "drive.img"

    def refused(*arguments: str) -> str:
        run = cli(*arguments)
        assert run.returncode == 2, run
        return run.stderr

    assert "no such image" in refused("serve", "--image", str(image))
    assert cli("image", "create", str(image), *DRIVE).stdout == f"{image}: a drive of 16 MiB\n"
    assert "exists already" in refused("image", "create", str(image), *DRIVE)
    other = refused("serve", "--image", str(image), *DRIVE, "--set", 'buffer.scheme="fab"')
    assert "another drive" in other
    assert "buffer.scheme" in other
    for option in (("--port", "1"), ("--host", "127.0.0.1")):
        assert "exclude each other" in refused("serve", "--image", str(image), "--socket", "a", *option)
    assert "--tls" in refused("serve", "--image", str(image), "--tls-any-client")
    assert "--host" in refused("serve", "--image", str(image), "--insecure")
    both = ("--host", "0.0.0.0", "--insecure", "--tls", str(tmp_path))
    assert "exclude each other" in refused("serve", "--image", str(image), *both)
    assert "expected 0 to 65535" in refused("serve", "--image", str(image), "--port", "70000")
    assert "--device or --config" in refused("image", "create", str(tmp_path / "x"))
    (tmp_path / "text").write_text("no image", encoding="utf-8")
    assert "no image" in refused("serve", "--image", str(tmp_path / "text"))
    battery = refused("image", "create", str(tmp_path / "y"), *DRIVE, "--set", "buffer.battery=true")
    assert "buffer.battery" in battery
    assert not (tmp_path / "y").exists()
    with served(image, *DRIVE):
        assert "in use" in refused("serve", "--image", str(image))
        sockets = ("--socket", str(tmp_path / "other"), "--control", str(tmp_path / "control"))
        other = refused("serve", "--image", str(image), *sockets)
        assert "another process has this image open" in other
        assert not (tmp_path / "other").exists()
        assert "another process" in refused("image", "check", str(image))


def test_a_damaged_image_is_refused_scrubbed_and_exported(tmp_path: Path, cli: Cli) -> None:
    image, raw = tmp_path / "drive.img", tmp_path / "drive.raw"
    full = ("--set", "precondition.state=full")
    assert cli("image", "create", str(image), *DRIVE, *full).returncode == 0
    assert cli("image", "scrub", str(image)).returncode == 0
    assert cli("image", "export", str(image), str(raw)).returncode == 0
    assert raw.read_bytes() == bytes(16 << 20)
    with image.open("r+b") as file:
        file.seek(56)
        records = int.from_bytes(file.read(8), "little")
        file.seek(records)
        file.write(b"damage")
    assert "image scrub" in cli("serve", "--image", str(image)).stderr
    assert "flash page 0" in cli("image", "check", str(image)).stdout
    scrubbed = cli("image", "scrub", str(image))
    assert scrubbed.returncode == 1
    assert "given up: flash page 0;" in scrubbed.stdout
    assert json.loads(cli("image", "scrub", str(image), "--json").stdout)["given_up"] == []
    assert cli("image", "check", str(image)).returncode == 0
    assert "exists already" in cli("image", "export", str(image), str(raw)).stderr


def test_other_machines_come_encrypted_or_where_that_is_said(cli: Cli, tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    at = ("--host", "0.0.0.0", "--port", "0")
    exposed = cli("serve", "--image", str(image), *DRIVE, *at)
    assert (exposed.returncode, exposed.stderr.count("\n")) == (2, 1)
    assert "0.0.0.0 can be reached from other machines" in exposed.stderr
    assert "--insecure" in exposed.stderr
    assert "server-cert.pem: " in cli("serve", "--image", str(image), *DRIVE, "--tls", str(tmp_path)).stderr
    assert not image.exists(), "nothing is made for a server that cannot be"
    with served(image, *DRIVE, *at, "--insecure") as (process, said):
        assert " at nbd://0.0.0.0:" in said
        with Client(port_of(said)) as client:
            client.ask(1, 0, data=b"in the clear")
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    with served(image, *at, "--tls", str(CERTIFICATES)) as (process, said):
        assert " at nbds://0.0.0.0:" in said
        with Client(port_of(said), trusting("client")) as client:
            assert client.ask(0, 0, 12) == b"in the clear"
        for own in (None, "stranger"):
            with pytest.raises((ssl.SSLError, ConnectionError), match=r"(?i)alert|reset"):
                Client(port_of(said), trusting(own))
        with pytest.raises(AssertionError, match="has gone"):
            Client(port_of(said))
    with served(image, "--tls", str(CERTIFICATES), "--tls-any-client") as (process, said):
        assert " at nbds+unix:" in said
        with Client(Path(f"{image}.sock"), trusting(None)) as client:
            assert client.ask(0, 0, 12) == b"in the clear"


def relayed(to: socket.socket, said: bytes, *options: str) -> str:
    """What `openssl s_client` says through a connection when it is told so much at its terminal."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{listener.getsockname()[1]}", *options]
        client = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        near, _ = listener.accept()

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while part := source.recv(65536):
                sink.sendall(part)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    pumps = [threading.Thread(target=pump, args=ends) for ends in ((near, to), (to, near))]
    for one in pumps:
        one.start()
    assert client.stdin is not None
    time.sleep(1)
    client.stdin.write(said)
    client.stdin.flush()
    # Its input stays open until it has heard what comes of it.
    time.sleep(2)
    answer = client.communicate(timeout=60)[0].decode(errors="replace")
    for one in pumps:
        one.join()
    near.close()
    return answer


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_a_client_that_wants_to_negotiate_tls_again_is_refused(cli: Cli, tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    assert cli("image", "create", str(image), *DRIVE).returncode == 0
    options = ("--port", "0", "--tls", str(CERTIFICATES), "--tls-any-client")
    with served(image, *options) as (_, said), Client(port_of(said), trusting(None)) as other:
        rude = socket.create_connection(("127.0.0.1", port_of(said)))
        assert rude.recv(18, socket.MSG_WAITALL).startswith(b"NBDMAGIC")
        rude.sendall(struct.pack(">I", 3) + STARTTLS)
        rude.recv(20, socket.MSG_WAITALL)
        answer = relayed(rude, b"R\n", "-tls1_2")
        assert "RENEGOTIATING" in answer
        assert "no renegotiation" in answer, answer[-2000:]
        rude.close()
        other.ask(1, 0, data=b"served all the time")
        assert other.ask(0, 0, 19) == b"served all the time"


@pytest.mark.skipif(shutil.which("nbdcopy") is None, reason="needs nbdcopy (apt-get install libnbd-bin)")
def test_a_real_client_copies_in_and_out(tmp_path: Path) -> None:
    image, here, back = tmp_path / "drive.img", tmp_path / "here", tmp_path / "back"
    here.write_bytes(os.urandom(16 << 20))
    with served(image, *DRIVE, "--port", "0") as (process, said):
        address = said.split(" at ")[1].strip()
        assert address.startswith("nbd://127.0.0.1:")
        subprocess.run(["nbdcopy", "--flush", str(here), address], check=True, timeout=60)
        process.kill()
    with served(image, "--socket", str(tmp_path / "s")) as (process, said):
        subprocess.run(["nbdcopy", said.split(" at ")[1].strip(), str(back)], check=True, timeout=60)
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert here.read_bytes() == back.read_bytes()


def test_a_recording_gives_the_same_flash_operations_in_the_simulation(cli: Cli, tmp_path: Path) -> None:
    image, trace, report = tmp_path / "drive.img", tmp_path / "day.ebt", tmp_path / "served.json"
    drive = tmp_path / "drive.toml"
    drive.write_text(
        'preset = "hbm-2010"\n[workload]\npath = "day.ebt"\n[nand]\nblocks_per_plane = 200\n'
        '[ftl]\nexported = "16 MiB"\n[buffer]\nsize = "256 KiB"\n[precondition]\nstate = "empty"\n',
        encoding="utf-8",
    )
    options = ("--config", str(drive), "--pace", "--record", str(trace), "--report", str(report))
    with served(image, *options) as (process, _), Client(Path(f"{image}.sock")) as client:
        for number in range(40):
            client.ask(1, number % 7 * 70_000, data=b"x" * (number * 999 % 60_000 + 1))
            client.ask(0, number * 50_000, 4096)
        process.send_signal(signal.SIGTERM)
        said = process.communicate()[0]
        assert process.wait() == 0
    assert f"81 requests are in {trace}\n" in said
    assert "answers were late by" in said
    found = json.loads(report.read_text(encoding="utf-8"))
    [replayed] = json.loads(cli("run", str(drive), "--json").stdout)
    for part in ("flash", "requests", "response_ns"):
        assert found["drive"][part] == replayed[part]
    again = cli("serve", "--image", str(image), "--record", str(trace))
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    other = cli("serve", "--image", str(image), "--record", str(tmp_path / "day.blkparse"))
    assert (other.returncode, "trace convert" in other.stderr) == (2, True)


@pytest.mark.parametrize("asked", [True, False])
def test_a_server_says_whether_it_has_real_time_priority(cli: Cli, tmp_path: Path, asked: bool) -> None:
    image = tmp_path / "drive.img"
    options = ("--pace",) if asked else ("--pace", "--no-real-time")
    with served(image, *DRIVE, *options) as (process, _):
        assert process.stdout is not None
        said = process.stdout.readline().removeprefix("answers come when the drive would give them, ")
        assert f"priority  {said}" in cli("ctl", f"{image}.ctl", "stats").stdout
    if asked:
        assert said == "with real-time priority\n" or "CAP_SYS_NICE allows it)" in said
    else:
        assert said == "without real-time priority (it has not been asked for)\n"
        refused = cli("serve", "--image", str(image), "--no-real-time")
        assert (refused.returncode, "add --pace" in refused.stderr) == (2, True)


def test_a_server_takes_orders(cli: Cli, tmp_path: Path) -> None:
    image, copy = tmp_path / "drive.img", tmp_path / "copy.img"
    control = f"{image}.ctl"
    with served(image, *DRIVE) as (process, _), Client(Path(f"{image}.sock")) as client:
        client.ask(1, 0, data=b"flushed")
        assert cli("ctl", control, "flush").returncode == 0
        assert "for NBD clients" in cli("ctl", f"{image}.sock", "stats").stderr
        client.ask(1, 1 << 20, data=b"lost" * 1024)
        assert "flash " in cli("ctl", control, "stats").stdout
        assert json.loads(cli("ctl", control, "stats", "--json").stdout)["buffered_pages"] >= 1
        assert cli("ctl", control, "snapshot", str(copy)).stdout == f"{copy}: a copy of the drive\n"
        client.ask(1, 1 << 20, data=b"gone" * 1024)
        said = cli("ctl", control, "power-cut").stdout
        assert "power was cut: 0 requests were under way" in said
        assert " 2 pages were in RAM alone and are lost;" in said
        assert client.ask(0, 1 << 20, 4096) == b"lost" * 1024
        assert "snapshot needs" in cli("ctl", control, "snapshot").stderr
        assert "takes no file" in cli("ctl", control, "flush", "x").stderr
        assert "expected one of" in cli("ctl", control, "cut").stderr
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    assert cli("image", "check", str(copy)).returncode == 0
    gone = cli("ctl", control, "stats")
    assert (gone.returncode, "is a server running?" in gone.stderr) == (2, True)


def write_on(client: Client) -> None:
    """Write the drive over and over, far beyond its life."""
    for turn in range(200):
        client.ask(1, turn % 16 << 20, data=bytes([turn + 1]) * (1 << 20))


def test_a_report_takes_the_place_of_nothing_else(cli: Cli, tmp_path: Path) -> None:
    image, trace, notes = tmp_path / "drive.img", tmp_path / "day.ebt", tmp_path / "notes.txt"
    notes.write_text("precious", encoding="utf-8")
    assert cli("image", "create", str(image), *DRIVE).returncode == 0
    before = image.read_bytes()
    link, other = tmp_path / "link.json", tmp_path / "other.json"
    link.symlink_to(image)
    other.hardlink_to(image)
    refused = {
        str(image): "is the file of --image",
        str(link): "neither followed nor replaced",
        str(other): "is the file of --image",
        str(trace): "is the file of --record",
        str(notes): "no report of a server",
        str(tmp_path / "none" / "r.json"): "no such folder",
    }
    for report, why in refused.items():
        done = cli("serve", "--image", str(image), "--record", str(trace), "--report", report)
        assert (done.returncode, why in done.stderr) == (2, True), (report, done.stderr)
    assert (image.read_bytes(), notes.read_text(encoding="utf-8")) == (before, "precious")


def test_a_report_may_follow_another(tmp_path: Path) -> None:
    image, report = tmp_path / "a drive, 50%.img", tmp_path / "report.json"
    for options in (DRIVE, ()):
        with served(image, *options, "--report", str(report)) as (process, said):
            # As clients read it, whatever is in the name.
            assert said.strip().endswith("a%20drive%2C%2050%25.img.sock")
            process.send_signal(signal.SIGTERM)
            assert process.wait() == 0
        assert json.loads(report.read_text(encoding="utf-8"))["failed"] is None


def test_a_report_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    report = folder / "report.json"
    with served(tmp_path / "drive.img", *DRIVE, "--report", str(report)) as (process, _):
        folder.rmdir()
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate()
        assert process.returncode == 1
    assert err == f"eraseblock: there is no report: {report}: no such file or directory\n"
    folder.mkdir()
    trace = tmp_path / "day.ebt"
    options = ("--report", str(report), "--record", str(trace))
    with served(tmp_path / "drive.img", *options) as (process, _):
        report.mkdir()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
        assert process.returncode == 1
    assert f"there is no report: {report}: is a folder" in err
    assert f"requests are in {trace}" in out, "the rest is told all the same"


def has_nameless_files(folder: Path) -> bool:
    """Whether the file system has such files: those of Linux mostly have."""
    with suppress(AttributeError, OSError):
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
        return True
    return False


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_image_that_is_interrupted_leaves_nothing(tmp_path: Path, how: signal.Signals) -> None:
    if not has_nameless_files(tmp_path):
        pytest.skip("the file system has no files without a name")
    words = ("image", "create", str(tmp_path / "drive.img"), "--device", "hbm-2010")
    command = [COMMAND, *words, "--set", "precondition.state=full"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:

        def is_under_way() -> bool:
            assert process.poll() is None, "it has ended before it was interrupted"
            # A handle may be closed while it is looked at.
            with suppress(FileNotFoundError):
                handles = Path(f"/proc/{process.pid}/fd").iterdir()
                inside = [one for one in handles if str(one.readlink()).startswith(f"{tmp_path}/")]
                return any(one.stat().st_size > 0 for one in inside)
            return False

        try:
            while not is_under_way():
                time.sleep(0.01)
            process.send_signal(how)
            process.communicate()
        finally:
            process.kill()
    assert process.returncode != 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", ".", "/"])
def test_an_image_is_a_file(cli: Cli, name: str) -> None:
    refused = cli("serve", "--image", name, *DRIVE)
    assert (refused.returncode, "expected the name of a file" in refused.stderr) == (2, True)


def test_a_pipe_is_no_image(cli: Cli, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for command in (("image", "info", str(tmp_path / "pipe")), ("serve", "--image", str(tmp_path / "pipe"))):
        refused = cli(*command)
        assert (refused.returncode, "no regular file" in refused.stderr) == (2, True)


def test_a_drive_that_has_failed_says_what_it_has_done(cli: Cli, tmp_path: Path) -> None:
    image, report, trace = tmp_path / "drive.img", tmp_path / "report.json", tmp_path / "day.ebt"
    drive = (*DRIVE, "--set", "nand.endurance=1", "--report", str(report), "--record", str(trace))
    with served(image, *drive) as (process, _), Client(Path(f"{image}.sock")) as client:
        with pytest.raises(AssertionError, match="assert"):
            write_on(client)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate()
        assert process.wait() == 1
        assert "the drive has failed, and can only be read" in err
        assert f"requests are in {trace}" in out
    assert cli("trace", "info", str(trace)).returncode == 0
    found = json.loads(report.read_text(encoding="utf-8"))
    assert found["failed"]
    assert found["drive"]["requests"]["completed"] > 16


def test_a_simulation_begins_with_what_a_server_has_left(cli: Cli, tmp_path: Path) -> None:
    image = tmp_path / "drive.img"
    with served(image, *DRIVE) as (process, _), Client(Path(f"{image}.sock")) as client:
        client.ask(1, 0, data=b"kept" * (1 << 18))
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    before = image.read_bytes()
    (tmp_path / "reads.csv").write_text("0,0,1048576,r,0\n", encoding="utf-8")
    compare = ("compare", "reads.csv", "--format", "spc", *DRIVE, "--buffers", "none", "--json")

    def reads(*sets: str) -> tuple[int, str]:
        run = cli(*compare, *(part for one in sets for part in ("--set", one)))
        assert run.returncode == 0, run
        [record] = json.loads(run.stdout)
        return record["flash"]["reads"]["total"], record["key"]

    empty, _ = reads('precondition.state="empty"')
    begun = ('precondition.state="image"', 'precondition.image="drive.img"')
    found, key = reads(*begun)
    assert (empty, found) == (0, (1 << 20) // 2048)
    assert image.read_bytes() == before
    # It goes by what is in the image, whatever that is called.
    image.rename(tmp_path / "other.img")
    assert reads(begun[0], 'precondition.image="other.img"') == (found, key)
    for sets, why in (
        (begun, "No such file"),
        ((*begun[:1], 'precondition.image="other.img"', "nand.timing.erase=1ms"), "nand.timing.erase is"),
        (begun[:1], "needs the name of the file"),
    ):
        run = cli(*compare, *(part for one in sets for part in ("--set", one)))
        assert run.returncode == 2, run
        assert why in run.stderr, run.stderr


def test_the_page_of_served_drives_runs() -> None:
    tool = Path(__file__).parents[2] / "tools" / "serve_guide.py"
    done = subprocess.run(
        [sys.executable, str(tool), "--small"], text=True, capture_output=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ran = [line.split(" --set")[0] for line in done.stdout.splitlines() if line.startswith("eraseblock ")]
    assert len(ran) > 14, done.stdout
