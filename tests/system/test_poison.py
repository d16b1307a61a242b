"""Records that cannot be rows, and dead letters that cannot be kept. Faults 17 and 18 of the list in docs/faults.md."""

from __future__ import annotations

import random
import signal

import pyarrow as pa
from confluent_kafka import Producer

from harness.history import delta_files
from harness.load import is_good, produce, read_topic
from harness.oracle import coordinates, delta_rows, judge
from harness.process import Pipeline

GOOD = b'{"n":1,"text":"x"}'
POISON = [
    *(b"", b" \r\n\t", b"{", b"}", b"n", b'"', b"\xff\xfe", b"\x00", b"\xef\xbb\xbf" + GOOD, b'{"n":1,"text":"\xc3"}', b'{"n":1,"text":"\\ud800"}'),
    *(b"[]", b"1", b'"n"', b"null", b"true", b"NaN", b"{}", b'{"text":"x"}', b'{"n":null}'),
    *(
        b'{"n":"1"}',
        b'{"n":1.5}',
        b'{"n":1e400}',
        b'{"n":9223372036854775808}',
        b'{"n":true}',
        b'{"n":[1]}',
        b'{"n":{"n":1}}',
        b'{"n":NaN}',
        b'{"n":-Infinity}',
    ),
    *(b'{"n":01}', b'{"n":+1}', b'{"n":1.}', b'{"n":.5}', b'{"n":1,"text":5}', b'{"n":1,"text":{}}', b'{"n":1,"text":"a\nb"}', b'{"n":1,"text":"\\x"}'),
    *(b'{"n":1,}', b"{'n':1}", b'{"n":1/**/}', GOOD + GOOD, GOOD + b"\n" + GOOD, GOOD + b",", b"," + GOOD, GOOD + b"],[" + GOOD, GOOD + b" x"),
    *(b'{"z":[1', b'2],"n":1}', b'{"z":"x', b'y","n":1}', b"[" * 100_000, b'{"n":1,"z":' + b"[" * 300 + b"]" * 300 + b"}"),
]
"""Every kind that the decode contract knows, some of which are documents only together with their neighbours."""
HEADERS = [[], [("trace", b"\x00\xff"), ("trace", None), ("", b"")], [("ключ", "ä".encode())]]


def poison(pipeline: Pipeline, count: int, *, seed: int) -> None:
    """Produce so many malformed records in a row into each partition, with keys and headers of all sorts."""
    chance = random.Random(seed)
    producer = Producer({"bootstrap.servers": pipeline.servers, "linger.ms": 20, "queue.buffering.max.messages": 500_000})
    for number in range(count):
        for partition in range(4):
            value = POISON[number] if number < len(POISON) else chance.choice(POISON[:-2])
            key = chance.choice([None, b"", b"\xff\x00", str(number).encode()])
            producer.produce(pipeline.topic, value, key, partition=partition, headers=chance.choice(HEADERS))
        producer.poll(0)
    assert producer.flush(60) == 0


def test_ten_thousand_malformed_records_in_a_row_are_kept_as_they_were(pipeline: Pipeline, seed: int) -> None:
    produce(pipeline.servers, pipeline.topic, 10_000, seed=seed)
    poison(pipeline, 10_000, seed=seed)
    produce(pipeline.servers, pipeline.topic, 10_000, first=10_000, seed=seed + 1)
    ended = pipeline.run()
    assert ended.code == 0, ended.errors
    kafka, rows, letters = read_topic(pipeline.servers, pipeline.topic), delta_rows(pipeline.table), delta_rows(pipeline.dead)
    assert (verdict := judge(kafka, rows, letters)), verdict
    malformed = {place for place, record in kafka.items() if record.value in POISON or not is_good(record.value)}
    assert set(coordinates(letters)) == malformed, "no malformed record is a row, no good one before or behind them a dead letter"
    assert len(malformed) > 40_000
    assert all(letters.column("reason").to_pylist()), "each says why"

    # The negative control: one byte too many, another key, a header too many are seen.
    (row,) = letters.slice(letters.num_rows // 2, 1).to_pylist()
    for change in ({"value": row["value"] + b" "}, {"key": b"another"}, {"headers": [*(row["headers"] or []), {"key": "x", "value": None}]}):
        changed = pa.Table.from_pylist([{**row, **change}], schema=letters.schema)
        around = [letters.slice(0, letters.num_rows // 2), letters.slice(letters.num_rows // 2 + 1)]
        assert len(judge(kafka, rows, pa.concat_tables([*around, changed])).altered) == 1


def test_a_dead_letter_table_that_takes_nothing_holds_the_batch_until_it_does(pipeline: Pipeline, seed: int) -> None:
    produce(pipeline.servers, pipeline.topic, 2_500, seed=seed)
    pipeline.write(trigger="continuously")
    with pipeline.watched("rows") as readers, pipeline.start() as instance:
        instance.wait_until((pipeline.checkpoint / "commits/0").exists, "batch 0")
        before = pipeline.versions()
        away = pipeline.dead.rename(pipeline.folder / "away")
        pipeline.dead.touch()  # a file where the folder was: nobody can write there, not even root
        poison(pipeline, 200, seed=seed)  # whatever the next batch spans, there is poison in it
        instance.wait_until(lambda: len(instance.events("trying again")) >= 2, "the second attempt")
        assert not (pipeline.checkpoint / "commits/1").exists()
        assert delta_files(pipeline.table)[0] == before[0], "no row of the batch is visible either"
        pipeline.dead.unlink()
        away.rename(pipeline.dead)
        instance.wait_until(lambda: delta_rows(pipeline.table).num_rows + delta_rows(pipeline.dead).num_rows >= 2_500 + 4 * 200, "all is in", pause=0.5)
        instance.process.send_signal(signal.SIGTERM)
        assert instance.ended().code == 0
    for said in instance.events("trying again"):
        assert (said["code"], said["where"]) in [("table_unreachable", str(pipeline.dead)), ("sink_not_writable", str(pipeline.dead))]
    assert (verdict := pipeline.verdict()), verdict
    assert pipeline.versions()[0] == pipeline.done() + 1, "each batch is one version"
    backwards = pipeline.history(readers).backwards  # whole batches are for loads that Python's reader judges as ours does
    assert not backwards, backwards
