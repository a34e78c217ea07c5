"""What the proof rests on: questions are made small, a wrong rule is seen, and nothing unproved counts."""

import datetime as dt
import random

import msgspec
import pytest
from click.testing import CliRunner
from conformance.admission import covering
from conformance.admission.comparing import apart, ours, real
from conformance.apiserver import Answer
from conformance.nodes import choose, tally
from conformance.nodes.case import CATALOGUE, Outcome
from conformance.reporting import as_markdown, as_text
from conformance.scheduling.bench import Verdict
from conformance.scheduling.coverage import MUST_COVER, UNHEARD
from conformance.scheduling.generating import EMPTY_EVERY, generate
from conformance.scheduling.narrowing import narrow
from conformance.scheduling.ours import agree
from conformance.shrinking import shrink
from conformance.suite import Disagreement, Tally

from conformance import __main__ as runner
from tonnage.cluster.admission.admitting import NamespacePolicies, admit
from tonnage.cluster.messages import scheduling_reasons as words
from tonnage.cluster.objects import Node, Pod
from tonnage.cluster.scheduling import ClusterView, schedule


def test_a_question_shrinks_to_the_part_that_divides_us():
    question = {"a": {"b": [1, 2, {"guilty": True, "other": 1}], "c": 3}, "d": 4}
    smallest = shrink(question, lambda asked: "guilty" in str(asked))
    assert smallest == {"a": {"b": [{"guilty": True}]}}


def test_shrinking_asks_no_more_than_it_may():
    asked = []
    shrink(list(range(50)), lambda q: asked.append(q) or True, attempts=7)
    assert len(asked) == 7


def test_a_cluster_is_narrowed_by_whole_kinds_and_halves():
    cluster = {"nodes": [f"n{i}" for i in range(9)], "pods": [f"p{i}" for i in range(40)], "budgets": ["b"]}
    few = narrow({"cluster": cluster, "pod": "q"}, lambda q: "p17" in q["cluster"]["pods"], attempts=60)
    assert few == {"cluster": {"nodes": [], "pods": ["p17"], "budgets": []}, "pod": "q"}


def a_tally(**parts):
    return Tally(name="part", target=0.9, must_cover=("seen", "unseen"), **parts)


def test_a_tally_passes_by_its_cases_and_tells_what_it_never_saw():
    found = a_tally(cases=10, agreed=9)
    found.coverage["seen"] += 1
    assert found.passed
    assert found.missing == ["unseen"]
    assert not a_tally().passed, "no cases prove nothing"
    assert not a_tally(cases=10, agreed=8).passed


def test_both_reports_show_figures_gaps_and_the_smallest_question():
    found = a_tally(
        cases=2, agreed=1, disagreements=[Disagreement(question={"q": 1}, ours="a", real=frozenset({"b"}))]
    )
    found.coverage["seen"] += 1
    result = runner.Finished(suite="admission", tallies=[found], seed=7, seconds=1.0)
    page = as_markdown([result], dt.date(2026, 1, 2))
    for text in (as_text([found]), page):
        assert '"q": 1' in text
        assert 'real: ["b"]' in text
        assert "50.000%" in text
        assert "unseen" in text
    assert page.startswith("# Conformance, 2026-01-02\n")
    assert "| unseen | **never** |" in page


class Agreeing:
    name, full_size = "agreeing", 10

    def run(self, *, seed, cases):
        found = Tally(name="agreeing", target=1.0, cases=cases, agreed=cases, must_cover=("rare",))
        found.notes.append(f"seed {seed}")
        return [found]


class Breaking:
    name, full_size = "breaking", 10

    def run(self, **_):
        raise RuntimeError("no root")


@pytest.fixture
def suites(monkeypatch, tmp_path):
    here = f"{__name__}:"
    monkeypatch.setattr(runner, "SUITES", {"agreeing": here + "Agreeing", "breaking": here + "Breaking"})
    monkeypatch.setattr(runner, "REPORTS", tmp_path)
    monkeypatch.setattr(runner.main.params[0].type, "choices", ["agreeing", "breaking"])
    return tmp_path


def test_a_sample_passes_where_a_full_run_misses_a_rule_it_must_cover(suites):
    said = CliRunner().invoke(runner.main, ["agreeing", "--sample", "0.5", "--seed", "3"])
    assert said.exit_code == 0, said.output
    assert "agreeing: 5 cases, seed 3" in said.output
    assert CliRunner().invoke(runner.main, ["agreeing"]).exit_code == 1
    assert not list(suites.iterdir()), "only the whole set is worth a report"


def test_a_suite_that_breaks_off_fails_the_run_and_keeps_the_others_results(suites):
    said = CliRunner().invoke(runner.main, [])
    assert said.exit_code == 1
    (report,) = suites.iterdir()
    page = report.read_text()
    assert "broke off: RuntimeError: no root" in page
    assert "| agreeing | agreeing | 10 | 10 | 100.000% |" in page


def test_help_keeps_its_examples_in_lines():
    shown = CliRunner().invoke(runner.main, ["--help"]).output
    examples = [line for line in shown.splitlines() if line.strip().startswith("python -m conformance")]
    assert [line.split("  ")[-1].strip() for line in examples] == [
        "all of it; writes docs/reports/",
        "a seeded tenth, as in CI",
        "one suite",
    ]
    assert all(len(line) <= 80 for line in shown.splitlines())


