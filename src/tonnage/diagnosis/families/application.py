"""The program's own errors: exceptions, crashes, numbers that are none, checkpoints that cannot be read.

Named errors are roots. Any other exception at the end of a traceback is the program's too (`PROGRAM`), unless it only
repeats what a launcher or a collective said.
"""

from __future__ import annotations

import re

from tonnage.diagnosis.classes import UNKNOWN
from tonnage.diagnosis.rules import Family, Reading, Sign, Tier, rule

_PREFIX = r"^(?:\[?\w+[\w .:/()=-]*\]:? ?)*"
_OWN = (
    "FileNotFoundError|ModuleNotFoundError|ImportError|KeyError|TypeError|NameError|AttributeError|ValueError|"
    "IndexError|PermissionError|SyntaxError|IndentationError|AssertionError|ZeroDivisionError|NotImplementedError|"
    "UnicodeDecodeError|RecursionError|IsADirectoryError|NotADirectoryError|FileExistsError|UnboundLocalError|"
    "json.decoder.JSONDecodeError|yaml\\.\\S+Error|argparse.ArgumentError|omegaconf\\S*|hydra\\S*|StopIteration"
)
_REPEATS = re.compile(
    r"ChildFailedError|SignalException|ProcessExitedException|ProcessRaisedException|CalledProcessError|RayTaskError|"
    r"DistBackendError|DistStoreError|DistNetworkError|NCCL|nccl|[Gg]loo|c10d|[Rr]endezvous|ActorDiedError|"
    r"WorkerCrashedError|BrokenProcessPool|DataLoader worker|The above exception|EOFError|ConnectionError|"
    r"BrokenPipeError|ConnectionResetError|queue\.Empty|KeyboardInterrupt|SystemExit"
)


def _not_repeated(read: Reading) -> Sign | None:
    return None if _REPEATS.search(read.statement.text) else read.sign


_READING = re.compile(
    r"torch[./]load|load_checkpoint|load_state|resume|from_pretrained|unpickl|safetensors|serialization", re.I
)


def _in_reading(read: Reading) -> Sign | None:
    """An early end of file is a checkpoint's only where one was being read."""
    return read.sign if _READING.search(read.before(15)) else None


FAMILY = Family(rules=(
    rule("APP-04", r"PytorchStreamReader failed|failed finding central directory|invalid header or archive is corrupted|"
         r"UnpicklingError|[Ee]rror while deserializing(?: header)?|HeaderTooLarge|InvalidHeader|"
         r"MetadataIncompleteBuffer|not a ZIP archive|BadZipFile|unexpected EOF, expected \d+ more bytes|"
         r"storage has wrong (?:byte )?size|checkpoint .*(?:corrupt|truncated)|zlib\.error|"
         r"[Cc]orrupt(?:ed)? checkpoint|Invalid magic number", Tier.ROOT, 0.92),
    rule("APP-04", r"EOFError: (?:Ran out of input|Compressed file ended|.*)|^EOFError$", Tier.ROOT, 0.8,
         weigh=_in_reading),
    rule("APP-02", r"[Ll]oss (?:is|became|=|:) ?(?:nan|NaN|inf)\b.*(?:stop|abort|exit|diverg)|is NAN!|"
         r"(?:nan|NaN|NAN|inf)\b.{0,40}(?:[Ss]top(?:ping)? [Tt]raining|stopping|aborting)|"
         r"(?:ValueError|RuntimeError|FloatingPointError|Exception|AssertionError).*\b(?:nan|NaN|NAN|non-finite|not finite)\b|"
         r"returned nan values|Minimum loss scale reached|loss scale.*(?:below|already at minimum)|"
         r"[Tt]raining diverged|DetectAnomaly", Tier.ROOT, 0.9),
    rule("APP-03", r"[Ss]egmentation fault|SIGSEGV|Signal 11|exitcode ?: ?-11\b|\bcode -11\b|segfault at |"
         r"return ?code ?= ?-11\b|Fatal Python error: (?!Aborted)", Tier.ROOT, 0.9),
    rule("APP-03", r"exitCode: (?:139|245)\b|exit(?:ed)? (?:with )?code:? 139\b|core dumped", Tier.EXIT, 0.85),
    rule("APP-01", r"\b40[13] (?:Client Error|Forbidden|Unauthorized)|GatedRepoError|RepositoryNotFoundError|"
         r"Cannot access gated repo|Invalid (?:user )?token|AccessDenied|InvalidAccessKeyId|NoCredentials|"
         r"LocalEntryNotFoundError|EntryNotFoundError|HFValidationError|is not a valid model identifier|"
         r"command not found|No such file or directory$|can't open file|unrecognized arguments|"
         r"invalid device ordinal|the following arguments are required|No module named", Tier.PROGRAM, 0.88),
    rule("APP-01", rf"{_PREFIX}(?:{_OWN})(?::|$)", Tier.PROGRAM, 0.85, weigh=_not_repeated),
    rule("APP-01", rf"{_PREFIX}(?:\w+\.)*\w*(?:Error|Exception)(?:: |$)", Tier.PROGRAM, 0.7, weigh=_not_repeated),
    rule("APP-05", r"no progress for \d+|[Tt]raining (?:hang|hung|stuck)|appears to be hung|"
         r"py-spy dump.*(?:futex|wait)", Tier.EXIT, 0.6),
    rule(UNKNOWN, r"exitCode\"?: 137\b|exit(?:ed)? (?:with )?(?:code|status):? 137\b", Tier.EXIT, 0.6, is_root=None),
    rule(UNKNOWN, r"exitCode\"?: 143\b|exitcode ?: ?-15\b", Tier.WRAPPER, 0.5, is_root=None),
    rule(UNKNOWN, r"exitCode\"?: (?:134|250)\b|exitcode ?: ?-6\b", Tier.WRAPPER, 0.5, is_root=None),
))  # fmt: skip
