"""Signature Version 4, against the examples AWS publishes for S3 (authorization header, signed payload)."""

from __future__ import annotations

import hashlib

import pytest

from tonnage_agent.keeper.s3.signing import Keys, Request, encode_path, sign

KEYS = Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
HOST = "examplebucket.s3.amazonaws.com"
STAMP = "20130524T000000Z"

EXAMPLES = {
    "get an object": (
        Request("GET", HOST, "/test.txt", headers={"Range": "bytes=0-9"}),
        "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
    ),
    "put an object": (
        Request(
            "PUT",
            HOST,
            encode_path("/test$file.text"),
            headers={"Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
            payload_sha256=hashlib.sha256(b"Welcome to Amazon S3.").hexdigest(),
        ),
        "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
    ),
    "get a bucket's lifecycle": (
        Request("GET", HOST, "/", [("lifecycle", "")]),
        "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
    ),
    "list objects": (
        Request("GET", HOST, "/", [("max-keys", "2"), ("prefix", "J")]),
        "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
    ),
}


@pytest.mark.parametrize(("request_", "signature"), EXAMPLES.values(), ids=EXAMPLES)
def test_the_signature_is_the_published_one(request_: Request, signature: str) -> None:
    headers = sign(request_, KEYS, region="us-east-1", stamp=STAMP)

    assert headers["Authorization"].endswith(f"Signature={signature}")


def test_a_session_token_is_sent_and_signed() -> None:
    keys = Keys(KEYS.access, KEYS.secret, token="session")

    headers = sign(Request("GET", HOST, "/"), keys, region="us-east-1", stamp=STAMP)

    assert headers["x-amz-security-token"] == "session"
    assert "x-amz-security-token" in headers["Authorization"]


def test_keys_never_show_their_secret() -> None:
    assert KEYS.secret not in repr(KEYS)
    assert KEYS.secret not in f"{KEYS}"
