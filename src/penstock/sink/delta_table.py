"""The committer of the Delta sink: staged files and a token in, one delta-rs commit out, on the driver.

The commit is a compare-and-set. Token and table are looked at in one snapshot, and delta-rs refuses the commit when a
newer one holds the same application id; every retry begins again at the look-up. A commit carries three application
transactions: the token (version = batch), the digest of the batch's ranges, and who writes here (pipeline and
generation), the last under the pipeline's name, so that a state folder made anew over an old table is noticed.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar
from urllib.parse import unquote

import msgspec
import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, CommitProperties, Transaction

from penstock.errors import Fatal, OutcomeUnknown, PlanRefused, Retryable
from penstock.records import SOURCE_COLUMN
from penstock.sink.delta_errors import UNSUPPORTED, reason, translated
from penstock.sink.delta_schema import check_new, check_table, table_schema
from penstock.sink.parquet_files import ParquetStage, StagedFile
from penstock.sink.port import AlreadyWritten, Evidence, Outcome, Written
from penstock.storage import demand_writable, storage_at
from penstock.values import BatchCounts, CommitToken, Generation

ATTEMPTS = 20  # how often another writer may win the race for a table version before we ask for help
NOTE = "penstock"
T = TypeVar("T")


class CommitNote(msgspec.Struct, frozen=True):
    """What our commits carry in Delta's commit metadata, as long as the log keeps it."""

    token: str
    attempt: str
    read: int
    rows: int
    filtered: int
    dead: int
    written: int | None = None

    @property
    def counts(self) -> BatchCounts:
        return BatchCounts(self.read, self.rows, self.filtered, self.dead, self.written)


