"""Types of the compiled engine; `eraseblock` is the public face of it."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypedDict

class EraseblockError(Exception):
    """Base of everything that eraseblock raises."""

class ConfigError(EraseblockError):
    """A wrong key or value in an experiment; what the engine says of one has parts."""

    place: str | None
    """Where it was written: `file:line`, or `--set key=value`."""
    key: str | None
    """Path of the key that is wrong."""
    message: str | None
    """What was found, expected and perhaps meant."""
    meant: str | None
    """The nearest right key or name."""

class InputError(EraseblockError):
    """A trace or a combination that cannot be run."""

class SimulationError(EraseblockError):
    """A run that failed on the way."""

def version() -> str:
    """Version of the engine."""

def engine() -> str:
    """Version and source hash of the engine: builds with the same one give the same records."""

def end_after_signal(signals: Sequence[int], grace_s: float, last_words: str) -> int:
    """Make a pipe for `signal.set_wakeup_fd`; `grace_s` after one of `signals` the process ends."""

def registry() -> str:
    """Everything that has a name (buffers, FTLs, devices, formats, generators, stand-ins), as JSON."""

def examples(name: str) -> str:
    """The examples of a buffer scheme, played step by step, as JSON; null where there is no such scheme."""

def schema() -> str:
    """JSON Schema of an experiment file."""

def resolve(toml_text: str | None, file_name: str, sets: list[str]) -> list[str]:
    """Read an experiment and expand its axes; one JSON text per run, every key explicit."""

def identify(
    experiment_json: str,
    base: str,
    progress: Callable[[str, int, int], None] | None = None,
    given: Requests | None = None,
) -> str:
    """Say which record a resolved experiment will give, as JSON: `key`, and labels of its `trace`."""

def volumes(
    experiment_json: str,
    base: str,
    progress: Callable[[str, int, int], None] | None = None,
    given: Requests | None = None,
) -> list[int]:
    """The volumes of which a resolved experiment wants a run each, in the order of the runs; or none."""

def forget_volumes() -> None:
    """Forget the traces whose volumes are kept apart."""

def hopeless(
    experiment_json: str, scheme: Callable[[int, int, int], dict[str, Any]] | None = None
) -> str | None:
    """Why the run of a resolved experiment would take very long and say nothing but that, if it would."""

def spare_share(experiment_json: str) -> float:
    """Spare flash / what the host sees of the drive of a resolved experiment."""

def run(
    experiment_json: str,
    base: str,
    verify: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    events: str | None = None,
    share: bool = False,
    cache: bool = True,
    given: Requests | None = None,
    scheme: Callable[[int, int, int], dict[str, Any]] | None = None,
    alone: bool = False,
) -> str:
    """Run one resolved experiment; what `progress(phase, done, total)` raises ends the run.

    `alone`: no other run is going to read the workload.

    `given` are the requests that it has the hash of, and `scheme(capacity, pages_per_block, logical_pages)`
    gives the methods of the buffer scheme of that kind. Every decision of the buffer goes to the file
    `events`. With `share` other runs of this process can start from the same filled drive, which is kept for
    them; with `cache` other commands can, where filling it took long.
    """

def forget_filled() -> None:
    """Forget the filled drives that runs with `share` have kept for others."""

def trace_convert(
    experiment_json: str,
    base: str,
    out: str,
    options_json: str,
    progress: Callable[[str, int, int], None] | None = None,
    given: Requests | None = None,
) -> str:
    """Write the workload of a resolved experiment to a trace file; JSON about what became of it."""

def trace_info(
    experiment_json: str,
    base: str,
    page_size: str | None = None,
    sample: float | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    given: Requests | None = None,
) -> str:
    """Characterise the workload of a resolved experiment, as JSON; what `progress` raises ends it."""

def generate_trace(
    generator: tuple[str | None, tuple[str, str] | None, list[str]],
    output: str,
    format: str | None = None,  # noqa: A002
    overwrite: bool = False,
    lossy: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> str:
    """Write the trace of a generator (name, spec file, sets); what was written comes back as JSON."""

def image_create(path: str, experiment_json: str) -> None:
    """Make an image of the drive of a resolved experiment."""

def image_is(path: str, experiment_json: str) -> None:
    """Refuse an image that holds another drive than that of a resolved experiment."""

def image_info(path: str) -> str:
    """What is in an image, as JSON."""

def image_check(path: str) -> str:
    """What a comparison of everything in an image has found, as JSON."""

def image_scrub(path: str) -> str:
    """Mend what can be mended in an image, and give up what cannot; what was done, as JSON."""

def image_export(path: str, to: str) -> None:
    """Write what the host sees of an image to a new file."""

class ServeOptions(TypedDict):
    """How an image is served."""

    # A Unix socket; without one a port of this machine, at an address or name of its own.
    socket: str | None
    host: str | None
    port: int
    # The folder of the certificates, and whether clients need one.
    tls: tuple[str, bool] | None
    insecure: bool
    sync: bool
    pace: bool
    # The thread that answers in time asks for real-time priority.
    real_time: bool
    record: str | None
    control: str | None
    # A port of this machine (0: any that is free), and the page that stands there.
    http: tuple[int, str] | None

def image_serve(
    path: str, options: ServeOptions, prepare: Callable[[], None], ready: Callable[[str], None]
) -> str | None:
    """Serve an image until SIGTERM or SIGINT comes.

    `prepare()` is called when nobody else can listen there, before the image is opened; `ready(json)` when
    clients can come. What the server has done comes back as JSON.
    """

def check_replaceable(path: str) -> None:
    """Refuse a path where something stands that is no regular file."""

def stand_in(name: str) -> str:
    """What a stand-in matches and cannot know, as JSON."""

def measure_stand_in(
    generator: tuple[str | None, tuple[str, str] | None, list[str]],
    progress: Callable[[str, int, int], None] | None = None,
) -> str:
    """The published statistics of a stand-in beside the generated ones, as JSON."""

class Requests:
    """Requests in order of time, known by the hash of their content."""

    sha256: str
    """Of all that is in them."""

    def __new__(cls, at: Any, op: Any, address: Any, size: Any, fua: Any, volume: Any) -> Requests:
        """Columns of one length: ns, codes, bytes twice, flags, volumes.

        They are uint64, uint8, uint64, uint64, uint8 and uint32.
        """

    def __len__(self) -> int: ...
    def pack(self) -> bytes:
        """All of them, to go to another process."""

    @staticmethod
    def unpack(data: bytes) -> Requests:
        """What `pack` gave."""

class Leave:
    """Pages that leave a buffer together: why, and how.

    `how` is "write" (dirty pages are written, in this order, and clean ones forgotten), "pad" (the missing
    pages of their block are read first, and the whole block is written), "complete" (the same, but for pages
    that were never written), or "keep" (dirty pages are written, and stay, clean).
    """

    def __new__(
        cls,
        pages: Iterable[int],
        reason: str,
        how: Literal["write", "pad", "complete", "keep"] = "write",
    ) -> Leave: ...

class Request:
    """A request that was put to a device."""

    number: int
    """Its number, from 0."""
    at: int
    """When it came by the device's clock, in ns."""
    done: bool
    """Whether it has been answered by the time of that clock."""
    response: int | None
    """How long that took, in ns; None until then, and in an untimed run."""

class Device:
    """A drive that is driven from outside; `eraseblock.Device` is the public face of it."""

    clock: int
    """The host's time, in ns."""
    exported_bytes: int
    """Bytes that the host sees."""
    page_bytes: int
    """Bytes of a page."""

    def __new__(
        cls,
        experiment_json: str,
        verify: bool = False,
        cache: bool = True,
        progress: Callable[[str, int, int], None] | None = None,
        scheme: Callable[[int, int, int], dict[str, Any]] | None = None,
    ) -> Device: ...
    def put(self, op: str, at: int | None, offset: int, len: int, fua: bool) -> Request:  # noqa: A002
        """Put a request to the drive, at a time of the clock in ns or now."""

    def run(
        self,
        experiment_json: str,
        base: str,
        given: Requests | None = None,
        progress: Callable[[str, int, int], None] | None = None,
    ) -> int:
        """Put all requests of the workload of a resolved experiment; says how many there were."""

    def advance(self, until: int) -> None:
        """Let the clock go on to a time, in ns."""

    def drain(self) -> None:
        """Wait for all answers."""

    def stats(self) -> str:
        """What has been counted so far, as JSON."""

    def record(self) -> str:
        """End the run; its record, as JSON."""
