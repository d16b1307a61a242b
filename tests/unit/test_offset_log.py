"""A batch's ranges out of Spark's offset log, and every way in which that log may be unfit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.errors import Fatal
from penstock.source.offset_log import batch_ranges
from penstock.storage import LocalStorage
from penstock.values import OffsetRange, TopicPartition, ranges_digest

IDS = {"a": "id-a", "b": "id-b"}


def log(folder: Path, name: str, offsets: dict[str, dict[str, int]], *, start: bool = False) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(("\0v1\n" if start else "v1\n{}\n") + json.dumps(offsets))


def ranges(folder: Path, batch: int, earliest: dict[TopicPartition, int] | None = None) -> tuple[OffsetRange, ...]:
    return batch_ranges(LocalStorage(folder), batch, topic_ids=IDS, earliest=lambda places: {place: (earliest or {})[place] for place in places})


def test_the_first_batch_starts_where_the_query_starts(tmp_path: Path) -> None:
    log(tmp_path, "sources/0/0", {"a": {"0": 5, "1": 7}}, start=True)
    log(tmp_path, "offsets/0", {"a": {"0": 9, "1": 7}})
    assert ranges(tmp_path, 0) == (OffsetRange("a", "id-a", 0, 5, 9),)


def test_a_later_batch_starts_where_the_one_before_ended(tmp_path: Path) -> None:
    log(tmp_path, "offsets/6", {"a": {"0": 5}, "b": {"0": 1}})
    log(tmp_path, "offsets/7", {"a": {"0": 9}, "b": {"0": 4}})
    assert ranges(tmp_path, 7) == (OffsetRange("a", "id-a", 0, 5, 9), OffsetRange("b", "id-b", 0, 1, 4))


def test_a_partition_that_appears_starts_at_its_earliest_offset(tmp_path: Path) -> None:
    log(tmp_path, "offsets/6", {"a": {"0": 5}})
    log(tmp_path, "offsets/7", {"a": {"0": 5, "1": 40}})
    assert ranges(tmp_path, 7, {TopicPartition("a", 1): 30}) == (OffsetRange("a", "id-a", 1, 30, 40),)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "it is not there"),
        ("", "it is empty"),
        ("v1\n{}", "it is not a log of version 1 with one source"),
        ("v2\n{}\n{}", "it is not a log of version 1 with one source"),
        ("v1\n{}\n{}\n{}", "it is not a log of version 1 with one source"),
        ('v1\n{}\n{"a":{"0":', "its offsets do not parse"),
        ('v1\n{}\n{"a":7}', "its offsets do not parse"),
        ('v1\n{}\n{"a":{"0":1}}', "it ends a-0 before it starts"),
    ],
)
def test_a_log_that_cannot_be_trusted_is_named(tmp_path: Path, content: str | None, reason: str) -> None:
    log(tmp_path, "offsets/6", {"a": {"0": 5}})
    if content is not None:
        (tmp_path / "offsets/7").write_text(content)
    with pytest.raises(Fatal) as refused:
        ranges(tmp_path, 7)
    assert str(refused.value) == (
        f"the checkpoint cannot be trusted: offsets/7: {reason}\n"
        f"where: {tmp_path}\n"
        "next:  nothing was read or written; restore the checkpoint from a backup, the tables hold what was committed"
    )


def test_a_digest_names_the_ranges_however_they_are_split() -> None:
    whole = [OffsetRange("a", "id", 0, 0, 10), OffsetRange("a", "id", 1, 5, 9)]
    split = [OffsetRange("a", "id", 1, 5, 9), OffsetRange("a", "id", 0, 4, 10), OffsetRange("a", "id", 0, 0, 4), OffsetRange("a", "id", 2, 3, 3)]
    assert ranges_digest(whole) == ranges_digest(split)
    assert ranges_digest(whole) != ranges_digest([OffsetRange("a", "id", 0, 0, 10), OffsetRange("a", "id", 1, 5, 10)])
    assert ranges_digest(whole) != ranges_digest([OffsetRange("a", "new id", 0, 0, 10), OffsetRange("a", "new id", 1, 5, 9)])
    assert 0 <= ranges_digest(whole) < 1 << 63
