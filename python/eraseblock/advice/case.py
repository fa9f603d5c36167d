"""What is asked about: a trace and a drive. Makes runs, and says which plain commands make the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eraseblock import _core
from eraseblock.comparison import Comparison, command_line, experiments_of
from eraseblock.experiments import NULL, Config, Experiment, texts_of
from eraseblock.names import check
from eraseblock.overrides import refuse_both, said_by
from eraseblock.profile.gather import characterise, plan
from eraseblock.results.advice import advice_of
from eraseblock.results.contest import Design
from eraseblock.results.record import Record
from eraseblock.results.view import Row, rows_of
from eraseblock.results.wording import listed
from eraseblock.running import Caller, Handling, finished
from eraseblock.sweeps import Outcome, split_errors

# Write amplification that is asked for, unless told otherwise.
WAF = 2.0
# Of so few erases it is chance in which blocks they were.
_FEW = 30


@dataclass(frozen=True)
class Wish:
    """What the caller wants to know it of."""

    trace: str
    device: str
    # Keys of the workload, such as `fit`.
    workload: Mapping[str, Any]
    sets: Sequence[str] = ()
    # The most write amplification that will do.
    waf: float = WAF
    # Programs and erases that a block endures; None: what the drive says.
    endurance: int | None = None


@dataclass
class Case:
    """Makes the runs of all questions about one wish."""

    wish: Wish
    handling: Handling
    caller: Caller
    # All that have been asked for so far.
    experiments: list[Experiment] = field(default_factory=list)
    # What several questions need, by name.
    memory: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wish = self.wish
        check([wish.device], "devices", "--device")
        if not 0 < wish.waf < 1000:
            raise _core.ConfigError(f"--waf: found {wish.waf:g}, expected a number above 0 and below 1,000")
        if wish.endurance is not None and not 0 < wish.endurance < 1 << 31:
            raise _core.ConfigError(f"--endurance: found {wish.endurance}, expected 1 or more erases")
        if wish.endurance is not None:
            refuse_both({"nand.endurance": wish.endurance}, wish.sets, {"nand.endurance": "--endurance"})

    @property
    def trace_name(self) -> str:
        """The trace without its folders."""
        return Path(self.wish.trace).name

    @property
    def sets(self) -> list[str]:
        """What the caller has set, each key of a table for itself: a question may set another one of them."""
        found = []
        for text in self.wish.sets:
            key, value = said_by(text)
            whole = "." not in key and isinstance(value, dict)
            found += texts_of({f"{key}.{name}": one for name, one in value.items()}) if whole else [text]
        return found

    def profile(self) -> dict[str, Any]:
        """What the trace is like; read once for all questions."""
        if "profile" not in self.memory:
            wish = self.wish
            table = {key: value for key, value in wish.workload.items() if key != "fit"}
            sets = [
                one for one in self.sets if _is_of(one, ["workload"]) and not _is_of(one, ["workload.fit"])
            ]
            [one] = plan([wish.trace], workload=table, sets=sets)
            self.memory["profile"] = characterise(one)
        found: dict[str, Any] = self.memory["profile"]
        return found

    def scheme(self) -> str:
        """The buffer scheme of the drive."""
        scheme = self.config()["buffer"]["scheme"]
        return str(scheme["kind"] if isinstance(scheme, dict) else scheme)

    def config(self) -> Config:
        """The drive as it is, under the workload.

        Raises:
            ConfigError: a key or a value that is none, or a list of values, which would be several drives.
        """
        if "config" not in self.memory:
            wish = self.wish
            given = {f"workload.{key}": value for key, value in wish.workload.items()}
            whole = {"name": "advise", "preset": wish.device}
            found = experiments_of("advise", whole, [wish.trace], given, wish.sets)
            if len(found) != 1:
                lists = [f"--set {one}" for one in wish.sets if one.partition("=")[2].strip().startswith("[")]
                raise _core.ConfigError(
                    f"{', '.join(lists) or 'advise'}: a list is an axis, of {len(found)} drives or workloads "
                    "here, and this looks at one; name one value"
                )
            self.memory["config"] = found[0].config
        config: Config = self.memory["config"]
        return config

    def runs(
        self,
        *,
        buffers: Sequence[str] = (),
        sizes: Sequence[str] = (),
        ftls: Sequence[str] = (),
        sets: Mapping[str, Any] | None = None,
        fit: str | None = None,
        keep: bool = True,
        may_refuse: bool = False,
    ) -> tuple[list[Row], str]:
        """Run a comparison; its rows, in order, and the command that makes them.

        What is not to be kept is no part of the results, only on the way to them. Where all may be refused,
        there are then no rows.

        Raises:
            EraseblockError: a run failed, or none could be built.
        """
        comparison = self.comparison(buffers=buffers, sizes=sizes, ftls=ftls, sets=sets, fit=fit)
        experiments, _ = comparison.without_hopeless()
        self.experiments += experiments if keep else []
        with finished(experiments, self.handling, self.caller) as done:
            failures, refusals = split_errors(done.outcomes)
        if may_refuse:
            # The trace has been read before: what cannot be built is no fault of it.
            failures = [one for one in failures if not isinstance(one.error, _core.InputError)]
        broken = failures or ([] if done.records or may_refuse else refusals)
        for outcome in broken:
            if outcome.error is not None:
                raise outcome.error
        return rows_of(done.records), command_line(comparison)

    def comparison(
        self,
        *,
        buffers: Sequence[str],
        sizes: Sequence[str] = (),
        ftls: Sequence[str] = (),
        sets: Mapping[str, Any] | None = None,
        fit: str | None = None,
    ) -> Comparison:
        """What is compared, of the wish and what a question sets.

        Each setting once: what a question sets goes before what the caller has set of the same key, which is
        about the drive as it is. The drive's own scheme and mapping keep the options that the caller has set.
        """
        wish, ours = self.wish, sets or {}
        covered = ["buffer.scheme", *ours, *(["buffer.size"] if sizes else [])]
        covered += [*(["ftl.mapping"] if ftls else []), *(["workload.fit"] if fit is not None else [])]
        theirs = [text for text in self.sets if not _is_of(text, covered)]
        if self._has_own("buffer.scheme", buffers) and "buffer.scheme" not in ours:
            theirs += texts_of({"buffer.scheme": self.config()["buffer"]["scheme"]})
        if self._has_own("ftl.mapping", ftls):
            theirs += texts_of({"ftl.mapping": self.config()["ftl"]["mapping"]})
            ftls = ()
        workload = {**wish.workload, **({} if fit is None else {"fit": fit})}
        texts = [*theirs, *(f"{key}={_text(value)}" for key, value in ours.items())]
        if not buffers:
            return Comparison(
                [wish.trace], sizes=sizes, ftls=ftls, device=wish.device, workload=workload, sets=texts
            )
        return Comparison([wish.trace], buffers, sizes, ftls, wish.device, workload, texts)

    def _has_own(self, key: str, kinds: Sequence[str]) -> bool:
        """Whether the caller has set what the drive has there, and it is this that is to be run."""
        if not any(_is_of(text, [key]) for text in self.sets):
            return False
        table, _, name = key.partition(".")
        own = self.config()[table][name]
        return list(kinds) == [own["kind"] if isinstance(own, dict) else own]

    def outcomes(self, comparisons: Sequence[Comparison]) -> list[Outcome]:
        """Run comparisons of one design each, together; what cannot be built has an error."""
        experiments = [one.experiments()[0] for one in comparisons]
        self.experiments += experiments
        with finished(experiments, self.handling, self.caller) as done:
            failures, _ = split_errors(done.outcomes)
        for outcome in failures:
            if isinstance(outcome.error, _core.SimulationError):
                raise outcome.error
        return done.outcomes

    def row(self, record: Record) -> Row:
        """A record, as it is shown."""
        return rows_of([record])[0]

    def whole(self) -> None:
        """Write the folder's results, where there is one: everything that was run is stored there."""
        if self.handling.folder is None or not self.experiments:
            return
        from dataclasses import replace

        with finished(self.experiments, replace(self.handling, fresh=False), self.caller) as done:
            done.write()


