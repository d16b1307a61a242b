"""`penstock plan`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from penstock.builtin import KINDS
from penstock.cli.arguments import AsJson, Settings, Target
from penstock.cli.target import in_file, load_target
from penstock.plan.as_json import as_json as plan_as_json
from penstock.plan.build import build
from penstock.plan.explain import entry, explain
from penstock.plan.steps import RunPlan


def plan(
    context: typer.Context,
    target: Target,
    settings: Settings = None,
    check: Annotated[bool, typer.Option("--check", help="Have Spark analyse the transforms too, over an empty frame (some seconds).")] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a pipeline will do and promises; changes nothing."""
    built = build(load_target(target, KINDS, settings or ()), KINDS)
    with in_file(target):
        checked = _checked(context, built) if check else None
    if as_json:
        print(json.dumps({**plan_as_json(built), **({"checked": checked} if checked else {})}, ensure_ascii=False, indent=2))
    else:
        print("\n\n".join([explain(built), *(["\n".join(_in_words(checked))] if checked else [])]))


def _checked(context: typer.Context, built: RunPlan) -> dict[str, Any]:
    from penstock.cli.run import spark_log
    from penstock.devstack.progress import shown_progress
    from penstock.run.start import SparkOptions, columns_of

    with shown_progress() as progress:
        shape, spark = columns_of(built, KINDS, SparkOptions(master="local[1]", log=spark_log(context, built.name)), progress)
    columns = {column.name: str(column.type) for column in shape.columns}
    return {"spark": spark, "columns": columns, "way": shape.way.value, "changed_by": shape.changed_by}


def _in_words(checked: dict[str, Any]) -> list[str]:
    lines = entry("checked", f"by Spark {checked['spark']}, over an empty frame")
    columns = ", ".join(name if name == "_source" else f"{name} {kind}" for name, kind in checked["columns"].items())
    lines += entry("columns", columns)
    if checked["changed_by"] is None:
        return [*lines, *entry("", "each row is one record, and `_source` says which")]
    traced = "`_source` is carried, but" if "_source" in checked["columns"] else "`_source` is gone and"
    return [*lines, *entry("", f"{checked['changed_by']} makes other rows out of the records: {traced} `audit` proves the records only up to it")]
