"""`penstock audit`."""

from __future__ import annotations

import json
from typing import Any

from penstock.builtin import KINDS
from penstock.cli.arguments import AsJson, Settings, Target
from penstock.cli.target import load_target
from penstock.errors import Fatal
from penstock.observe.audit import BatchVerdict
from penstock.observe.gather import Audit, ledger_damaged
from penstock.observe.gather import audit as audit_all
from penstock.plan.build import build

SHOWN = 12


def audit(target: Target, settings: Settings = None, as_json: AsJson = False) -> None:
    """Prove that every offset is in one place; changes nothing.

    Counts the tables and reads Kafka again, with another client than the run's."""
    plan = build(load_target(target, KINDS, settings or ()), KINDS)
    found = audit_all(plan, KINDS, lambda label, done, total: None)
    print(json.dumps(_values(found)) if as_json else text(found))
    if found.damage and found.in_one_place:
        raise ledger_damaged(plan.state, found.damage)
    if not found.clean:
        raise Fatal(
            "the audit found records that are not in exactly one place",
            code="audit_failed",
            where=plan.name,
            next_step="see the offsets above; a table that was changed by hand can be restored to an earlier version",
        )


def text(found: Audit) -> str:
    """The answer as people read it."""
    batches = found.verdicts
    lines = [
        f"{'1 batch' if len(batches) == 1 else f'{len(batches)} batches'} audited: every offset counted in the tables and read again from Kafka",
        "",
        f"  records in Kafka  {_sum(batches, 'in_kafka'):>14,}",
        f"  rows              {_sum(batches, 'rows'):>14,}",
        f"  filtered          {sum(item.claim.counts.filtered for item in batches if item.claim.counts):>14,}",
        f"  dead letters      {_sum(batches, 'dead'):>14,}",
        f"  unverified        {_sum(batches, 'unverified'):>14,}" + ("   offsets that Kafka holds no longer" if _sum(batches, "unverified") else ""),
        *([f"  untraced          {untraced:>14,}   records whose rows do not tell where they came from"] if (untraced := _sum(batches, "untraced")) else []),
        "",
        *(f"  the sink {kind} cannot be read back: what it took is not counted" for kind in found.unread),
    ]
    if found.clean:
        proven = not untraced and not _sum(batches, "unverified")
        return "\n".join([*lines, f"every offset {'' if proven else 'that can still be proven '}is in exactly one place"])
    if found.damage:
        lines += ["the ledger is damaged; what it does not tell was not audited:", *_first(list(map(str, found.damage))), ""]
    wrong = {name: sum(getattr(item.findings, name) for item in batches) for name in ("missing", "doubled", "strange", "miscounted")}
    lines.append(f"missing {wrong['missing']:,}, doubled {wrong['doubled']:,}, not from Kafka {wrong['strange']:,}, in no audited batch {found.outside:,}")
    return "\n".join([*lines, *_first([example for item in batches for example in item.findings.examples])])


def _first(every: list[str]) -> list[str]:
    """As many as a screen takes."""
    more = [f"  … and {len(every) - SHOWN:,} more"] if len(every) > SHOWN else []
    return [*(f"  {each}" for each in every[:SHOWN]), *more]


def _sum(batches: tuple[BatchVerdict, ...], name: str) -> int:
    return sum(getattr(item, name) for item in batches)


def _values(found: Audit) -> dict[str, Any]:
    return {
        "clean": found.clean,
        "outside": found.outside,
        "unread_sinks": list(found.unread),
        "ledger_damage": [{"first_batch": item.batch, "last_batch": item.last, "where": item.where, "what": item.what} for item in found.damage],
        "batches": [
            {
                "generation": item.claim.generation,
                "batch": item.claim.batch,
                "in_kafka": item.in_kafka,
                "rows": item.rows,
                "dead": item.dead,
                "filtered": item.claim.counts.filtered if item.claim.counts else None,
                "unverified": item.unverified,
                "untraced": item.untraced,
                "missing": item.findings.missing,
                "doubled": item.findings.doubled,
                "strange": item.findings.strange,
                "miscounted": item.findings.miscounted,
                "examples": item.findings.examples,
            }
            for item in found.verdicts
        ],
    }
