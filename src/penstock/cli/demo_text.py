"""The demo's story in words: each event as lines, the same ones on a terminal and elsewhere."""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock.cli.audit import text as audit_text
from penstock.demo.events import Audited, BatchFinished, Closed, Event, Killed, Opened, PipelineShown, RunBegun, RunEnded, StepDone
from penstock.demo.figures import Figures
from penstock.demo.victim import Kill
from penstock.demo.watch import InFlight

Style = Literal["title", "plain", "quiet", "good", "bad", "command"]
Line: TypeAlias = tuple[Style, str]

NOTHING: Line = ("plain", "")
GOOD, BAD = "✓", "✗"
GB = 1e9


def lines_of(event: Event) -> list[Line]:
    """What is said of an event; nothing where it only moves a bar."""
    said: list[Line] = []
    match event:
        case Opened(records, partitions, seed):
            load = f"seed {seed}; about 209 bytes each, one in 200 malformed, in {partitions} partitions"
            said = [("title", f"{records:,} payments, two kills -9, every offset counted"), ("quiet", load), NOTHING]
        case StepDone(what, seconds):
            said = [("good", f"{GOOD} {what}  ({seconds:.1f} s)")]
        case PipelineShown(file, text):
            said = [NOTHING, ("plain", f"The pipeline is one file, {file}:"), NOTHING, *(("quiet", f"  {line}") for line in text.splitlines())]
        case RunBegun(attempt, command, _):
            said = [NOTHING, ("command", f"$ {command}" + ("" if attempt == 1 else "     # the same command again"))]
        case BatchFinished(batch, version, seconds):
            said = [("good", f"{GOOD} the interrupted batch {batch} is in: table version {version}, {seconds:.1f} s after the start")]
        case Killed(kill):
            said = killed(kill)
        case RunEnded(_, batches, seconds):
            said = [("good", f"{GOOD} caught up: {batches} batches, {seconds:.1f} s with the kills"), NOTHING, ("command", "$ penstock audit pipeline.yaml")]
        case Audited(found, _):
            said = [*(("plain", line) for line in audit_text(found).splitlines()), NOTHING]
    return said


def killed(kill: Kill) -> list[Line]:
    """What was killed, when, and what it was about."""
    if kill.how == "tree":
        what, then = "kill -9 to the whole process tree,", f"{_processes(kill.processes)} gone at once"
    else:
        what, then = "kill -9 to the Python process alone,", f"{_processes(kill.survivors)} of Spark noticed and ended in {kill.survived_seconds:.1f} s"
    head: Line = ("bad", f"{BAD} {what} {kill.after_seconds:.2f} s into batch {kill.batch}")
    drawn: Line = ("quiet", f"    the moment was drawn by lot: {kill.share:.0%} of the time that a batch takes")
    return [head, drawn, ("plain", f"    {then}"), *_in_flight(kill.in_flight, kill.batch)]


def _in_flight(found: InFlight | None, batch: int) -> list[Line]:
    if found is None:
        return [("plain", f"    nothing was in flight: batch {batch} had committed just before; try again")]
    table = f"    the table is at version {found.version}, without a row of batch {found.batch}"
    if found.rows_committed:
        table = f"    the table is at version {found.version}, with the rows of batch {found.batch}, its dead letters not"
    files = "    no file was staged yet: it was reading and decoding"
    if found.staged_files:
        files = f"    {found.staged_files} {'file lies' if found.staged_files == 1 else 'files lie'} staged, part of no table"
    return [("plain", f"    in flight: batch {found.batch}, {found.records:,} records planned"), ("plain", files), ("plain", table)]


def closing(figures: Figures) -> list[Line]:
    """The figures at the end; the last line is what they come to."""
    found = figures.count
    counted = [
        ("produced", f"{figures.produced:,}", ""),
        ("rows in the table", f"{found.rows:,}", ""),
        ("dead letters", f"{found.dead_letters:,}", "malformed on purpose, bytes kept"),
        ("missing", f"{found.missing:,}", ""),
        ("duplicates", f"{found.duplicates:,}", ""),
        ("amounts produced", f"{found.cents_produced / 100:,.2f}", "of the well-formed payments"),
        ("amounts in the table", f"{found.cents_found / 100:,.2f}", "read back row by row"),
        ("kills -9", f"{len(figures.kills)}", f"{figures.in_flight_kills} in the middle of a batch"),
        ("batches", f"{figures.batches}", f"{figures.versions} versions of both tables"),
        ("versions by recovery", f"{figures.versions_added_again}", "added for batches that had committed"),
        ("files left by kills", f"{figures.files_left}", "staged, seen by no reader"),
    ]
    if figures.peak_pipeline_bytes is not None and figures.peak_demo_bytes is not None:
        counted.append(("peak memory", f"{figures.peak_pipeline_bytes / GB:.2f} GB", "of the pipeline, all its processes"))
        counted.append(("", f"{figures.peak_demo_bytes / GB:.2f} GB", "of this demo; the broker apart"))
    last: Line = ("good", f"{GOOD} every payment is in exactly one place  ({figures.seconds:.0f} s)")
    if figures.wrongs:
        last = ("bad", f"{BAD} {', '.join(figures.wrongs)}")
    return [*(("plain", f"{name:<20}  {value:>14}  {note}".rstrip()) for name, value, note in counted), ("plain", ""), last]


def looking_around(closed: Closed) -> list[Line]:
    """Commands for whoever keeps the folder; the broker has ended with the demo and can be started again on its data."""
    place = closed.place
    table = f"t = deltalake.DeltaTable('{place.table}').to_pyarrow_dataset()"
    query = f"import duckdb, deltalake; {table}; print(duckdb.sql('SELECT currency, count(*), sum(amount) FROM t GROUP BY ALL'))"
    commands = (
        f"penstock dev up --directory {place.kafka} --port {closed.servers.rpartition(':')[2]}",
        f"penstock audit {place.pipeline}",
        f'python -c "{query}"',
        f"penstock dev down --directory {place.kafka}",
        f"rm -r {place.folder}",
    )
    return [
        ("plain", ""),
        ("plain", "Look around:"),
        ("plain", f"  the table         {place.table}"),
        ("plain", f"  the dead letters  {place.dead_letters}"),
        ("plain", f"  what the runs say {place.log}"),
        ("plain", ""),
        *(("command", f"$ {command}") for command in commands),
    ]


def _processes(count: int) -> str:
    return f"{count} {'process' if count == 1 else 'processes'}"
