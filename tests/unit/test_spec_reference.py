"""The reference is made of the models: every key is in it, and the JSON Schema accepts the example."""

from __future__ import annotations

import json
from typing import Any

from penstock.builtin import KINDS
from penstock.kinds import Kind, Options
from penstock.spec.model import PipelineBlocks
from penstock.spec.reference import json_schema, markdown


def test_every_key_of_every_block_is_described() -> None:
    text = markdown(KINDS)
    kinds: list[Kind[Any]] = [*KINDS.decoders.values(), *KINDS.transforms.values(), *KINDS.sinks.values()]
    assert kinds
    models: list[type[Options]] = [PipelineBlocks, *(kind.options for kind in kinds)]
    for model in models:
        for name, info in model.model_fields.items():
            assert info.description, f"{model.__name__}.{name} has no description"
            row = next(line for line in text.splitlines() if line.startswith(f"| `{info.alias or name}` |"))
            assert row.count("|") - row.count("\\|") == 5
    for kind in kinds:
        assert f"{{type: {kind.name}}}`" in text
        assert kind.summary


def test_what_a_key_accepts_is_said_in_words() -> None:
    rows = {line.split("`")[1]: line for line in markdown(KINDS).splitlines() if line.startswith("| `")}
    assert rows["topics"] == "| `topics` | list of text | **required** | the topics, by name |"
    assert rows["on_gap"].startswith("| `on_gap` | `stop` | `stop` |")
    assert rows["path"].startswith("| `path` | path or URI | **required** |")
    assert rows["records_per_batch"].startswith("| `records_per_batch` | whole number | `500000` |")
    assert rows["transform"].startswith("| `transform` | list of blocks | none |")
    assert rows["rate"].startswith("| `rate` | block | `records_per_batch: 500000` |")


def test_the_json_schema_knows_every_kind_and_closes_every_block() -> None:
    schema = json_schema(KINDS)
    assert schema["required"] == ["name", "kafka", "source", "decode", "sink", "state"]
    assert [each["properties"]["type"] for each in schema["properties"]["sink"]["oneOf"]] == [{"const": "delta"}, {"const": "console"}]
    assert [each["properties"]["type"] for each in schema["properties"]["transform"]["items"]["oneOf"]] == [{"const": name} for name in KINDS.transforms]
    assert json.dumps(schema).count('"additionalProperties": false') == 4 + 1 + 3 + 2 * 2
    assert schema["properties"]["sink"]["oneOf"][0]["required"] == ["type", "path"]