def _is_of(text: str, keys: Sequence[str]) -> bool:
    """Whether an override is of one of these keys, or of a key below one."""
    key = text.partition("=")[0].strip()
    return any(key == one or key.startswith(f"{one}.") for one in keys)


def _text(value: Any) -> str:
    """A value as people write it behind `--set KEY=`."""
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return NULL if value is None else str(value)


def short_size(count: int) -> str:
    """Bytes as people write them behind an option: `4MiB`."""
    for unit, scale in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count and count % scale == 0:
            return f"{count // scale}{unit}"
    return f"{count}B"


def passed_over(designs: Sequence[Design], cut_short: Sequence[Design] = ()) -> str:
    """A sentence on those that cannot be taken, however good their figures look; empty where all can."""
    text = ""
    if some := [one for one in designs if not all(row.trusted for row in one.rows)]:
        found = advice_of([row for one in some for row in one.rows])
        reasons = "; ".join(one.sentence.rstrip(".") for one in found if one.distrust)
        text = f" Passed over, as not to be trusted: {listed(some)} ({reasons})."
    if cut_short:
        text += f" Passed over, as worn out before others had served as much: {listed(cut_short)}."
    return text


def doubts_of(rows: Sequence[Row], but: tuple[str, ...] = ()) -> tuple[str, ...]:
    """What the engine says against these runs: why they are not to be trusted, and what did not happen.

    What begins with one of `but` is meant to be so.
    """
    sentences = [one.sentence.rstrip(".") for one in advice_of(rows)]
    return tuple(dict.fromkeys(one for one in sentences if not one.startswith(but or ("\n",))))


def few_erased(rows: Sequence[Row]) -> tuple[str, ...]:
    """That so few blocks were erased that it is chance which; where none was the engine says so."""
    few = [erases for row in rows if 0 < (erases := row.figure("flash.erases.total") or 0) < _FEW]
    if not few:
        return ()
    erased = "1 block was" if min(few) == 1 else f"{min(few)} blocks were"
    return (f"the trace is short: only {erased} erased in it",)
