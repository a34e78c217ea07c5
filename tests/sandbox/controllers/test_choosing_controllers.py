import pytest

from tonnage.errors import UsageError
from tonnage.sandbox import controllers
from tonnage.sandbox.controllers.catalogue import CONTROLLERS, choose, implied


def names(*wanted: str) -> list[str]:
    return [row.name for row in choose(wanted)]


def test_trainer_brings_jobset_and_says_so():
    assert names("trainer") == ["jobset", "trainer"]
    assert implied(["trainer"]) == ["trainer needs jobset: added"]


def test_nothing_is_said_where_nothing_was_added():
    assert implied(["trainer", "jobset", "kueue"]) == []


def test_kueue_starts_last_so_that_every_kind_it_manages_is_there():
    assert names("kueue", "training-operator", "trainer")[-1] == "kueue"


def test_a_name_given_twice_or_with_spaces_counts_once():
    assert names(" kueue", "kueue", "") == ["kueue"]


def test_every_unknown_controller_is_reported_with_the_nearest_name():
    with pytest.raises(UsageError) as caught:
        choose(["kueu", "ray"])

    first, second = caught.value.problems
    assert (first.code, first.found, first.hint) == ("BOX-005", "kueu", "did you mean kueue?")
    assert second.found == "ray"
    assert second.expected == "jobset, kueue, trainer, training-operator"


def test_the_public_list_names_every_row():
    assert sorted(controllers.NAMES) == sorted(row.name for row in CONTROLLERS)


def test_each_row_is_obtained_with_the_manifests_it_is_started_with():
    for component, row in zip(controllers.components(controllers.NAMES), CONTROLLERS, strict=True):
        assert component.name == row.name
        assert component.version == row.version
        assert len(component.assets) == len(row.manifests)
