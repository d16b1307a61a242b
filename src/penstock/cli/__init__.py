"""The command `penstock`: one thin file a command, loaded only when it is called."""

from penstock.cli.app import main

__all__ = ["main"]