class DeltaSink:
    """Exactly once into one Delta table: one commit a batch, atomic, found again by its token."""

    def __init__(self, path: str, owner: str) -> None:
        """`owner` is the name under which pipeline, flow and sink are known to people, for noticing a state made anew."""
        self._path, self._owner = path, f"penstock:owner:{owner}"
        self._handle: DeltaTable | None = None
        self._storage = storage_at(path)
        self._schema: pa.Schema | None = None
        self._checked: object = None

    def check(self, schema: pa.Schema | None) -> None:
        demand_writable(self._path, what="the table")
        if DeltaTable.is_deltatable(self._path):
            demand_writable(f"{self._path}/_delta_log", what="the table")
            check_table(self._table, schema, self._path)
        elif schema is not None:
            check_new(schema, self._path)

    def prepare(self, schema: pa.Schema) -> None:
        self._schema = schema
        if not self._ask(lambda: DeltaTable.is_deltatable(self._path)):
            check_new(schema, self._path)
            self._ask(lambda: DeltaTable.create(self._path, schema=table_schema(schema), mode="ignore"))
        self._refuse_changed()

    def adopt(self, pipeline: str, generation: Generation, *, accept: bool = False) -> None:
        """Refuse a table that another generation of this pipeline wrote to, unless the user accepts that."""
        holder = self._ask(lambda: self._table.transaction_version(self._owner))
        if holder is not None and holder != _owner_mark(pipeline, generation) and not accept:
            raise PlanRefused(
                "the table holds batches that this pipeline wrote from another state: starting over would write records a second time",
                code="other_generation",
                where=self._path,
                next_step="restore the state folder; or name another table; or accept the duplicates with --accept-new-generation",
            )

    def find(self, token: CommitToken) -> Evidence | None:
        if self._handle is None and not DeltaTable.is_deltatable(self._path):
            return None
        self._refresh()
        return self._find(token)

    def stage(self) -> ParquetStage:
        return ParquetStage(self._path)

    def provenance(self) -> Iterator[pa.StructArray] | None:
        if not self._ask(lambda: DeltaTable.is_deltatable(self._path)):
            return None
        self._refresh()
        if SOURCE_COLUMN not in {item.name for item in self._table.schema().fields}:
            return None
        # Not through `to_pyarrow_dataset`, which cannot leave out the rows that a deletion vector deletes.
        rows = self._ask(lambda: QueryBuilder().register("rows", self._table).execute(f'SELECT "{SOURCE_COLUMN}" FROM rows'))
        return (pa.record_batch(batch).column(SOURCE_COLUMN) for batch in rows)

    def discard(self, staged: Sequence[str]) -> None:
        """Files that the table holds after all are let alone: this must be safe whatever the caller believes."""
        self._refresh()
        held = {unquote(uri.rsplit("/", 1)[-1]) for uri in self._ask(self._table.file_uris)} if staged else frozenset()
        for item in staged:
            if (name := msgspec.json.decode(item, type=StagedFile).path) not in held:
                self._storage.delete(name)

    def commit(self, staged: Sequence[str], token: CommitToken, counts: BatchCounts) -> Outcome:
        files = [msgspec.json.decode(item, type=StagedFile) for item in staged]
        note = CommitNote(str(token), uuid.uuid4().hex, counts.read, counts.rows, counts.filtered, counts.dead, counts.written)
        for _ in range(ATTEMPTS):
            self._refresh()
            before = self._table.version()
            self._refuse_changed()
            if (evidence := self._find(token)) is not None:
                return AlreadyWritten(evidence)
            try:
                self._append(files, token, note)
            except CommitFailedError as error:
                if re.search(UNSUPPORTED, str(error)):
                    raise translated(error, self._path) from error
                continue  # somebody else wrote meanwhile, perhaps this very token: look again
            except (DeltaError, OSError) as error:
                return self._after_unknown(token, note, before, error)
            return Written(Evidence(self._version_of(note, before), counts))
        raise Retryable(
            f"the table took none of {ATTEMPTS} attempts to commit batch {token.batch}, other writers were always first",
            code="commit_contention",
            where=self._path,
            next_step="see who else writes to this table; running again is safe",
        )

    @property
    def _table(self) -> DeltaTable:
        if self._handle is None:
            self._handle = self._ask(lambda: DeltaTable(self._path))
        return self._handle

    def _refuse_changed(self) -> None:
        """Check the table as it is now, where its protocol, columns or properties are not those that were checked last."""
        table, metadata = self._table, self._table.metadata()
        now = table.protocol(), table.schema().to_json(), metadata.partition_columns, metadata.configuration
        if now != self._checked:
            check_table(table, self._schema, self._path)
            self._checked = now

    def _refresh(self) -> None:
        self._ask(self._table.update_incremental)

    def _find(self, token: CommitToken) -> Evidence | None:
        """Look the token up in the snapshot at hand, without refreshing it."""
        held = self._table.transaction_version(token.application)
        if held is None or held < token.batch:
            return None
        if held > token.batch:
            raise Fatal(
                f"the table holds batch {held} of this pipeline, but the checkpoint is only at batch {token.batch}",
                code="token_ahead",
                where=self._path,
                next_step="another instance went on while this one stood still: keep that one; or an older checkpoint was restored,"
                " or two states write here: restore the newer checkpoint, or rewind the table",
            )
        digest = self._table.transaction_version(f"{token.application}:digest")
        if digest != token.digest:
            raise Fatal(
                f"the table holds another batch {token.batch} under the same token: it has other Kafka ranges, or was begun with another file",
                code="digest_differs",
                where=self._path,
                next_step="two copies of one checkpoint write to this table: stop this one, and keep the one whose batches the table holds",
            )
        note = self._note_of(str(token))
        return Evidence(*note) if note else Evidence(None, None)

    def _append(self, files: Sequence[StagedFile], token: CommitToken, note: CommitNote) -> None:
        marks = {
            token.application: int(token.batch),
            f"{token.application}:digest": token.digest,
            self._owner: _owner_mark(token.pipeline, token.generation),
        }
        self._table.create_write_transaction(
            [AddAction(file.path, file.size, {}, file.modified_millis, True, file.statistics) for file in files],
            "append",
            self._table.schema(),
            commit_properties=CommitProperties(
                custom_metadata={NOTE: msgspec.json.encode(note).decode()},
                app_transactions=[Transaction(application, version) for application, version in marks.items()],
            ),
        )

    def _after_unknown(self, token: CommitToken, note: CommitNote, before: int, error: Exception) -> Outcome:
        """The commit may or may not have landed: the token decides."""
        self._handle = None
        if (evidence := self._find(token)) is not None:
            ours = self._version_of(note, before)
            return AlreadyWritten(evidence) if ours is None else Written(Evidence(ours, note.counts))
        raise OutcomeUnknown(
            f"committing batch {token.batch} failed: {reason(error)}",
            code="commit_failed",
            where=self._path,
            next_step="running again is safe: the token tells whether the commit landed",
        ) from error

    def _version_of(self, note: CommitNote, before: int) -> int | None:
        """The table version that our commit made; others may have committed around it."""
        for version in itertools.count(before + 1):
            content = self._storage.read(_log_name(version))
            if content is None:
                return None
            found = _note_in(content)
            if found is not None and found.attempt == note.attempt:
                return version
        return None

    def _note_of(self, token: str) -> tuple[int, BatchCounts] | None:
        """The version and counts of the commit with this token, as far back as the log is kept."""
        for version in range(self._table.version(), -1, -1):
            content = self._storage.read(_log_name(version))
            if content is None:
                return None
            if (note := _note_in(content)) is not None and note.token == token:
                return version, note.counts
        return None

    def _ask(self, question: Callable[[], T]) -> T:
        """Everything that delta-rs or the file system says passes here once and becomes an error of ours."""
        try:
            return question()
        except (DeltaError, OSError) as error:
            raise translated(error, self._path) from error


def _owner_mark(pipeline: str, generation: Generation) -> int:
    """Pipeline and generation as 63 bits, the size of a Delta application version."""
    return int.from_bytes(hashlib.sha256(f"{pipeline}:{generation}".encode()).digest()[:8], "big") >> 1


def _log_name(version: int) -> str:
    return f"_delta_log/{version:020d}.json"


def _note_in(commit: bytes) -> CommitNote | None:
    """Our note in the text of a Delta commit. The log is read by ourselves: delta-rs numbers its history from a handle that may be stale."""
    for line in commit.splitlines():
        if not line.startswith(b'{"commitInfo"'):
            continue
        text = json.loads(line)["commitInfo"].get(NOTE)
        try:
            return msgspec.json.decode(text, type=CommitNote) if isinstance(text, str) else None
        except msgspec.ValidationError:
            return None  # a note of another version of ours: its counts cannot be used, its token still can
    return None
