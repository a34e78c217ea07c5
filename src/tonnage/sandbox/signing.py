"""What every certificate of a sandbox has in common, whoever signs it and whatever kind of key it has.

Valid for a year from yesterday, so that a clock that is a little behind does no harm; a sandbox is not meant
to live longer.
"""

from __future__ import annotations

import datetime as dt
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

_CLOCK_SLACK = dt.timedelta(days=1)
_VALID = dt.timedelta(days=365)


def certificate_for(
    subject: x509.Name, issuer: x509.Name, key: PrivateKey, now: dt.datetime
) -> x509.CertificateBuilder:
    """A certificate to be given extensions and signed."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SLACK)
        .not_valid_after(now + _VALID)
    )


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """What the key may be used for: signing other certificates, or serving and logging in."""
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=not signs_certificates,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def host_name(host: str) -> x509.GeneralName:
    """A host as a certificate names it: by address or by DNS name."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
