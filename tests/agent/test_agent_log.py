"""Steps, phases and failing ranks are read from what common trainers print; other lines are left alone."""

# ruff: noqa: E501 - text as programs and kernels write it
from __future__ import annotations

import pytest

from tonnage_agent.hearing.log import LogReader
from tonnage_agent.hearing.phases import phase_of
from tonnage_agent.hearing.ranks import RankReader
from tonnage_agent.hearing.steps import StepReader

STEPS = [
    ("step 12/100 loss 1.8", {"step": 12, "total": 100, "loss": 1.8}),
    ("Step 12 | loss:1.234 lr:2e-5 tokens_per_second_per_gpu:1234.5", {"step": 12, "loss": 1.234}),
    ("1|12|Loss: 1.2345:  10%|#         | 12/100 [00:10<01:20,  1.1s/it]",
     {"step": 12, "total": 100, "loss": 1.2345, "seconds": 1.1}),
    ("Epoch 1:  12%|#  | 12/100 [00:10<00:30,  8.0it/s, v_num=0, train_loss=1.8]",
     {"step": 112, "loss": 1.8, "seconds": 0.125}),
    (" iteration       12/     100 | consumed samples:          384 | elapsed time per iteration (ms): 812.0 | "
     "learning rate: 1.5E-04 | global batch size:    32 | lm loss: 1.081938E+01 | loss scale: 1.0 |",
     {"step": 12, "total": 100, "loss": 10.81938, "seconds": 0.812}),
    ("[2026-01-01 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[0.001], mom=[(0.9)]",
     {"step": 10}),
    ("steps: 10 loss: 2.3123 iter time (s): 0.512 samples/sec: 12.1", {"step": 10, "loss": 2.3123, "seconds": 0.512}),
    ("Epoch: [2]  [ 10/500]  eta: 0:01:00  lr: 0.1  img/s: 123.4  loss: 1.8 (1.9)  time: 0.5321 (0.6)  data: 0.1210 (0.2)",
     {"step": 1010, "loss": 1.8, "seconds": 0.5321, "data": 0.121}),
    ("Train: 3 [  50/1251 (  4%)]  Loss: 6.95 (6.95)  Time: 0.523s, 245.1/s", {"step": 3803, "loss": 6.95, "seconds": 0.523}),
    ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.300000", {"step": 60640, "loss": 2.3}),
    ("Epoch(train)  [1][  50/7330]  lr: 1.0e-03  eta: 1:20:00  time: 0.5123  data_time: 0.0212  memory: 5123  loss: 1.2345",
     {"step": 7380, "loss": 1.2345, "seconds": 0.5123, "data": 0.0212}),
    ("[08/01 12:00:00 d2.utils.events]:  eta: 0:20:00  iter: 19  total_loss: 5.123  time: 0.3012  data_time: 0.0123",
     {"step": 19, "loss": 5.123, "seconds": 0.3012, "data": 0.0123}),
    ("2026-01-01 | INFO | train_inner | epoch 001:    100 / 1500 loss=10.1, nll_loss=9.5, ppl=700, wps=12345",
     {"step": 1600, "loss": 10.1}),
    ("[rank0]:[titan] 2026-01-01 10:00:00,123 - root - INFO - step: 10  loss:  7.1234  memory:  12.3GiB(15.4%)  tps: 1,234",
     {"step": 10, "loss": 7.1234}),
    ("iter 100: loss 2.1043, time 12.50ms, mfu 12.1%", {"step": 100, "loss": 2.1043, "seconds": 0.0125}),
    ("completed step: 12, seconds: 1.234, TFLOP/s/device: 123.4, loss: 5.432", {"step": 12, "loss": 5.432, "seconds": 1.234}),
    ("global_step=120 train/loss=0.123", {"step": 120, "loss": 0.123}),
    ("[batch=12/100]:", {"step": 12, "total": 100}),
]  # fmt: skip
OTHERS = [
    "Step 1/3: downloading data", "step 1 of 5: installing packages", "loaded 1000 batches", "throughput 12 steps/s",
    "Map: 100%|##########| 2000/2000 [00:01<00:00, 1500.2 examples/s]",
    "Loading checkpoint shards:  50%|#####     | 1/2 [00:01<00:01,  1.2s/it]",
    "Validation DataLoader 0:  12%|#  | 12/100 [00:10<00:30]", "Test:  [ 10/500]  eta: 0:01:00  loss: 1.8 (1.9)",
    "eval step 12/100 loss 1.0", "Epoch 1/3", "pytorch_model.bin: 100%|####| 4.9G/4.9G [00:10<00:00, 480MB/s]", "",
    "saving at every 500 steps", "Epoch 12/100 loss: 1.0",
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), STEPS)
def test_a_step_of_a_common_trainer_is_read(line, expected):
    assert StepReader().read(line) == {"event": "step", **expected}


@pytest.mark.parametrize("line", OTHERS)
def test_other_lines_are_no_steps(line):
    assert StepReader().read(line) is None


