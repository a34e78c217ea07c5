import base64
import datetime as dt
import ipaddress

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tonnage.sandbox.controllers.certificates import WebhookCertificates, make_webhook_certificates

NOW = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def made() -> WebhookCertificates:
    return make_webhook_certificates(["kueue-ca"], ["kueue-webhook-service.kueue-system.svc"], NOW)


def names_of(pem: bytes) -> x509.SubjectAlternativeName:
    certificate = x509.load_pem_x509_certificate(pem)
    return certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value


def test_the_authority_carries_the_name_by_which_a_rotator_knows_it(made):
    assert names_of(made.ca_certificate).get_values_for_type(x509.DNSName) == ["kueue-ca"]


def test_the_server_is_known_by_loopback_and_by_its_service(made):
    names = names_of(made.certificate)
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.IPv4Address("127.0.0.1")]
    assert "kueue-webhook-service.kueue-system.svc" in names.get_values_for_type(x509.DNSName)


def test_the_authoritys_key_is_in_the_form_a_rotator_can_read(made):
    assert made.ca_key.startswith(b"-----BEGIN RSA PRIVATE KEY-----")


def test_both_are_valid_far_beyond_the_ninety_days_a_rotator_looks_ahead(made):
    for pem in (made.ca_certificate, made.certificate):
        assert x509.load_pem_x509_certificate(pem).not_valid_after_utc > NOW + dt.timedelta(days=300)


def test_the_server_certificate_is_signed_by_the_authority_and_fits_its_key(made):
    ca = x509.load_pem_x509_certificate(made.ca_certificate)
    server = x509.load_pem_x509_certificate(made.certificate)
    ca.public_key().verify(
        server.signature, server.tbs_certificate_bytes, padding.PKCS1v15(), server.signature_hash_algorithm
    )
    key = load_pem_private_key(made.key, None)
    assert key.public_key().public_numbers() == server.public_key().public_numbers()


def test_the_secret_holds_the_four_files_under_the_rotators_names(made):
    secret = made.as_secret("kueue-system", "kueue-webhook-server-cert")
    assert sorted(secret["data"]) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
    assert base64.b64decode(secret["data"]["tls.crt"]) == made.certificate
