"""The program's own errors: exceptions, crashes, numbers that are none, checkpoints that cannot be read.

Named errors are roots. Any other exception at the end of a traceback is the program's too (`PROGRAM`), unless it only
repeats what a launcher or a collective said.
"""

from __future__ import annotations

import re

from tonnage.diagnosis.classes import UNKNOWN
from tonnage.diagnosis.families.killing import is_outsiders
from tonnage.diagnosis.rules import Family, Reading, Sign, Tier, rule

_STAMP = r"(?:\w{3} \d\d |\d{4}[-/]\d\d[-/]\d\d[T ])?\d\d:\d\d:\d\d\S* *(?:[|:-] *)?"
_LEVEL = r"(?:ERROR|CRITICAL|FATAL|error|stderr F)\b *(?:[|:-]+ *)?"
_PREFIX = (
    rf"^(?:{_STAMP})?(?:\[[^\]]{{1,80}}\]:? *){{0,3}}(?:\([^)]{{1,80}}\) *)?(?:{_LEVEL})?(?:\S{{1,60}} \| )?"
)
"""Times, ranks, levels and services that stand before an exception's name."""
_OWN = (
    "FileNotFoundError", "ModuleNotFoundError", "ImportError", "KeyError", "TypeError", "NameError", "AttributeError",
    "ValueError", "IndexError", "PermissionError", "SyntaxError", "IndentationError", "AssertionError",
    "ZeroDivisionError", "NotImplementedError", "UnicodeDecodeError", "RecursionError", "IsADirectoryError",
    "NotADirectoryError", "FileExistsError", "UnboundLocalError", "JSONDecodeError", "ArgumentError",
)  # fmt: skip
_REPEATS = re.compile(
    r"ChildFailedError|SignalException|ProcessExitedException|ProcessRaisedException|CalledProcessError|RayTaskError|"
    r"DistBackendError|DistStoreError|DistNetworkError|NCCL|nccl|[Gg]loo|c10d|[Rr]endezvous|ActorDiedError|"
    r"WorkerCrashedError|BrokenProcessPool|DataLoader worker|The above exception|EOFError|ConnectionError|"
    r"terminated with (?:signal|code)|exited with code|non-zero exit status|"
    r"BrokenPipeError|ConnectionResetError|queue\.Empty|KeyboardInterrupt|SystemExit"
)


def _not_repeated(read: Reading) -> Sign | None:
    """An exception is what the program printed: an event's own word for a failure is `Error` too."""
    if read.statement.kind == "event":
        return None
    return None if _REPEATS.search(read.statement.text) else read.sign


_READING = re.compile(
    r"torch[./]load|load_checkpoint|load_state|resume|from_pretrained|unpickl|safetensors|serialization|trainer_state",
    re.I,
)


def _in_reading(read: Reading) -> Sign | None:
    """An early end of file is a checkpoint's only where one was being read."""
    return read.sign if _READING.search(read.before(15)) else None


def _unless_explained(read: Reading) -> Sign | None:
    """A kill whose sender is known to be no kernel is told by the kill itself."""
    return None if is_outsiders(read.view, read.statement.node) else read.sign


