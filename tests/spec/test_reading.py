"""A file becomes documents, or one clear mistake; never an exception, and never slowly."""

from __future__ import annotations

import time

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from tonnage.spec.checking import check
from tonnage.spec.reading import MAX_BYTES, read

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGE_LAUGHS = "a: &a {x: 1, y: 2}\n" + "".join(
    f"{name}: &{name} {{{', '.join(f'k{i}: *{before}' for i in range(9))}}}\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)

HOSTILE = {
    "aliases that expand a billion times": (LAUGHS, "DOC-008"),
    "mappings that expand a billion times": (MERGE_LAUGHS, "DOC-008"),
    "ten thousand open brackets": ("[" * 10_000, "DOC-008"),
    "ten thousand open braces": ("{a: " * 10_000, "DOC-008"),
    "ten thousand dashes": ("- " * 10_000, "DOC-008"),
    "half a million items": ("[" + "a," * 490_000 + "a]", "DOC-008"),
    "fifty megabytes": (b"a: b\n" * 10_000_000, "DOC-008"),
    "ten thousand documents": ("--- a\n" * 10_000, "DOC-008"),
    "a tab": ("spec:\n\tgpus: 8\n", "DOC-003"),
    "UTF-16": ("a: 1".encode("utf-16"), "DOC-002"),
    "Latin-1": ("a: \u00e9".encode("latin-1"), "DOC-002"),
    "NUL bytes": (b"a: \0\0", "DOC-002"),
    "a binary file": (bytes(range(256)) * 40, "DOC-002"),
    "nothing": ("", "DOC-009"),
    "spaces": ("  \n\n", "DOC-009"),
    "only comments": ("# to do\n", "DOC-009"),
    "only separators": ("---\n---\n", "DOC-009"),
    "a value that contains itself": ("a: &a [*a]", "DOC-003"),
    "an alias of nothing": ("a: *b", "DOC-003"),
    "a Python object": ("a: !!python/object/apply:os.system ['true']", "DOC-003"),
    "an open quote": ('a: "b\nc: d', "DOC-003"),
    "an open bracket": ("a: [1, 2\nb: 3", "DOC-003"),
    "two colons": ("a: b: c", "DOC-003"),
    "a control character": ("a: \x01", "DOC-003"),
    "a list as a key": ("? [a]\n: b", "DOC-003"),
    "a merge of a number": ("<<: 1\na: 2", "DOC-003"),
}


@pytest.mark.parametrize(("content", "code"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_file_gets_one_clear_mistake_in_under_a_second(content: bytes | str, code: str) -> None:
    before = time.process_time()
    checked = check(content, "run.yaml")
    taken = time.process_time() - before

    assert [mistake.code for mistake in checked.mistakes] == [code]
    assert checked.mistakes[0].what
    assert taken < 1


def test_values_are_those_of_yaml_1_2_and_not_of_1_1() -> None:
    text = "a: no\nb: 0755\nc: 12:30:45\nd: 2024-01-01\ne: 1e-5\nf: ~\ng: .inf\nh: 0o17\ni: 0x1F\nj: True\n"
    value = read(text, "f").documents[0].value

    assert value == {
        "a": "no",
        "b": 755,
        "c": "12:30:45",
        "d": "2024-01-01",
        "e": 1e-5,
        "f": None,
        "g": float("inf"),
        "h": 15,
        "i": 31,
        "j": True,
    }
    assert value["e"].text == "1e-5"


def test_quotes_make_text_of_anything() -> None:
    assert read("a: '8'\nb: \"null\"\nc: !!str 8\n", "f").documents[0].value == {
        "a": "8",
        "b": "null",
        "c": "8",
    }


def test_every_value_knows_its_line_and_column() -> None:
    document = read("spec:\n  volumes:\n    - pvc: a\n      mount: /a\n    - {pvc: b}\n", "f").documents[0]

    assert document.locate(("spec", "volumes", 0, "mount")) == (4, 7)
    assert document.locate(("spec", "volumes", 1, "pvc")) == (5, 8)
    assert document.locate(("spec", "volumes", 1, "mount")) == (5, 7), "the nearest thing that was written"


def test_a_key_written_twice_is_told_with_both_lines() -> None:
    mistakes = read("a: 1\nb: 2\na: 3\n", "f").mistakes

    assert [(mistake.code, mistake.line, mistake.found) for mistake in mistakes] == [
        ("DOC-005", 3, "line 1 and line 3")
    ]


def test_merged_mappings_give_way_to_what_is_written_and_are_no_duplicates() -> None:
    reading = read("base: &b {x: 1, y: 2}\nthis:\n  <<: *b\n  y: 3\n", "f")

    assert reading.mistakes == []
    assert reading.documents[0].value["this"] == {"x": 1, "y": 3}


def test_documents_before_a_break_are_still_read() -> None:
    reading = read("a: 1\n---\nb: 2\n---\nc: [\n", "f")

    assert [document.value for document in reading.documents] == [{"a": 1}, {"b": 2}]
    assert [mistake.line for mistake in reading.mistakes] == [6]


def test_json_windows_line_ends_and_a_byte_order_mark_are_read() -> None:
    content = b'\xef\xbb\xbf{\r\n\t"a": [1, {"b": null}],\r\n\t"c": "\\u00e9"\r\n}\r\n'

    assert read(content, "f").documents[0].value == {"a": [1, {"b": None}], "c": "\u00e9"}


def test_a_number_of_a_hundred_thousand_digits_is_only_a_text() -> None:
    assert read("a: " + "9" * 100_000, "f").documents[0].value == {"a": "9" * 100_000}


def test_a_file_of_the_largest_size_is_read() -> None:
    content = "a: " + "x" * (MAX_BYTES - 3)

    assert read(content, "f").mistakes == []
    assert [mistake.code for mistake in read(content + "x", "f").mistakes] == ["DOC-008"]


@pytest.mark.parametrize("name", [name for name in HOSTILE if name != "fifty megabytes"])
def test_the_parser_without_libyaml_is_as_careful(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "__with_libyaml__", False)
    content, code = HOSTILE[name]

    assert [mistake.code for mistake in check(content, "run.yaml").mistakes] == [code]


def test_a_template_is_recognised() -> None:
    assert "template" in (read("metadata:\n  name: {{ .Values.name }}-x\n", "f").mistakes[0].hint or "")


HEAD = "apiVersion: tonnage.dev/v1alpha1\nkind: Run\nmetadata: {name: a}\nspec:\n"


@settings(max_examples=150)
@given(
    st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass"))
)
def test_any_bytes_give_documents_or_mistakes(content: bytes) -> None:
    checked = check(content, "f")

    assert checked.mistakes or checked.values


@settings(max_examples=150)
@given(st.text(st.sampled_from("[]{}:,-&*!|>'\"%@`#? \n\tab<0.~"), max_size=60))
def test_any_punctuation_under_spec_gives_documents_or_mistakes(text: str) -> None:
    checked = check(f"{HEAD}{text}", "f")

    assert checked.mistakes or checked.values
