"""What a command works on: a pipeline's file, or `module:pipeline` in Python."""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import Fault, PenstockError, SpecError
from penstock.kinds import Kinds
from penstock.spec import Pipeline, PipelineSpec, load
from penstock.spec.load import located

_MODULE = re.compile(r"(?P<module>[A-Za-z_][\w.]*):(?P<name>[A-Za-z_]\w*)")


def load_target(target: str, kinds: Kinds, overrides: Sequence[str] = ()) -> PipelineSpec:
    """The checked pipeline that the target names; `SpecError` carries everything that is wrong with it."""
    found = _MODULE.fullmatch(target)
    if found is None or Path(target).exists():
        return load(target, kinds, overrides)
    return _pipeline(target, found["module"], found["name"]).spec(kinds, overrides)


@contextmanager
def in_file(target: str) -> Iterator[None]:
    """Faults of the file that only Spark finds are shown with their lines in it."""
    try:
        yield
    except SpecError as error:
        raise located(error, target) from error.__cause__


def _pipeline(target: str, module: str, name: str) -> Pipeline:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        loaded = importlib.import_module(module)
    except PenstockError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (module == error.name or module.startswith(f"{error.name}.")):
            remedy = f"run the command where it can be imported: looked in {here} and the Python path"
            raise _fault(target, "module", f"there is no module `{module}`", remedy) from None
        raise _broken(target, error) from error
    except Exception as error:  # the user's module may raise anything: it is reported as its own fault
        raise _broken(target, error) from error
    found = getattr(loaded, name, None)
    if isinstance(found, Pipeline):
        return found
    others = [each for each, value in vars(loaded).items() if isinstance(value, Pipeline)]
    what = f"`{module}` has no `{name}`" if found is None else f"`{name}` is of the type {type(found).__name__}, and no Pipeline"
    raise _fault(target, name, what, f"name one of its pipelines: {', '.join(others)}" if others else f"make one there: {name} = Pipeline(name=…)")


def _broken(target: str, error: Exception) -> SpecError:
    """The user's module as one fault: at the last line of the user's own, not of a library it called."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename and frame.filename != __file__]
    own = [frame for frame in frames if "site-packages" not in frame.filename] or frames
    file, line = (own[-1].filename, own[-1].lineno) if own else (getattr(error, "filename", None) or target, getattr(error, "lineno", None))
    message = error.msg if isinstance(error, SyntaxError) else str(error)
    text = message.splitlines()[0] if message else "no message"
    what = f"importing it failed: {type(error).__name__}: {text}"
    return SpecError([Fault("module", line, what, "mend the module; `--debug` shows its traceback")], file=file)


def _fault(file: str, path: str, what: str, remedy: str) -> SpecError:
    return SpecError([Fault(path, None, what, remedy)], file=file)
