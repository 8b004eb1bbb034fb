"""Passwords that `static` finds by their names, and what public projects have that only looks like one."""

from __future__ import annotations

import pytest

from burnish.core.finding import Severity
from burnish.review.static.files import scan_file
from burnish.review.static.secrets import Secret, secrets
from testing.defects import changed_file

BODY = "MC4CAQAwBQYDK2VwBCIEIPtUxyxlhjOWetjIYmc98dmB2GxpeaMPP64qBhZmG13r"
KEY = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----\n"


def found(path: str, text: str) -> list[Secret]:
    file = scan_file(changed_file(path, None, text), text.encode(), lambda _: None)
    assert file is not None
    return list(secrets(file))


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("auth.go", "jwtSecretBase64 = generate.NewJwtSecretWithBase64()"),
        ("auth.go", "secretKey := base64.RawURLEncoding.EncodeToString(secretBytes)"),
        ("auth.go", "// network=tcp,addr=:6379,password=macaron,db=0,pool_size=100,idle_timeout=180"),
        ("auth.go", "var secretRegexp = regexp.MustCompile(`^\\s*secrets\\.([A-Za-z_][A-Za-z0-9_]*)$`)"),
        ("client.ts", "  credentials: EthereumWeb3Credentials"),
        (".env.sample", "JWT_SECRET=super-secret-jwt-value-with-at-least-32-characters-long"),
    ],
)
def test_code_and_sentences_are_not_passwords(path: str, line: str) -> None:
    assert found(path, f"{line}\n") == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("auth.go", 'password := "kV8w2mQz"'),
        ("auth.go", 'secretKey := "f(x)9Zk2mQ7w"'),
        ("auth.go", "// addr=:6379,password=kV8w2mQz,db=0"),
        ("auth.py", "db_password = 'kV8w2mQz'"),
        ("app.yaml", "password: kV8w2mQz"),
        ("client.ts", "  secret: 'Xk4Web3Qm9LtzP2w'"),
        ("client.rb", "  :password => 'kV8w2mQz',"),
        ("Login.cs", 'var password = @"kV8w2mQz";'),
        ("login.c", 'char db_password[16] = "kV8w2mQz";'),
        ("my.cnf", "password=kV8w2mQz"),
    ],
)
def test_passwords_are_found_beside_them(path: str, line: str) -> None:
    assert len(found(path, f"{line}\n")) == 1


def test_each_password_of_a_line_is_found() -> None:
    line = "connect(password='kV8w2mQz', db_password='Zq7m1xKw')\n"
    assert [secret.value for secret in found("db.py", line)] == ["kV8w2mQz", "Zq7m1xKw"]


@pytest.mark.parametrize(
    "path", ["docs/usage.rst", "models/fixtures/keys.yml", ".github/testdata/ssl.key", "tests/a.pem"]
)
def test_a_key_in_docs_and_data_of_tests_is_one_warning(path: str) -> None:
    assert [secret.severity for secret in found(path, KEY)] == [Severity.WARNING]


def test_a_key_elsewhere_is_an_error() -> None:
    assert [secret.severity for secret in found("deploy/ssl.key", KEY)] == [Severity.ERROR]
