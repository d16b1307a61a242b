"""The arguments that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

Target = Annotated[str, typer.Argument(metavar="FILE|MODULE:PIPELINE", help="The pipeline's YAML file, or a Pipeline in a Python module.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Replace one value of the file: --set sink.path=lake/test. May be repeated.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs; errors too.")]
