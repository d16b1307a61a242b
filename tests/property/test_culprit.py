"""The search for the record that makes a transform fail: over any ranges and any guilty offsets."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from penstock.run.culprit import halves, smallest_failing
from penstock.values import OffsetRange


@st.composite
def planned(draw: st.DrawFn) -> tuple[OffsetRange, ...]:
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=6))
    return tuple(OffsetRange("t", "id", partition, 100, 100 + size) for partition, size in enumerate(sizes))


def places(ranges: Sequence[OffsetRange]) -> list[tuple[int, int]]:
    return [(item.partition, offset) for item in ranges for offset in range(item.start, item.until)]


@given(planned())
def test_two_halves_are_the_whole(ranges: tuple[OffsetRange, ...]) -> None:
    first, second = halves(ranges)
    assert places(first) + places(second) == places(ranges)
    assert abs(len(places(second)) - len(places(first))) <= 1


@given(planned(), st.data())
def test_a_guilty_record_is_found_in_few_questions(ranges: tuple[OffsetRange, ...], data: st.DataObject) -> None:
    guilty = set(data.draw(st.lists(st.sampled_from(places(ranges)), min_size=1, max_size=3)))
    asked = []

    def fails(part: Sequence[OffsetRange]) -> bool:
        asked.append(part)
        return bool(guilty & set(places(part)))

    (found,) = places(smallest_failing(ranges, fails))
    assert found in guilty
    assert len(asked) <= len(places(ranges)).bit_length() + 2


@given(planned())
def test_what_fails_only_together_is_not_blamed_on_one(ranges: tuple[OffsetRange, ...]) -> None:
    whole = len(places(ranges))
    found = smallest_failing(ranges, lambda part: len(places(part)) == whole)
    assert places(found) == places(ranges)
    assert smallest_failing(ranges, lambda part: False) == (), "what no longer fails is nobody's fault"
