"""A batch that was begun before: which plan governs it now.

Where a sink holds something of it, it ends as it was begun, whatever the file says by now: else a record could be in neither
of two sinks, or in both. Where no sink does, it is begun anew with the file as it is: else nobody could mend a file that
makes a batch fail.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import msgspec

from penstock.errors import Fatal, PlanRefused
from penstock.kinds import Kinds
from penstock.plan.build import build
from penstock.plan.steps import RunPlan
from penstock.run.assembly import branches_of, sinks_of, versions
from penstock.run.batch_plan import BatchPlan, begin_batch
from penstock.run.state import State
from penstock.source.offset_log import contradiction
from penstock.spec.load import load_resolved


@dataclasses.dataclass(frozen=True, slots=True)
class Governing:
    """The plan that a batch obeys, and the pipeline as it was when that plan was made."""

    batch: BatchPlan
    plan: RunPlan


def governing(found: Sequence[BatchPlan], now: RunPlan, kinds: Kinds, state: State) -> Governing:
    """The one of the batch's plans (newest first) that it has to obey, or a new revision where it may be begun anew."""
    newest = found[0]
    refuse_contradiction(newest, state)
    begun = holding(found, kinds, state) if len(found) > 1 or not as_now(newest, now) else None
    if begun is not None:
        refuse_other_version(begun.batch)
        return begun
    if as_now(newest, now):
        return Governing(newest, now)
    again = msgspec.structs.replace(newest, revision=newest.revision + 1, spec=now.spec, reader=now.source.reader, versions=versions())
    if not begin_batch(state.plans, again):
        raise Fatal(
            f"another instance began batch {newest.batch} anew at this very moment",
            code="another_instance",
            where=state.plans.uri,
            next_step="keep one of them running; what both did is consistent, nothing was doubled",
        )
    return Governing(again, now)


def holding(found: Sequence[BatchPlan], kinds: Kinds, state: State) -> Governing | None:
    """The plan under which a sink holds something of the batch; None where none holds anything."""
    differs: Fatal | None = None
    for each in found:
        plan = build(load_resolved(each.spec, kinds), kinds)
        try:
            if any(branch.sink.find(branch.token) for branch in branches_of(plan, sinks_of(plan, kinds), state, each)):
                return Governing(each, plan)
        except Fatal as error:
            if error.code != "digest_differs":
                raise
            differs = error  # another revision's, as long as one is left to ask
    if differs is not None:
        raise differs
    return None


def as_now(begun: BatchPlan, now: RunPlan) -> bool:
    """Whether the batch would be begun in the same way today."""
    return begun.spec == now.spec and begun.versions.get("penstock") == versions()["penstock"]


def refuse_contradiction(begun: BatchPlan, state: State) -> None:
    """The checkpoint must say the same ranges as the plan file, and be the one that the plan was made under."""
    where = contradiction(state.checkpoint, begun.batch, begun.ranges)
    if begun.generation != state.generation():
        where = f"generation {begun.generation}, the checkpoint is of {state.generation()}"
    if where is not None:
        raise Fatal(
            f"the plan file of batch {begun.batch} and Spark's offset log contradict each other: {where}",
            code="plan_contradicted",
            where=state.plans.uri,
            next_step="the checkpoint was changed by hand or mixed with another's; restore state folder and checkpoint together from one backup",
        )


def refuse_other_version(begun: BatchPlan) -> None:
    """A batch that is half in ends as it was begun, by the same code; another version of ours might sort its records differently."""
    then, now = begun.versions.get("penstock"), versions()["penstock"]
    if then != now:
        raise PlanRefused(
            f"batch {begun.batch} was begun by Penstock {then} and is not finished; this is Penstock {now}",
            code="pending_of_another_version",
            where=f"batch {begun.batch}",
            next_step=f"finish it with Penstock {then} (run it until it has caught up), then upgrade",
        )
