"""The storage port: small state files by URI, created atomically. Local disk now; other schemes are refused by name."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol
from urllib.parse import unquote, urlsplit

from penstock.errors import PlanRefused, Retryable


class Storage(Protocol):
    """A folder of small files. A reader never sees half of one."""

    @property
    def uri(self) -> str:
        """Where the folder is, for messages and for Spark."""
        ...

    def read(self, name: str) -> bytes | None:
        """The whole file, or None where there is none."""
        ...

    def open(self, name: str) -> BinaryIO | None:
        """The file as a stream, for what may be large; None where there is none. Whoever opens it closes it."""
        ...

    def create(self, name: str, content: bytes) -> bool:
        """Make the file if it is absent, in one step; the answer says whether this call made it."""
        ...

    def replace(self, name: str, content: bytes) -> None:
        """Make or overwrite the file in one step."""
        ...

    def archive(self, name: str, parts: Iterable[bytes]) -> None:
        """Make or overwrite the file in one step, out of its parts; when this returns, the file survives a power cut.

        For what takes the place of files that are removed next. Where the parts raise, nothing was made.
        """
        ...

    def names(self, folder: str = "") -> Sequence[str]:
        """What lies directly in the folder, sorted; nothing where there is no such folder."""
        ...

    def delete(self, name: str) -> None:
        """Remove the file, if it is there."""
        ...

    def at(self, folder: str) -> Storage:
        """The folder inside this one."""
        ...


class LocalStorage:
    """A folder on a local or mounted file system."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def uri(self) -> str:
        return str(self._root)

    def read(self, name: str) -> bytes | None:
        try:
            return (self._root / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unreachable(self._root / name, error) from error

    def open(self, name: str) -> BinaryIO | None:
        try:
            return (self._root / name).open("rb")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise unreachable(self._root / name, error) from error

    def create(self, name: str, content: bytes) -> bool:
        target = self._root / name
        try:
            fresh = self._write_beside(target, content)
            try:
                os.link(fresh, target)  # fails if the target exists, also between two processes
            except FileExistsError:
                return False
            finally:
                fresh.unlink()
        except OSError as error:
            raise unreachable(target, error) from error
        return True

    def replace(self, name: str, content: bytes) -> None:
        target = self._root / name
        try:
            self._write_beside(target, content).replace(target)
        except OSError as error:
            raise unreachable(target, error) from error

    def archive(self, name: str, parts: Iterable[bytes]) -> None:
        target = self._root / name
        fresh = _fresh_name(target)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with fresh.open("wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(target)
            _sync_folder(target.parent)
        except OSError as error:
            raise unreachable(target, error) from error
        finally:
            fresh.unlink(missing_ok=True)

    def names(self, folder: str = "") -> Sequence[str]:
        try:
            return sorted(entry.name for entry in os.scandir(self._root / folder) if not entry.name.startswith(".new-"))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise unreachable(self._root / folder, error) from error

    def delete(self, name: str) -> None:
        try:
            with contextlib.suppress(FileNotFoundError):
                (self._root / name).unlink()
        except OSError as error:
            raise unreachable(self._root / name, error) from error

    def at(self, folder: str) -> LocalStorage:
        return LocalStorage(self._root / folder)

    @staticmethod
    def _write_beside(target: Path, content: bytes) -> Path:
        """A new file beside the target; a crash leaves only this behind, which no reader looks at."""
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = _fresh_name(target)
        fresh.write_bytes(content)
        return fresh


def _fresh_name(target: Path) -> Path:
    return target.with_name(f".new-{uuid.uuid4().hex}")


def _sync_folder(folder: Path) -> None:
    """Bring the folder's list of names to the disk, without which a file that was renamed is not safe."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def storage_at(uri: str) -> Storage:
    """The folder that a URI or a plain path names."""
    return LocalStorage(Path(local_path(uri)))


def local_path(uri: str) -> str:
    """The local path that a URI or a plain path names; any other scheme is refused."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return unquote(parts.path)
    if "://" in uri:
        raise PlanRefused(
            f"this version keeps tables and state on local or mounted disks, not at {parts.scheme}://",
            code="storage_scheme",
            where=uri,
            next_step="name a path, or a file:// URI",
        )
    return uri


def unreachable(path: Path, error: OSError) -> Retryable:
    """The translation of what the file system says."""
    return Retryable(
        f"a state file cannot be reached: {error.strerror or error}",
        code="state_unreachable",
        where=str(path),
        next_step="see that the place exists, has space and may be read and written; running again is safe",
    )


def demand_writable(uri: str, *, what: str) -> None:
    """Refuse a place where no folder can be made or written to, by looking only."""
    here = wanted = Path(local_path(uri))
    while not os.path.lexists(here) and here != here.parent:
        here = here.parent
    if reason := _not_writable(here):
        raise PlanRefused(
            f"{what} cannot be written: {here} {reason}",
            code="not_writable",
            where=str(wanted),
            next_step="name another place, or make this one a folder that this user may write to",
        )


def _not_writable(folder: Path) -> str:
    if not folder.is_dir():
        return "is no folder"
    if os.statvfs(folder).f_flag & os.ST_RDONLY:
        return "is on a file system that is mounted read-only"
    effective = os.access in os.supports_effective_ids
    return "" if os.access(folder, os.W_OK | os.X_OK, effective_ids=effective) else "may not be written to by this user"