def test_the_hugging_face_trainer_tells_loss_and_step_on_two_lines():
    reader = StepReader()

    assert reader.read("{'loss': 1.8, 'grad_norm': 0.9, 'learning_rate': 5e-05, 'epoch': 0.1}") is None
    assert reader.read(" 12%|#         | 12/100 [00:10<01:20,  1.0it/s]") == {
        "event": "step", "step": 12, "total": 100, "seconds": 1.0, "loss": 1.8,
    }  # fmt: skip
    assert reader.read("100%|##########| 10/10 [00:10<00:00,  1.0it/s]") is None  # the evaluation's bar


def test_keras_tells_the_epoch_before_its_steps():
    reader = StepReader()
    reader.read("Epoch 3/10")

    assert reader.read("12/100 [====>.........................] - ETA: 5s - loss: 1.8000") == {
        "event": "step", "step": 212, "loss": 1.8,
    }  # fmt: skip


def test_a_pattern_of_ones_own_replaces_all_others():
    reader = StepReader(r"tick (?P<step>\d+) of (?P<total>\d+), l=(?P<loss>[\d.]+)")

    assert reader.read("tick 3 of 9, l=0.5") == {"event": "step", "step": 3, "total": 9, "loss": 0.5}
    assert reader.read("step 12/100 loss 1.8") is None


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        ("Loading checkpoint shards:  50%|#####     | 1/2", "load"),
        ("Running tokenizer on dataset:   0%|", "preprocess"),
        ("Map (num_proc=8): 100%|###| 2000/2000", "preprocess"),
        ("Filling up shuffle buffer (this may take a while): 123 of 10000", "shuffle"),
        ("train: Caching images (1.2GB RAM): 100%", "cache"),
        ("Saving model checkpoint to out/checkpoint-500", "checkpoint"),
        ("saving checkpoint at iteration     500 to /ckpt", "checkpoint"),
        ("***** Running Evaluation *****", "eval"),
        ("Validation DataLoader 0:  12%|#", "eval"),
        ("[phase] warm-up", "warm-up"),
        ("everything is fine", ""),
        ("the model was saved", ""),
    ],
)
def test_phases_are_read_from_their_announcements(line, phase):
    assert phase_of(line) == phase


def test_a_step_ends_any_other_phase():
    log = LogReader()
    for line in (
        "Loading checkpoint shards: 1/2",
        "step 1/9 loss 1.0",
        "step 2/9 loss 1.0",
        "Saving model checkpoint to x",
    ):
        log.read(line)

    told = [event["name"] if event["event"] == "phase" else event["step"] for event in log.taken()]
    assert told == ["load", "step", 1, 2, "checkpoint"]
    assert log.taken() == []


@pytest.mark.parametrize(("line", "expected"), STEPS)
def test_no_step_is_lost_to_the_quick_look(line, expected):
    log = LogReader()
    log.read(line)

    assert [event["step"] for event in log.taken() if event["event"] == "step"] == [expected["step"]]


def test_a_flood_of_lines_that_matter_stays_within_its_budget():
    now = [0.0]

    def clock() -> float:
        now[0] += 50e-6  # what a line costs
        return now[0]

    log = LogReader(clock=clock)
    for step in range(100_000):
        log.read(f"step {step}/100000 loss 1.0")
    log.read("=   RANK 4 PID 123 RUNNING AT node-1")

    assert len([event for event in log.taken() if event["event"] == "step"]) <= 1000
    assert log.first_rank == 4


TORCHRUN = """E0101 12:00:01 failed (exitcode: -9) local_rank: 5 (pid: 812) of binary: /usr/bin/python
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-01-01_12:00:02
  rank      : 2 (local_rank: 2)
  exitcode  : -15 (pid: 811)
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-01-01_12:00:01
  host      : node-0
  rank      : 3 (local_rank: 3)
  exitcode  : -9 (pid: 812)
"""


@pytest.mark.parametrize(
    ("text", "rank"),
    [
        (TORCHRUN, 3),
        ("mpirun noticed that process rank 1 with PID 0 on node a exited on signal 9 (Killed).", 1),
        ("prterun noticed that process rank 6 with PID 33 on node b exited on signal 11.", 6),
        ("=   RANK 4 PID 123 RUNNING AT node-1", 4),
        ("srun: error: node7: task 12: Out Of Memory", 12),
        ("[rank: 1] Child process with PID 123 terminated with code -9. Forcefully terminating all other", 1),
        ("-- Process 2 terminated with the following error:", 2),
        ("[rank5]: Traceback (most recent call last):\n[rank0]: Traceback (most recent call last):", 5),
        ("E0101 failed (exitcode: 1) local_rank: 0 (pid: 9) of binary: python", 0),
        ("all 8 ranks are fine", None),
        ("rank      : 2 (local_rank: 2)", None),
    ],
)
def test_the_rank_that_failed_first_is_read_from_launchers(text, rank):
    reader = RankReader()
    for line in text.splitlines():
        reader.read(line)

    assert reader.first == rank
