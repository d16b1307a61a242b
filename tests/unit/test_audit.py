"""The audit's sums over made-up evidence: each thing a hand can do to a table is found."""

from __future__ import annotations

import numpy as np

from penstock.observe.audit import BatchClaim, BatchVerdict, Evidence, judge
from penstock.values import BatchCounts, OffsetRange

RANGE = OffsetRange("numbers", "id", 0, 100, 110)


def verdict(
    rows: list[int], dead: list[int], *, kafka: range = range(100, 110), kept_from: int = 100, counts: tuple[int, ...] = (10, 9, 0, 1), unread: str = ""
) -> BatchVerdict:
    claims = [BatchClaim("g", 0, (RANGE,), BatchCounts(*counts), frozenset(unread.split()))]
    evidence = Evidence(claims)
    evidence.add(evidence.rows, ("id", 0), np.array(rows, np.int64))
    evidence.add(evidence.dead, ("id", 0), np.array(dead, np.int64))
    evidence.add_kafka(RANGE, kept_from, np.array([offset for offset in kafka if offset >= kept_from], np.int64))
    return judge(claims, evidence)[0]


def test_every_offset_in_one_place_is_clean() -> None:
    assert verdict([*range(100, 109)], [109]).findings.clean


def test_a_row_deleted_by_hand_is_missing() -> None:
    found = verdict([*range(100, 108)], [109]).findings
    assert (found.missing, found.doubled) == (1, 0)
    assert "missing: numbers, partition 0, offset 108" in found.examples


def test_a_row_doubled_by_hand_is_found() -> None:
    found = verdict([*range(100, 109), 105], [109]).findings
    assert (found.missing, found.doubled) == (0, 1)
    assert "doubled: numbers, partition 0, offset 105" in found.examples


def test_one_deleted_and_another_doubled_do_not_cancel_out() -> None:
    found = verdict([*range(100, 108), 105], [109]).findings
    assert (found.missing, found.doubled) == (1, 1)


def test_a_record_in_the_table_and_among_the_dead_letters_is_doubled() -> None:
    assert verdict([*range(100, 110)], [109], counts=(10, 10, 0, 0)).findings.doubled == 1


def test_a_row_that_kafka_never_showed_is_strange() -> None:
    found = verdict([*range(100, 109)], [109], kafka=range(100, 109), counts=(9, 9, 0, 0))
    assert found.findings.strange == 1


def test_filtered_records_are_in_no_place_and_are_counted() -> None:
    assert verdict([*range(100, 106)], [109], counts=(10, 6, 3, 1)).findings.clean
    found = verdict([*range(100, 105)], [109], counts=(10, 6, 3, 1)).findings
    assert (found.missing, found.miscounted) == (1, 1)


def test_what_retention_took_is_unverified_but_its_doubles_are_still_seen() -> None:
    eaten = verdict([*range(100, 109)], [109], kept_from=106)
    assert eaten.findings.clean
    assert eaten.unverified == 6
    assert verdict([*range(100, 109), 101], [109], kept_from=106).findings.doubled == 1
    assert verdict([*range(101, 109)], [109], kept_from=106).findings.miscounted == 1


def test_a_batch_without_counts_is_judged_by_what_can_be_seen() -> None:
    claims = [BatchClaim("g", 0, (RANGE,), None)]
    evidence = Evidence(claims)
    evidence.add(evidence.rows, ("id", 0), np.arange(100, 109))
    evidence.add_kafka(RANGE, 100, np.arange(100, 110))
    found = judge(claims, evidence)[0]
    assert found.findings.clean
    assert found.unverified == 1, "the one record in no place may have been filtered"


def test_rows_outside_every_range_are_counted() -> None:
    evidence = Evidence([BatchClaim("g", 0, (RANGE,), None)])
    evidence.add(evidence.rows, ("id", 0), np.array([99, 100, 110]))
    evidence.add(evidence.rows, ("another", 0), np.array([100]))
    assert evidence.outside == 3


def test_records_that_a_query_made_other_rows_of_are_untraced_and_the_rest_is_still_proven() -> None:
    grouped = verdict([], [109], counts=(10, 7, 2, 1, 3))
    assert grouped.findings.clean
    assert grouped.untraced == 7
    exploded = verdict([100, 100, 101, 101], [109], counts=(10, 7, 2, 1, 14))
    assert (exploded.findings.clean, exploded.untraced) == (True, 7)
    assert verdict([], [], counts=(10, 7, 2, 1, 3)).findings.missing == 1, "the dead letter is gone"
    assert verdict([], [109, 109], counts=(10, 7, 2, 1, 3)).findings.doubled == 1


def test_what_went_to_a_terminal_is_untraced() -> None:
    printed = verdict([], [109], unread="sink")
    assert (printed.findings.clean, printed.untraced) == (True, 9)
    both = verdict([], [], unread="sink dead_letters")
    assert (both.findings.clean, both.untraced) == (True, 10)
    assert not verdict([], [109]).findings.clean
