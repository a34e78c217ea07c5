"""The certificates of one sandbox: a certificate authority of its own, and whatever it signs.

Keys are elliptic (P-256): making one takes a fraction of a millisecond, where RSA would cost `up` a second.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tonnage.sandbox.signing import certificate_for, host_name, key_usage

ADMINS = "system:masters"


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as PEM files."""

    cert: Path
    key: Path


@dataclass(frozen=True)
class Pki:
    """The authority in one folder. `create` makes it once; `issue` signs."""

    folder: Path

    def create(self) -> None:
        """Make both authorities and the key that signs service-account tokens."""
        for name in ("ca", "front-proxy-ca"):
            key = ec.generate_private_key(ec.SECP256R1())
            subject = _name(f"tonnage-{name}")
            _write(self.folder / f"{name}.key", _key_pem(key))
            _write(self.folder / f"{name}.crt", _pem(_authority(subject, key)))
        signer = ec.generate_private_key(ec.SECP256R1())
        _write(self.folder / "service-account.key", _key_pem(signer))
        _write(self.folder / "service-account.pub", _public_pem(signer))

    @property
    def ca(self) -> Pair:
        return Pair(self.folder / "ca.crt", self.folder / "ca.key")

    @property
    def front_proxy_ca(self) -> Pair:
        return Pair(self.folder / "front-proxy-ca.crt", self.folder / "front-proxy-ca.key")

    @property
    def service_account_key(self) -> Path:
        return self.folder / "service-account.key"

    @property
    def service_account_public_key(self) -> Path:
        return self.folder / "service-account.pub"

    def issue(
        self,
        name: str,
        *,
        common_name: str,
        organization: str = "",
        hosts: Iterable[str] = (),
        by: Pair | None = None,
    ) -> Pair:
        """A certificate for clients and servers, written as NAME.crt and NAME.key."""
        authority = by or self.ca
        issuer = x509.load_pem_x509_certificate(authority.cert.read_bytes())
        issuer_key = serialization.load_pem_private_key(authority.key.read_bytes(), None)
        assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            certificate_for(_name(common_name, organization), issuer.subject, key, dt.datetime.now(dt.UTC))
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage(signs_certificates=False), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
        )
        if names := [host_name(host) for host in hosts]:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        pair = Pair(self.folder / f"{name}.crt", self.folder / f"{name}.key")
        _write(pair.key, _key_pem(key))
        _write(pair.cert, _pem(builder.sign(issuer_key, hashes.SHA256())))
        return pair


def _authority(subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    return (
        certificate_for(subject, subject, key, dt.datetime.now(dt.UTC))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(key_usage(signs_certificates=True), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _name(common_name: str, organization: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        parts.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _public_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
