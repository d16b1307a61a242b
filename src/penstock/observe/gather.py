"""Gathers the evidence for an audit: the ledger's claims, the provenance in the sinks, Kafka read again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.errors import Fatal, PlanRefused
from penstock.kinds import Kinds
from penstock.ledger.book import LedgerReader
from penstock.ledger.lines import Damage
from penstock.observe.audit import BatchClaim, BatchVerdict, Evidence, Place, judge
from penstock.plan.steps import DEAD_LETTERS, SINK, RunPlan, Write
from penstock.sink.port import Sink
from penstock.source.cluster import Cluster
from penstock.source.recount import visible
from penstock.storage import storage_at
from penstock.values import OffsetRange

Report = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Audit:
    """The whole answer: one verdict a batch, what lies in the tables outside all batches, what of the ledger does not read."""

    verdicts: tuple[BatchVerdict, ...]
    outside: int
    unread: tuple[str, ...]
    """Sinks that cannot be read back."""
    damage: tuple[Damage, ...] = ()
    """Batches that nobody can audit, because their entries are damaged or missing."""

    @property
    def clean(self) -> bool:
        return not self.outside and not self.damage and self.in_one_place

    @property
    def in_one_place(self) -> bool:
        """Whether no batch that could be audited lost or doubled a record."""
        return all(verdict.findings.clean for verdict in self.verdicts)


def audit(plan: RunPlan, kinds: Kinds, progress: Report) -> Audit:
    """Count every offset that the ledger says was read, in the sinks and in Kafka as they are now."""
    found = {branch: _sink(write, kinds).provenance() for branch, write in plan.flow.writes.items()}
    unread = frozenset(branch for branch, rows in found.items() if rows is None)
    claims, damage = claims_of(plan, unread)
    evidence = Evidence(claims)
    counted = {SINK: evidence.rows, DEAD_LETTERS: evidence.dead}
    for branch, rows in found.items():
        _add_rows(evidence, counted[branch], rows or ())
    _add_kafka(evidence, plan, claims, progress)
    in_words = tuple(plan.flow.writes[branch].kind for branch in sorted(unread))
    return Audit(tuple(judge(claims, evidence)), evidence.outside, in_words, tuple(damage))


def claims_of(plan: RunPlan, unread: frozenset[str]) -> tuple[list[BatchClaim], list[Damage]]:
    """What the ledger says, of every generation of this state, and what of it is missing or does not read."""
    ledger = LedgerReader(storage_at(plan.state).at("ledger"))
    claims: list[BatchClaim] = []
    damage: list[Damage] = []
    for item in (item for generation in ledger.generations() for item in ledger.scan(generation)):
        if isinstance(item, Damage):
            damage.append(item)
        else:
            claims.append(BatchClaim(item.generation, item.batch, item.ranges, item.counts, unread))
    if not claims and damage:
        raise ledger_damaged(plan.state, damage)
    if not claims:
        raise PlanRefused(
            "there is nothing to audit: no batch has been committed",
            code="ledger_empty",
            where=plan.state,
            next_step="run the pipeline first, or name the state folder that it used",
        )
    return claims, damage


def ledger_damaged(state: str, damage: Sequence[Damage]) -> Fatal:
    """The refusal to call a pipeline audited whose ledger is not whole."""
    batches = sum(item.last - item.batch + 1 for item in damage)
    more = f", and {len(damage) - 1} more" if len(damage) > 1 else ""
    return Fatal(
        f"the ledger is damaged, {'1 batch' if batches == 1 else f'{batches} batches'} cannot be audited: {damage[0]}{more}",
        code="ledger_corrupt",
        where=f"{state}/ledger",
        next_step="restore that folder from a backup; the tables hold what was committed, and the pipeline runs on without it",
    )


def _sink(write: Write, kinds: Kinds) -> Sink:
    sink: Sink = kinds.sinks[write.kind].build(write.options, owner="audit")
    return sink


def _add_rows(evidence: Evidence, counts: Mapping[Place, npt.NDArray[np.uint8]], found: Iterable[pa.StructArray]) -> None:
    for source in found:
        ids = source.field("topic_id").dictionary_encode()
        topic = ids.indices.to_numpy(zero_copy_only=False)
        partition = source.field("partition").to_numpy(zero_copy_only=False)
        offset = source.field("offset").to_numpy(zero_copy_only=False)
        for code, name in enumerate(ids.dictionary.to_pylist()):
            for part in np.unique(partition[topic == code]).tolist():
                evidence.add(counts, (name, part), offset[(topic == code) & (partition == part)])


def _add_kafka(evidence: Evidence, plan: RunPlan, claims: Iterable[BatchClaim], progress: Report) -> None:
    """Read all ranges again, joined per partition; those of a topic that was made anew cannot be read any more."""
    joined: dict[tuple[str, int], OffsetRange] = {}
    for item in sorted(item for claim in claims for item in claim.ranges):
        key = item.topic_id, item.partition
        known = joined.get(key, item)
        joined[key] = OffsetRange(item.topic, item.topic_id, item.partition, min(known.start, item.start), max(known.until, item.until))
    now = Cluster(plan.source.servers).topic_ids({item.topic for item in joined.values()})
    ranges = [item for item in joined.values() if now[item.topic] == item.topic_id]
    total, done = sum(item.offsets for item in ranges), 0
    for answer in visible(plan.source.servers, ranges):
        evidence.add_kafka(answer.range, answer.kept_from, answer.offsets)
        done += answer.range.offsets
        progress("reading Kafka again", done, total)
