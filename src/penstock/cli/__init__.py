"""The command `penstock`: one thin file a command, loaded only when it is called."""

import sys

PYTHONS = ((3, 10), (3, 13))
NEEDS_A_PERSON = 5  # the exit code of `errors.Fatal`, which an old Python cannot import


def _demand_python() -> None:
    """End the command on any other Python: an older one cannot read our files, under a newer one Spark's workers fail."""
    running = sys.version_info[0], sys.version_info[1]
    if PYTHONS[0] <= running <= PYTHONS[1]:
        return
    sys.stderr.write(
        f"error: Penstock runs on Python 3.10 to 3.13, this is Python {running[0]}.{running[1]}\n"
        f"where: {sys.executable}\n"
        "next:  create the virtual environment with another Python and install Penstock there\n"
    )
    raise SystemExit(NEEDS_A_PERSON)


_demand_python()

from penstock.cli.app import main  # noqa: E402 - only now

__all__ = ["main"]
