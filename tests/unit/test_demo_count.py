"""The demo's own count over small tables: right as they are, and wrong in the right way once somebody has changed them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from penstock.demo import payments
from penstock.demo.count import Count, Topic, count

RECORDS, SEED, PARTITIONS = 2000, 5, 2
CLEAN = Count(RECORDS, 1992, 8, 0, 0, 0, 0, 98731758, 98731758)
PLACE = pa.struct([("partition", pa.int32()), ("offset", pa.int64())])


def place_of(number: int) -> dict[str, int]:
    return {"partition": number % PARTITIONS, "offset": number // PARTITIONS}


@pytest.fixture
def topic() -> Topic:
    return {part: np.arange(part, RECORDS, PARTITIONS) for part in range(PARTITIONS)}


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    good = payments.expected(0, RECORDS, seed=SEED).well_formed
    rows: list[dict[str, Any]] = []
    dead: list[dict[str, Any]] = []
    for number, value in enumerate(payments.values(0, RECORDS, seed=SEED)):
        if good[number]:
            whole = json.loads(value)
            rows.append({"payment_id": whole["payment_id"], "amount": whole["amount"], "_source": place_of(number)})
        else:
            dead.append({"value": value, "_source": place_of(number)})
    schema = pa.schema([("payment_id", pa.string()), ("amount", pa.float64()), ("_source", PLACE)])
    write_deltalake(str(tmp_path / "rows"), pa.Table.from_pylist(rows, schema))
    write_deltalake(str(tmp_path / "dead"), pa.Table.from_pylist(dead, pa.schema([("value", pa.binary()), ("_source", PLACE)])))
    return tmp_path / "rows", tmp_path / "dead"


def counted(topic: Topic, tables: tuple[Path, Path]) -> Count:
    return count(topic, *tables, records=RECORDS, seed=SEED)


def test_tables_that_hold_what_was_produced_are_right(topic: Topic, tables: tuple[Path, Path]) -> None:
    assert counted(topic, tables) == CLEAN
    assert CLEAN.clean


def rows_of(table: Path, where: str) -> pa.Table:
    number = int(where.rpartition("-")[2].strip("'"))
    return DeltaTable(str(table)).to_pyarrow_table(filters=[("payment_id", "=", f"payment-{number:012d}")])


PICKED = "payment_id = 'payment-000000000010'"


def doubled(rows: Path, dead: Path) -> None:
    write_deltalake(str(rows), rows_of(rows, PICKED), mode="append")


def deleted(rows: Path, dead: Path) -> None:
    DeltaTable(str(rows)).delete(PICKED)


def changed(rows: Path, dead: Path) -> None:
    DeltaTable(str(rows)).update(predicate=PICKED, updates={"amount": "amount + 0.01"})


def moved(rows: Path, dead: Path) -> None:
    table = rows_of(rows, PICKED).to_pylist()
    deleted(rows, dead)
    table[0]["_source"]["offset"] = RECORDS
    write_deltalake(str(rows), pa.Table.from_pylist(table, DeltaTable(str(rows)).to_pyarrow_table().schema), mode="append")


@pytest.mark.parametrize(
    ("tamper", "wrong"),
    [
        (doubled, {"duplicates": 1, "rows": 1993}),
        (deleted, {"missing": 1, "rows": 1991}),
        (changed, {"altered": 1}),
        (moved, {"missing": 1, "strange": 1}),
    ],
)
def test_what_was_changed_is_found(topic: Topic, tables: tuple[Path, Path], tamper: Callable[[Path, Path], None], wrong: dict[str, int]) -> None:
    tamper(*tables)
    found = counted(topic, tables)
    assert not found.clean
    assert dataclasses.replace(found, cents_found=CLEAN.cents_found) == dataclasses.replace(CLEAN, **wrong)


def test_the_amounts_are_added_up_from_the_table(topic: Topic, tables: tuple[Path, Path]) -> None:
    before = counted(topic, tables).cents_found
    changed(*tables)
    assert counted(topic, tables).cents_found == before + 1


def test_a_record_that_kafka_lacks_is_no_place_for_a_row(topic: Topic, tables: tuple[Path, Path]) -> None:
    topic[0][5] = -1
    found = counted(topic, tables)
    assert (found.in_kafka, found.strange, found.missing, found.clean) == (RECORDS - 1, 1, 0, False)


def test_dead_letters_are_compared_byte_by_byte(topic: Topic, tables: tuple[Path, Path]) -> None:
    letters = DeltaTable(str(tables[1])).to_pyarrow_table()
    values = letters.column("value").to_pylist()
    other = letters.set_column(0, "value", pa.array([values[0] + b" ", *values[1:]], pa.binary()))
    write_deltalake(str(tables[1]), other, mode="overwrite")
    found = counted(topic, tables)
    assert (found.altered, found.missing, found.duplicates, found.clean) == (1, 0, 0, False)
