"""Small trainings to run: each says what it does."""

COUNTING = """
from tonnage_agent import sdk
import time
run = sdk.attach()
run.resume()
for step in run.steps({total}, save=lambda folder: (folder / "state").write_text(str(step))):
    time.sleep({pause})
print("counted")
"""
LEAKING = """
from tonnage_agent import sdk
import time
run = sdk.attach()
run.resume()
kept = []
for step in run.steps({total}, save=lambda folder: (folder / "state").write_text(str(step))):
    kept.append(bytearray({bytes}))
    time.sleep({pause})
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(60)
"""
FORKING = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open("daemon", "w").write(str(os.getpid()))
        time.sleep(60)
    os._exit(0)
time.sleep(0.5)
raise SystemExit(3)
"""


def counting(total: int = 5, pause: float = 0.01) -> str:
    return COUNTING.format(total=total, pause=pause)


def leaking(total: int = 1000, bytes_: int = 4 * 1024**2, pause: float = 0.02) -> str:
    return LEAKING.format(total=total, bytes=bytes_, pause=pause)
