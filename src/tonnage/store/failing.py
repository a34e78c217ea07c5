"""What can go wrong with a store, said in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from tonnage.errors import EnvironmentProblem, Problem


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn the library's errors into problems with a next step."""
    try:
        yield
    except apsw.NotADBError as error:
        what, hint = f"this is not a store of ours ({error})", "move the file away; a new one is made"
        raise EnvironmentProblem(Problem(code="STORE-001", what=what, where=str(path), hint=hint)) from error
    except apsw.CorruptError as error:
        what = f"the store is damaged ({error})"
        hint = "move it away and keep it: `sqlite3 FILE .recover` may read it; a new one is made"
        raise EnvironmentProblem(Problem(code="STORE-002", what=what, where=str(path), hint=hint)) from error
    except apsw.BusyError as error:
        what = "another process has held the store for too long"
        hint = "try again; if nothing else runs, look who has the file open"
        raise EnvironmentProblem(Problem(code="STORE-003", what=what, where=str(path), hint=hint)) from error
    except (apsw.FullError, apsw.IOError) as error:
        what, hint = f"the store cannot be written ({error})", "free space on that disk"
        raise EnvironmentProblem(Problem(code="STORE-004", what=what, where=str(path), hint=hint)) from error
    except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError, OSError) as error:
        what, hint = f"the store cannot be opened ({error})", "set TONNAGE_HOME to a folder you may write to"
        raise EnvironmentProblem(Problem(code="STORE-005", what=what, where=str(path), hint=hint)) from error


def made_by_a_newer(path: Path, found: int, known: int) -> EnvironmentProblem:
    """A store from the future is left alone: reading it wrongly could lose what it says."""
    return EnvironmentProblem(
        Problem(
            code="STORE-006",
            what="the store was made by a newer Tonnage",
            where=str(path),
            found=f"version {found}",
            expected=f"at most {known}",
            hint="upgrade Tonnage, or set TONNAGE_HOME to another folder",
        )
    )