@pytest.mark.parametrize("sample", ["0", "-1", "1.5", "much"])
def test_a_sample_is_a_part_of_the_whole(sample):
    assert CliRunner().invoke(runner.main, ["--sample", sample]).exit_code == 2


PLAIN = msgspec.convert(
    {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}, Pod
)


def test_another_class_or_word_in_the_servers_answer_is_a_disagreement():
    mine = ours(admit(PLAIN, NamespacePolicies()))
    stored = msgspec.to_builtins(admit(PLAIN, NamespacePolicies()).pod)
    assert real(Answer(status=201, body=stored), Pod) == mine
    for field, value in (("qosClass", "Burstable"), ("qosClass", "")):
        other = {**stored, "status": {**stored["status"], field: value}}
        assert real(Answer(status=201, body=other), Pod) != mine
    refused = Answer(
        status=403, body={"message": 'pods "p" is forbidden: exceeded quota: q, requested: pods=1'}
    )
    assert real(refused, Pod) != mine


def test_of_two_answers_that_differ_in_one_thing_only_that_is_shown():
    mine, theirs = {"qosClass": "Burstable", "overhead": {}}, {"qosClass": "Guaranteed", "overhead": {}}
    assert apart([mine], theirs) == ({"qosClass": "Burstable"}, {"qosClass": "Guaranteed"})
    refused = {"status": 403, "errors": ["x"]}
    assert apart([mine], refused) == ([mine], refused)
    assert apart([mine, theirs], theirs) == ([mine, theirs], theirs)


def test_errors_are_a_set_and_one_alone_is_compared_word_for_word():
    cause = {"field": "spec.x", "message": "Required value"}
    body = {"message": 'Pod "p" is invalid: spec.x: Required value', "details": {"causes": [cause]}}
    assert real(Answer(status=422, body=body), Pod) == {
        "status": 422,
        "errors": ["spec.x: Required value"],
        "message": 'Pod "p" is invalid: spec.x: Required value',
    }


def test_a_filled_in_limit_below_the_request_shows_the_order_of_admission():
    asked = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"memory": "3Gi"}}}]}}
    detail = "must be less than or equal to memory limit of 2Gi"
    said = f'spec.containers[0].resources.requests: Invalid value: "3Gi": {detail}'
    assert list(covering.order_covered(asked, [said])) == ["order: filled in before it is validated"]
    asked["spec"]["containers"][0]["resources"]["limits"] = {"memory": "2Gi"}
    assert list(covering.order_covered(asked, [said])) == []


def test_every_word_of_the_scheduler_must_be_heard_in_a_full_run_or_cannot_be():
    spoken = {
        value
        for name, value in vars(words).items()
        if name.isupper() and isinstance(value, str) and value in words.PLUGIN_OF
    }
    demanded = {label.partition(": ")[2] for label in MUST_COVER}
    old = {words.OLD_VOLUME_ELSEWHERE}
    assert spoken - demanded - old == set(UNHEARD)


def test_questions_are_the_same_for_the_same_seed_and_some_clusters_are_empty():
    assert generate(7, 3).objects == generate(7, 3).objects
    assert generate(7, 3).objects != generate(8, 3).objects
    empty = generate(7, EMPTY_EVERY - 1)
    assert empty.objects["nodes"] == []
    view = ClusterView([], [])
    assert schedule(msgspec.convert(empty.questions[0]["pod"], Pod), view).message == words.NO_NODES


def test_a_node_we_do_not_call_feasible_and_a_word_we_do_not_say_are_disagreements():
    node = {"metadata": {"name": "a"}, "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "9"}}}
    fits = schedule(PLAIN, ClusterView([msgspec.convert(node, Node)], []))
    assert agree(fits, Verdict(node="a"))
    assert not agree(fits, Verdict(node="b"))
    assert not agree(fits, Verdict(reason="Unschedulable", message="0/1 nodes are available: 1 x."))
    nowhere = schedule(PLAIN, ClusterView([], []))
    assert agree(nowhere, Verdict(reason="Unschedulable", message=words.NO_NODES))
    assert not agree(nowhere, Verdict(reason="SchedulerError", message=words.NO_NODES))


def test_a_case_on_a_node_counts_only_when_every_field_is_as_foretold():
    first, second, third = CATALOGUE.cases[:3]
    same = Outcome(predicted={"phase": "Failed"}, real={"phase": "Failed"})
    other = Outcome(predicted={"phase": "Failed"}, real={"phase": "Failed", "reason": "Evicted"})
    found = tally(1, [(first, same), (second, other), (third, "TimeoutError: never")])
    assert (found.cases, found.agreed, len(found.disagreements)) == (3, 1, 2)
    assert found.disagreements[0].real == {"reason": "Evicted"}
    assert set(found.coverage) == set(first.covers)


def test_a_sample_of_node_cases_is_seeded_and_stays_small():
    tenth = len(CATALOGUE.cases) // 10
    chosen = [case.name for case in choose(CATALOGUE.cases, random.Random(1), tenth)]
    assert chosen == [case.name for case in choose(CATALOGUE.cases, random.Random(1), tenth)]
    assert 0 < len(chosen) <= tenth
    assert len(choose(CATALOGUE.cases, random.Random(1), 10**6)) == len(CATALOGUE.cases)


def test_at_least_twenty_cases_are_caused_on_a_real_node():
    names = [case.name for case in CATALOGUE.cases]
    assert len(names) == len(set(names)) >= 20
