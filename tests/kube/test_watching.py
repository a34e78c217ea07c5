"""Following a kind of object through everything that happens to connections and servers."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kube_faults import Script, client_of, failure, gone, line, page, pod, watch

from tonnage.cluster.objects import Pod
from tonnage.cluster.port import Change, ChangeKind
from tonnage.errors import ForbiddenError, UnauthorizedError
from tonnage.kube.decoding import Decoder
from tonnage.kube.kinds import find_kind
from tonnage.kube.watching import Bookmark, Gone, Lines, News, Reflector, Trouble, merged, read_line

PODS = find_kind("pods")
assert PODS is not None


def reflector(script: Script, **options: Any) -> Reflector[Pod]:
    return Reflector(client_of(script), PODS, longest_wait=0.01, **options)


async def follow(reflecting: Reflector[Pod], until: int) -> list[tuple[str, str]]:
    """The first changes as (kind, name)."""
    seen: list[tuple[str, str]] = []
    async with asyncio.timeout(20), aclosing(reflecting.changes()) as changes:
        async for change in changes:
            seen.append((change.kind.value, change.object.metadata.name if change.object else ""))
            if len(seen) == until:
                return seen
    return seen


async def test_what_exists_comes_first_then_synced_then_news() -> None:
    script = Script(page(["a", "b"]), watch(line("ADDED", pod("c", "11")), line("DELETED", pod("a", "12"))))

    seen = await follow(reflector(script), 5)

    assert seen == [("added", "a"), ("added", "b"), ("synced", ""), ("added", "c"), ("deleted", "a")]


async def test_a_watch_starts_where_the_list_ended_and_asks_for_bookmarks() -> None:
    script = Script(page(["a"], version="77"), watch(line("ADDED", pod("b", "78"))))

    await follow(reflector(script), 3)

    asked = script.params(1)
    assert asked["watch"] == "true"
    assert asked["resourceVersion"] == "77"
    assert asked["allowWatchBookmarks"] == "true"
    assert 300 <= int(asked["timeoutSeconds"]) <= 600


async def test_a_broken_connection_resumes_at_the_last_version_seen() -> None:
    broken = httpx2.RemoteProtocolError("peer closed connection")
    script = Script(
        page(["a"]),
        watch(line("MODIFIED", pod("a", "20")), broken),
        watch(line("ADDED", pod("b", "21"))),
    )

    await follow(reflector(script), 4)

    assert [script.params(i).get("resourceVersion") for i in (1, 2)] == ["10", "20"]


async def test_a_bookmark_moves_the_place_we_resume_at() -> None:
    bookmark = line("BOOKMARK", {"metadata": {"resourceVersion": "500"}})
    script = Script(page(["a"]), watch(bookmark), watch(line("ADDED", pod("b", "501"))))

    await follow(reflector(script), 3)

    assert script.params(2)["resourceVersion"] == "500"


@pytest.mark.parametrize("forgotten", [watch(gone()), failure(410, "Expired", "too old resource version")])
async def test_after_410_the_difference_is_reported_with_deletions(forgotten: Any) -> None:
    changed = httpx2.Response(
        200,
        json={
            "metadata": {"resourceVersion": "90"},
            "items": [pod("b", "5"), pod("c", "88"), pod("a", "89")],
        },
    )
    script = Script(page(["a", "b", "x"]), forgotten, changed, watch(line("ADDED", pod("d", "91"))))
    reflecting = reflector(script)

    seen = await follow(reflecting, 9)

    assert sorted(seen[4:7]) == [("added", "c"), ("deleted", "x"), ("modified", "a")]
    assert seen[7:] == [("synced", ""), ("added", "d")]
    assert {item.metadata.name for item in reflecting.store.values()} == {"a", "b", "c", "d"}


async def test_a_silent_connection_is_given_up_and_opened_again() -> None:
    script = Script(page(["a"]), watch(httpx2.ReadTimeout("idle")), watch(line("ADDED", pod("b", "11"))))

    assert (await follow(reflector(script), 3))[-1] == ("added", "b")


async def test_a_truncated_line_is_not_half_an_object() -> None:
    whole = line("ADDED", pod("b", "11"))
    script = Script(page(["a"]), watch(whole[: len(whole) // 2]), watch(whole))

    assert (await follow(reflector(script), 3))[-1] == ("added", "b")
    assert script.params(2)["resourceVersion"] == "10"


async def test_a_line_that_is_not_json_reconnects_from_the_last_good_place() -> None:
    script = Script(
        page(["a"]),
        watch(line("MODIFIED", pod("a", "30")) + b"{nonsense}\n"),
        watch(line("ADDED", pod("b", "31"))),
    )

    await follow(reflector(script), 4)

    assert script.params(2)["resourceVersion"] == "30"


@pytest.mark.parametrize("code", [429, 500, 503])
async def test_a_busy_server_is_asked_again(code: int) -> None:
    script = Script(failure(code), page(["a"]), failure(code), watch(line("ADDED", pod("b", "11"))))

    assert (await follow(reflector(script), 3))[-1] == ("added", "b")


async def test_permissions_lost_later_are_waited_out_and_shown() -> None:
    refused = failure(403, "Forbidden", 'pods is forbidden: User "u" cannot watch resource "pods"')
    script = Script(page(["a"]), refused, refused, watch(line("ADDED", pod("b", "11"))))
    reflecting = reflector(script)

    assert (await follow(reflecting, 3))[-1] == ("added", "b")
    assert reflecting.trouble is None


@pytest.mark.parametrize(("code", "error"), [(403, ForbiddenError), (401, UnauthorizedError)])
async def test_what_was_never_allowed_is_an_error_at_once(code: int, error: type[Exception]) -> None:
    script = Script(failure(code, "Forbidden", 'pods is forbidden: User "u" cannot list resource "pods"'))

    with pytest.raises(error):
        await follow(reflector(script), 1)


async def test_pages_are_followed_to_the_end() -> None:
    script = Script(page(["a"], more="t1"), page(["b"], more="t2"), page(["c"]), watch(httpx2.ReadError("x")))

    seen = await follow(reflector(script), 4)

    assert [name for _, name in seen] == ["a", "b", "c", ""]
    assert script.params(0)["limit"] == "500"
    assert script.params(1)["continue"] == "t1"


async def test_a_continue_token_that_expires_starts_the_list_again() -> None:
    script = Script(
        page(["a"], more="t1"), failure(410, "Expired"), page(["a"], more="t2"), page(["b"]), watch(gone())
    )

    seen = await follow(reflector(script), 3)

    assert seen == [("added", "a"), ("added", "b"), ("synced", "")]
    assert "continue" not in script.params(2)


async def test_a_list_that_keeps_expiring_is_asked_for_in_one_answer() -> None:
    expired = failure(410, "Expired")
    first = page(["a"], more="t")
    script = Script(first, expired, first, expired, first, expired, page(["a", "b"]), watch(gone()))

    await follow(reflector(script), 3)

    assert "limit" not in script.params(6)


async def test_an_empty_watch_that_ends_at_once_is_not_hammered() -> None:
    script = Script(page(["a"]), watch())
    reflecting = Reflector(client_of(script), PODS, longest_wait=5.0)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await follow(reflecting, 3)

    assert len(script.asked) < 20


async def test_one_failing_stream_ends_the_merged_one() -> None:
    script = Script(failure(403, "Forbidden", 'pods is forbidden: User "u" cannot list resource "pods"'))

    async def drain() -> None:
        async for _ in merged([reflector(script).changes]):
            pass

    with pytest.raises(ForbiddenError):
        await asyncio.wait_for(drain(), 5)


class TestLines:
    @given(st.lists(st.binary(min_size=1).map(lambda b: b.replace(b"\n", b"")).filter(bool)), st.data())
    def test_lines_are_the_same_however_the_stream_is_cut(
        self, lines: list[bytes], data: st.DataObject
    ) -> None:
        stream = b"".join(one + b"\n" for one in lines)
        cutter, found, start = Lines(), [], 0
        while start < len(stream):
            size = data.draw(st.integers(1, len(stream) - start))
            found += cutter.feed(stream[start : start + size])
            start += size

        assert found == lines


class TestReadLine:
    decoder = Decoder(Pod, "pods")

    def test_each_kind_of_line_is_understood(self) -> None:
        added = read_line(line("ADDED", pod("a")), self.decoder)

        assert isinstance(added, News)
        assert added.kind is ChangeKind.ADDED
        assert read_line(gone(), self.decoder) == Gone()
        marked = read_line(line("BOOKMARK", {"metadata": {"resourceVersion": "9"}}), self.decoder)
        assert marked == Bookmark("9")

    def test_spacing_and_order_of_keys_do_not_matter(self) -> None:
        spaced = b' { "object" : {"metadata":{"name":"a"}} , "type" : "DELETED" } '

        read = read_line(spaced, self.decoder)

        assert isinstance(read, News)
        assert (read.kind, read.object.metadata.name) == (ChangeKind.DELETED, "a")

    @given(st.binary(max_size=200))
    def test_garbage_is_trouble_never_an_exception(self, garbage: bytes) -> None:
        assert isinstance(read_line(garbage, self.decoder), Trouble | News | Bookmark | Gone)

    def test_an_internal_error_event_is_trouble_with_its_message(self) -> None:
        read = read_line(line("ERROR", {"code": 500, "message": "etcd: leader changed"}), self.decoder)

        assert read == Trouble("etcd: leader changed")


def test_a_change_says_what_it_is() -> None:
    assert Change(ChangeKind.SYNCED, "pods").object is None
