"""The page about targets says what the code does."""

from __future__ import annotations

from dev.manifest_goldens import PAGE, with_table

from tonnage.manifests import codes


def test_the_table_of_what_targets_cannot_express_is_the_one_in_the_code():
    page = PAGE.read_text()
    assert with_table(page) == page, "run dev/manifest_goldens.py"


def test_every_refusal_is_documented():
    page = PAGE.read_text()
    known = [value for name, value in vars(codes).items() if name.isupper()]
    assert known == sorted(known)
    assert [code for code in known if f"`{code}`" not in page] == []
