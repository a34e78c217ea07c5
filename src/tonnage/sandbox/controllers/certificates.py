"""One authority and one serving certificate for every webhook of a sandbox.

Kueue and the training operator run a certificate rotator of their own.
It keeps a certificate that it finds in its secret only if all of this holds; otherwise it silently replaces
it, and the API server no longer trusts the webhook:

- the authority carries the rotator's own name for it as a DNS name (`kueue-ca`, `training-operator-ca`);
- authority and server certificate are valid for more than ninety days from now;
- the server certificate names `<service>.<namespace>.svc`;
- the authority's key is in the traditional PKCS#1 form, the only one the rotator can read.

We call the webhooks by address (https://127.0.0.1:PORT), so the loopback address is named as well.
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tonnage.sandbox.signing import certificate_for, host_name, key_usage

LOOPBACK = ("127.0.0.1", "localhost")


@dataclass(frozen=True)
class WebhookCertificates:
    """The four PEM files a rotator keeps in its secret."""

    ca_certificate: bytes
    ca_key: bytes
    certificate: bytes
    key: bytes

    @property
    def ca_bundle(self) -> str:
        """The authority as a webhook configuration wants it: base64 of the PEM text."""
        return base64.b64encode(self.ca_certificate).decode()

    def as_secret(self, namespace: str, name: str) -> dict[str, object]:
        """The secret from which a rotator reads, and which it leaves alone when it is satisfied."""
        files = {
            "ca.crt": self.ca_certificate,
            "ca.key": self.ca_key,
            "tls.crt": self.certificate,
            "tls.key": self.key,
        }
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "namespace": namespace},
            "data": {file: base64.b64encode(content).decode() for file, content in files.items()},
        }


def make_webhook_certificates(
    ca_names: Sequence[str], services: Sequence[str], now: dt.datetime
) -> WebhookCertificates:
    """Make an authority known by `ca_names` and a certificate for loopback and the given service names."""
    ca_key, server_key = _new_key(), _new_key()
    names = [host_name(host) for host in (*LOOPBACK, *services)]
    authority = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tonnage-sandbox-webhook-ca")])
    ca = (
        certificate_for(authority, authority, ca_key, now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name) for name in ca_names]), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    server = (
        certificate_for(
            x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]), authority, server_key, now
        )
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(ca_key, hashes.SHA256())
    )
    return WebhookCertificates(
        ca_certificate=ca.public_bytes(serialization.Encoding.PEM),
        ca_key=_pkcs1(ca_key),
        certificate=server.public_bytes(serialization.Encoding.PEM),
        key=_pkcs1(server_key),
    )


def _new_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _pkcs1(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