FAMILY = Family(
    rules=(
        rule(
            "APP-04",
            Tier.ROOT,
            0.92,
            r"PytorchStreamReader failed",
            r"failed finding central directory",
            r"invalid header or archive is corrupted",
            r"UnpicklingError",
            r"[Ee]rror while deserializing(?: header)?",
            r"HeaderTooLarge",
            r"InvalidHeader",
            r"MetadataIncompleteBuffer",
            r"not a ZIP archive",
            r"BadZipFile",
            r"unexpected EOF, expected \d+ more bytes",
            r"storage has wrong (?:byte )?size",
            r"checkpoint .*(?:corrupt|truncated)",
            r"zlib\.error",
            r"Unable to load weights from pytorch checkpoint file",
            r"[Cc]orrupt(?:ed)? checkpoint",
            r"Invalid magic number",
            r"truncated file: eof",
            r"No such file or directory: '[^']*/\.metadata'",
            r"[Dd]ata ?[Ll]oss(?:Error)?: .*(?:checksum|corrupt|truncated|too short)",
        ),
        rule(
            "APP-04",
            Tier.ROOT,
            0.8,
            r"EOFError: (?:Ran out of input|Compressed file ended|.*)",
            r"^EOFError$",
            r"JSONDecodeError: ",
            weigh=_in_reading,
        ),
        rule(
            "APP-02",
            Tier.ROOT,
            0.9,
            r"[Ll]oss (?:is|became|=|:) ?(?:nan|NaN|inf)\b.*(?:stop|abort|exit|diverg)",
            r"is NAN!",
            r"(?:nan|NaN|NAN|inf)\b.{0,40}[Ss]top(?:ping)? [Tt]raining",
            r"(?:nan|NaN|NAN|inf)\b.{0,40}stopping",
            r"(?:nan|NaN|NAN|inf)\b.{0,40}aborting",
            r"Error: .*\b(?:[Nn]a[Nn]|NAN|non-finite|not finite)\b",
            r"Error: .*\b[Ll]oss\b.{0,20}\binf(?:inite)?\b",
            r"Exception: .*\b(?:[Nn]a[Nn]|NAN|non-finite|not finite)\b",
            r"Monitored metric .* is not finite",
            r"returned nan values",
            r"loss returned in .* is (?:nan|inf)",
            r"Minimum loss scale reached",
            r"loss scale.*(?:below|already at minimum)",
            r"[Tt]raining diverged",
            r"DetectAnomaly",
        ),
        rule(
            "APP-03",
            Tier.ROOT,
            0.9,
            r"[Ss]egmentation fault",
            r"SIGSEGV",
            r"Signal 11",
            r"exitcode ?: ?-11\b",
            r"\bcode -11\b",
            r"segfault at ",
            r"return ?code ?= ?-11\b",
            r"Fatal Python error: (?!Aborted|Bus)",
            r"double free or corruption|(?:free|malloc|munmap_chunk|realloc)\(\): \w+|corrupted size vs",
            r"Illegal instruction",
        ),
        rule(
            "APP-03",
            Tier.EXIT,
            0.85,
            r"exitCode: (?:139|245)\b",
            r"[Ee]xit(?:ed)? (?:with )?[Cc]ode:? +139\b",
            r"(?<!Bus error \()(?<!Aborted \()core dumped",
        ),
        rule(
            "APP-01",
            Tier.PROGRAM,
            0.88,
            r"\b40[13] Client Error",
            r"\b40[13] Forbidden",
            r"\b40[13] Unauthorized",
            r"GatedRepoError",
            r"RepositoryNotFoundError",
            r"Cannot access gated repo",
            r"Invalid (?:user )?token",
            r"AccessDenied",
            r"InvalidAccessKeyId",
            r"NoCredentials",
            r"LocalEntryNotFoundError",
            r"EntryNotFoundError",
            r"HFValidationError",
            r"is not a valid model identifier",
            r"command not found",
            r"\bsh: (?:\d+: |line \d+: )?\S+: not found$",
            r"No such file or directory$",
            r"can't open file",
            r"unrecognized arguments",
            r"invalid device ordinal",
            r"the following arguments are required",
            r"No module named",
            r"^\S+\.py: error: ",
            r"error: argument -",
        ),
        rule(
            "APP-01",
            Tier.PROGRAM,
            0.85,
            *(rf"{_PREFIX}[\w.]{{0,80}}{name}(?::|$)" for name in _OWN),
            weigh=_not_repeated,
        ),
        rule(
            "APP-01",
            Tier.PROGRAM,
            0.7,
            rf"{_PREFIX}[\w.]{{0,80}}Error(?:: |$)",
            rf"{_PREFIX}[\w.]{{0,80}}Exception(?:: |$)",
            weigh=_not_repeated,
        ),
        rule(
            "APP-05",
            Tier.EXIT,
            0.6,
            r"no progress for \d+",
            r"[Tt]raining (?:hang|hung|stuck)",
            r"appears to be hung",
            r"py-spy dump.*(?:futex|wait)",
        ),
        rule(
            UNKNOWN,
            Tier.EXIT,
            0.6,
            r"exitCode\"?: 137\b",
            r"[Ee]xit(?:ed)? (?:with )?(?:[Cc]ode|[Ss]tatus):? +137\b",
            is_root=None,
            weigh=_unless_explained,
        ),
        rule(
            UNKNOWN,
            Tier.WRAPPER,
            0.5,
            r"exitCode\"?: 143\b",
            r"[Ee]xit [Cc]ode: +143\b",
            r"exitcode ?: ?-15\b",
            is_root=None,
        ),
        rule(
            UNKNOWN,
            Tier.WRAPPER,
            0.5,
            r"exitCode\"?: (?:134|250)\b",
            r"[Ee]xit [Cc]ode: +(?:134|250)\b",
            r"exitcode ?: ?-6\b",
            is_root=None,
        ),
    )
)
