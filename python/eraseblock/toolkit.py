"""For projects that build on eraseblock, such as a command of their own: what its own commands are made of.

`eraseblock` has what a script needs; everything here goes beyond that, and stays as it is in the same way.
A command gets into the command line as an entry point of the group `eraseblock.commands`, a kind of
`eraseblock list` as one of `eraseblock.lists` (ARCHITECTURE.md).
"""

from __future__ import annotations

# Options of commands.
from eraseblock.cli.options import AsJson, Fresh, Jobs, NoCache, check_jobs

# What is run.
from eraseblock.experiments import (
    NULL,
    Config,
    Experiment,
    Sets,
    content_key,
    engine,
    resolve_mapping,
    version,
)

# Drives with real bytes, for `eraseblock serve`.
from eraseblock.images import create as create_image

# What there is, and what a misspelt name may have meant.
from eraseblock.names import known, nearest

# What draws in pages.
from eraseblock.plotting import plotting_script

# Many calls at once, heeding Ctrl-C.
from eraseblock.pool import Pool, Progress, Result, StoppedError

# What workloads are like.
from eraseblock.profile.gather import characterise
from eraseblock.profile.gather import plan as workloads_of
from eraseblock.profile.picture import config as chart_theme

# The other readings of the papers.
from eraseblock.readings.plan import plan as readings_of

# How pages look.
from eraseblock.report.assets import asset, page_style, template
from eraseblock.report.palette import colours

# Records, and the files beside them.
from eraseblock.results.files import check_replaceable, replace_file
from eraseblock.results.markdown import row as markdown_row
from eraseblock.results.record import Record
from eraseblock.results.store import REPORT_NAME, check_writable, make_folder
from eraseblock.results.units import bytes_of, duration, number_of
from eraseblock.results.view import Row, rows_of

# Running, as the command line does it.
from eraseblock.running import Caller, Finished, Handling, Quiet, Words, finished
from eraseblock.sweeps import Outcome, Watcher, split_errors

# A terminal.
from eraseblock.terminal.caller import CommandLine
from eraseblock.terminal.console import out, say_error

__all__ = [
    "NULL",
    "REPORT_NAME",
    "AsJson",
    "Caller",
    "CommandLine",
    "Config",
    "Experiment",
    "Finished",
    "Fresh",
    "Handling",
    "Jobs",
    "NoCache",
    "Outcome",
    "Pool",
    "Progress",
    "Quiet",
    "Record",
    "Result",
    "Row",
    "Sets",
    "StoppedError",
    "Watcher",
    "Words",
    "asset",
    "bytes_of",
    "characterise",
    "chart_theme",
    "check_jobs",
    "check_replaceable",
    "check_writable",
    "colours",
    "content_key",
    "create_image",
    "duration",
    "engine",
    "finished",
    "known",
    "make_folder",
    "markdown_row",
    "nearest",
    "number_of",
    "out",
    "page_style",
    "plotting_script",
    "readings_of",
    "replace_file",
    "resolve_mapping",
    "rows_of",
    "say_error",
    "split_errors",
    "template",
    "version",
    "workloads_of",
]
