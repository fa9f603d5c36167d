"""The page of served drives, as it stands: its commands, and the encryption that it shows."""

from __future__ import annotations

import random
import shutil
import sys
from pathlib import Path

from e2e.drive import SMALL, Server
from e2e.job import Job
from e2e.machine import need, need_mounts, run


def encrypted(job: Job) -> None:
    """TLS with libnbd and qemu: copies in and out, and clients that are refused."""
    need("nbdinfo", "nbdcopy", "qemu-img")
    folder = job.folder
    certificates = folder / "certificates"
    certificates.mkdir()
    new = ("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "group:P-256", "-noenc", "-days", "9")
    authority = ("-CA", certificates / "ca-cert.pem", "-CAkey", certificates / "ca-key.pem")
    for name, signed in (("ca", ()), ("server", authority), ("client", authority)):
        leaf = ("-addext", "basicConstraints=critical,CA:FALSE") if signed else ()
        names = ("-subj", f"/CN={name}", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1")
        files = ("-keyout", certificates / f"{name}-key.pem", "-out", certificates / f"{name}-cert.pem")
        run(*new, *signed, *files, *leaf, *names)
    stranger = folder / "stranger"
    shutil.copytree(certificates, stranger)
    own = ("-keyout", stranger / "client-key.pem", "-out", stranger / "client-cert.pem")
    run(*new, *own, "-subj", "/CN=stranger")
    # Of a client that shows no certificate.
    nobody = folder / "nobody"
    nobody.mkdir()
    shutil.copy(certificates / "ca-cert.pem", nobody)

    here, back = folder / "here", folder / "back"
    here.write_bytes(random.Random(2).randbytes(60 << 20))
    tls = ("--host", "127.0.0.1", "--port", "0", "--tls", str(certificates))
    server = Server(folder / "drive.img", (*SMALL, *tls)).start()
    assert server.uri.startswith("nbds://127.0.0.1:"), server.uri
    port = server.uri.rsplit(":", 1)[1]
    at = f"nbds://localhost:{port}/?tls-certificates="
    said = run("nbdinfo", f"{at}{certificates}")
    # Without, it says so there, too.
    assert "with TLS" in said.splitlines()[0], said
    run("nbdcopy", "--flush", here, f"{at}{certificates}")
    run("nbdcopy", f"{at}{certificates}", back)
    assert here.read_bytes() == back.read_bytes()[: 60 << 20]
    for refused in (f"{at}{stranger}", f"{at}{nobody}", f"nbd://localhost:{port}"):
        run("nbdinfo", refused, codes=(1,))
    qemu = ("--object", f"tls-creds-x509,id=tls,endpoint=client,dir={certificates}", "--image-opts")
    drive = f"driver=nbd,host=localhost,port={port},tls-creds=tls"
    said = run("qemu-img", "info", *qemu, drive)
    assert "128 MiB" in said, said
    run("qemu-img", "convert", "-n", "-f", "raw", *qemu[:2], "--target-image-opts", here, drive)
    other = ("--object", f"tls-creds-x509,id=tls,endpoint=client,dir={stranger}", "--image-opts")
    run("qemu-img", "info", *other, drive, codes=(1,))
    run("qemu-img", "info", f"nbd://localhost:{port}", codes=(1,))
    server.end()


def guide(job: Job) -> None:
    """The commands of docs/serve.md, up to PostgreSQL on a TLC drive."""
    need("nbdfuse", "nbdinfo", "qemu-io", "fio", "mke2fs", "psql")
    need_mounts("ext4")
    job.folder.chmod(0o755)
    said = run(sys.executable, Path(__file__).parents[1] / "serve_guide.py", "--folder", job.folder)
    assert "skipped" not in said, said
