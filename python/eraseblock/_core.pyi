"""Types of the compiled engine; `eraseblock` is the public face of it."""

from collections.abc import Callable, Sequence

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

def identify(experiment_json: str, base: str, progress: Callable[[str, int, int], None] | None = None) -> str:
    """Say which record a resolved experiment will give, as JSON: `key`, and labels of its `trace`."""

def hopeless(experiment_json: str) -> str | None:
    """Why the run of a resolved experiment would take very long and say nothing but that, if it would."""

def run(
    experiment_json: str,
    base: str,
    verify: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
    events: str | None = None,
    share: bool = False,
    cache: bool = True,
) -> str:
    """Run one resolved experiment; what `progress(phase, done, total)` raises ends the run.

    Every decision of the buffer goes to the file `events`. With `share` other runs of this process can
    start from the same filled drive, which is kept for them; with `cache` other commands can, where
    filling it took long.
    """

def forget_filled() -> None:
    """Forget the filled drives that runs with `share` have kept for others."""

def trace_convert(
    experiment_json: str,
    base: str,
    out: str,
    options_json: str,
    progress: Callable[[str, int, int], None] | None = None,
) -> str:
    """Write the workload of a resolved experiment to a trace file; JSON about what became of it."""

def trace_info(
    experiment_json: str,
    base: str,
    page_size: str | None = None,
    sample: float | None = None,
    progress: Callable[[str, int, int], None] | None = None,
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

def image_serve(path: str, socket: str | None, port: int, sync: bool, ready: Callable[[str], None]) -> None:
    """Serve an image until SIGTERM or SIGINT comes; `ready(json)` is called when clients can come."""

def check_replaceable(path: str) -> None:
    """Refuse a path where something stands that is no regular file."""

def stand_in(name: str) -> str:
    """What a stand-in matches and cannot know, as JSON."""

def measure_stand_in(
    generator: tuple[str | None, tuple[str, str] | None, list[str]],
    progress: Callable[[str, int, int], None] | None = None,
) -> str:
    """The published statistics of a stand-in beside the generated ones, as JSON."""
