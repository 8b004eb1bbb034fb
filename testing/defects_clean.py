"""Changes with nothing wrong in them, each with something in it that a careless reviewer would fall for."""

from __future__ import annotations

import hashlib
import json

from testing.defects import Case
from testing.defects_planted import SHOP

_PYTHON = {
    "feature": (
        'def discount(price, percent):\n    """The price with a discount."""\n'
        "    return price * (100 - percent) / 100\n"
    ),
    "dataclass": (
        "from dataclasses import dataclass, field\n\n\n@dataclass\nclass Order:\n    id: int\n"
        "    items: list[str] = field(default_factory=list)\n    note: str | None = None\n"
    ),
    "match": (
        'def describe(value):\n    match value:\n        case {"kind": kind}:\n            return kind\n'
        "        case [first, *_]:\n            return first\n        case _:\n            return None\n"
    ),
    "new-generics": "type Pair[T] = tuple[T, T]\n\n\ndef first[T](pair: Pair[T]) -> T:\n    return pair[0]\n",
    "subprocess": (
        "import subprocess\n\n\ndef version() -> str:\n"
        '    done = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True)\n'
        "    return done.stdout\n"
    ),
    "literal-shell": 'import subprocess\n\nsubprocess.run("ls -l | wc -l", shell=True, check=True)\n',
    "random": "import random\n\n\ndef pick(items):\n    return random.choice(items)\n",
    "fastapi": (
        "from fastapi import Depends, FastAPI\n\napp = FastAPI()\n\n\ndef db():\n    yield None\n\n\n"
        '@app.get("/items")\ndef items(session=Depends(db)):\n    return session\n'
    ),
    "sqlalchemy": (
        "from sqlalchemy import select\n\nfrom shop.models import Item\n\n\ndef open_items(session):\n"
        "    return session.execute(select(Item).where(Item.sold == False))  # noqa: E712\n"
    ),
    "safe-sql": (
        'def find(db, name):\n    return db.execute("SELECT * FROM items WHERE name = ?", (name,)).fetchall()\n'
    ),
    "messages-like-sql": 'def words(count):\n    return f"Selected {count} items from the list, update your basket."\n',
    "typed-except": (
        "import contextlib\n\n\ndef number(text):\n    try:\n        return int(text)\n    except ValueError:\n"
        "        return None\n\n\ndef close(file):\n    with contextlib.suppress(OSError):\n        file.close()\n"
    ),
    "logging": (
        'import logging\n\nlog = logging.getLogger(__name__)\n\n\ndef note(item):\n    log.debug("added %s", item)\n'
    ),
    "cli-print": (
        'def main():\n    print("Total:", 3)\n    print("=" * 20)\n\n\nif __name__ == "__main__":\n    main()\n'
    ),
    "password-words": (
        'PASSWORD_FIELD = "password_1"\nSECRET_NAME = "prod/db-7"\nTOKEN_URL = "https://auth.internal/oauth2/token"\n'
        'password = input("Password: ")\napi_key = settings["api_key_v2"] if (settings := {}) else None\n'
    ),
    "password-from-env": (
        'import os\n\nDB_PASSWORD = os.environ["DB_PASSWORD"]\napi_key = os.environ.get("API_KEY_2", "")\n'
        'secret = f"{DB_PASSWORD}:{api_key}"\n'
    ),
    "hashes": f'CHECKSUM = "{hashlib.sha256(b"1").hexdigest()}"\nCOMMIT = "{hashlib.sha1(b"2").hexdigest()}"\n',
    "uuid": 'NAMESPACE = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"\nITEM_ID = "01890a5d-ac96-774b-bcce-b302099a8057"\n',
    "key-detector": (
        'def is_key(text):\n    return "-----BEGIN RSA PRIVATE KEY-----" in text or text.startswith("AKIA")\n'
    ),
    "usedforsecurity": (
        "import hashlib\n\n\ndef etag(data):\n    return hashlib.md5(data, usedforsecurity=False).hexdigest()\n"
    ),
    "generator": (
        "def chunks(items, size):\n    for at in range(0, len(items), size):\n        yield items[at : at + size]\n"
    ),
    "closure": (
        "from functools import partial\n\n\ndef makers(items):\n"
        "    return [partial(print, item) for item in items]\n\n\n"
        "def ordered(groups):\n    return {name: sorted(g, key=lambda one: one.price) for name, g in groups.items()}\n"
    ),
    "async": (
        "import asyncio\n\n\nasync def run(jobs):\n    async with asyncio.TaskGroup() as group:\n"
        "        tasks = [group.create_task(job()) for job in jobs]\n    return [task.result() for task in tasks]\n"
    ),
    "overload": (
        "from typing import overload\n\n\n@overload\ndef get(key: int) -> int: ...\n@overload\n"
        "def get(key: str) -> str: ...\ndef get(key):\n    return key\n"
    ),
    "type-checking": (
        "from __future__ import annotations\n\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n"
        "    from collections.abc import Iterable\n\n\n"
        "def total(prices: Iterable[float]) -> float:\n    return sum(prices)\n"
    ),
    "property": (
        "class Box:\n    def __init__(self):\n        self._size = 0\n\n    @property\n    def size(self):\n"
        "        return self._size\n\n    @size.setter\n    def size(self, value):\n        self._size = value\n"
    ),
    "conflict-in-string": 'SAMPLE = """\\\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> feature\n"""\n',
    "debugger-tool": "import pdb\n\n\nclass Shell(pdb.Pdb):\n    prompt = '> '\n",
    "bind": 'HOST = "0.0.0.0"\nPORT = 8080\n',
    "tmp": 'from tempfile import mkdtemp\n\nfolder = mkdtemp(prefix="shop-")\n',
    "cast": 'from typing import cast\n\n\ndef number(value: object) -> int:\n    return cast("int", value)\n',
}

_TS = "export function sum(a: number, b: number) {\n  return a + b;\n}\n"
_HEX = hashlib.sha512(b"lock").hexdigest()


def clean() -> list[Case]:
    return [*_python(), *_tests(), *_settings(), *_others()]


def _python() -> list[Case]:
    return [Case(kind, f"shop/{kind.replace('-', '_')}.py", text) for kind, text in _PYTHON.items()]


def _tests() -> list[Case]:
    return [
        Case(
            "pytest",
            "tests/test_prices.py",
            "import pickle\nimport subprocess\n\nimport pytest\n\nfrom shop.prices import total\n\n\n"
            "def test_total():\n    assert total([]) == 0\n    assert pickle.loads(pickle.dumps(3)) == 3\n\n\n"
            "def test_refuses():\n    with pytest.raises(KeyError):\n        {}[1]\n\n\n"
            'def test_shell(tmp_path):\n    subprocess.run(f"ls {tmp_path}", shell=True, check=True)\n',
        ),
        Case(
            "fixture-password", "tests/conftest.py", 'PASSWORD = "hunter2hunter2"\nAPI_KEY = "k3y-f0r-tests-only-42"\n'
        ),
        Case("bad-on-purpose", "tests/data/invalid.json", '{"a": \n'),
        Case("console-in-test", "src/sum.test.ts", "it('adds', () => {\n  console.log(1);\n});\n"),
    ]


def _settings() -> list[Case]:
    lock = {"lockfileVersion": 3, "packages": {"a": {"integrity": f"sha512-{_HEX}"}}}
    return [
        Case("lock", "package-lock.json", json.dumps(lock, indent=2) + "\n"),
        Case("poetry-lock", "poetry.lock", f'[[package]]\nname = "a"\nfiles = [{{hash = "sha256:{_HEX[:64]}"}}]\n'),
        Case("tsconfig", "tsconfig.json", '{\n  // strict\n  "compilerOptions": {"strict": true,},\n}\n'),
        Case("vscode", ".vscode/settings.json", '{\n  // tabs\n  "editor.tabSize": 2,\n}\n'),
        Case("comment-comes", "tsconfig.json", '{\n  // why\n  "a": 1\n}\n', '{\n  "a": 1\n}\n'),
        Case("json-lines", "data/items.json", '{"a": 1}\n{"a": 2}\n'),
        Case(
            "workflow",
            ".github/workflows/ci.yml",
            "on: push\njobs:\n  test:\n    runs-on: linux\n    env:\n      TOKEN: ${{ secrets.TOKEN }}\n"
            "      password: ${{ secrets.DB_PASSWORD }}\n    steps:\n      - run: |\n          make test\n",
        ),
        Case(
            "helm",
            "chart/templates/app.yaml",
            "a: {{ .Values.a }}\n{{- if .Values.b }}\nb: {{ .Values.b }}\n{{- end }}\n",
        ),
        Case("tags", "cfn.yaml", "Resources:\n  A: !Ref Other\n  B: !GetAtt [A, Arn]\n  C: !Sub '${A}-x'\n"),
        Case("merge-keys", "conf.yaml", "base: &b {x: 1}\none:\n  <<: *b\n  y: 2\n---\nsecond: true\n"),
        Case(
            "compose", "compose.yaml", "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: ${DB_PASSWORD}\n"
        ),
        Case("env-example", ".env.example", "DB_PASSWORD=change-me\nAPI_KEY=your-api-key-1234\n"),
        Case("pyproject", "pyproject.toml", '[project]\nname = "shop"\nversion = "0.1"\nrequires-python = ">=3.11"\n'),
        Case("json-schema", "schema.json", json.dumps({"properties": {"password": {"minLength": 8}}}, indent=1) + "\n"),
    ]


def _others() -> list[Case]:
    return [
        Case("ts", "src/sum.ts", _TS + "export const api = { passwordMinLength: 12, tokenType: 'Bearer' };\n", _TS),
        Case("js-error", "src/app.js", "export function boot() {\n  console.error('no root');\n}\n"),
        Case("js-cli", "bin/run.js", "#!/usr/bin/env node\nconsole.log('ready');\n"),
        Case("js-logs", "src/say.js", "console.log('a');\nconsole.log('b');\n", "console.log('a');\n"),
        Case("rst", "docs/index.rst", "Shop\n=======\n\nPrices\n=======\n\n>>> total([])\n0\n"),
        Case("md-conflict", "docs/git.md", "Look:\n\n```\n<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> b\n```\n"),
        Case("md-secrets", "README.md", 'Set `API_KEY = "3f8a9c-yours-here-1"` and `password: s3cr3t-w0rd-9`.\n'),
        Case("go", "cmd/main.go", 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("ready")\n}\n'),
        Case("rust", "src/lib.rs", "// dbg!(x) is gone\npub fn sum(a: u32, b: u32) -> u32 {\n    a + b\n}\n"),
        Case("sh", "run.sh", '#!/bin/sh\nset -eu\necho "$HOME"\n'),
        Case("css", "web/a.css", ".a { color: #a1b2c3; }\n"),
        Case("edit", "shop/prices.py", SHOP.replace("result = 0", "result = 0.0"), SHOP),
        Case("delete-method", "shop/prices.py", SHOP.partition("\n    def add")[0] + "\n", SHOP),
        Case("init", "shop/__init__.py", 'from shop.prices import Basket, total\n\n__all__ = ["Basket", "total"]\n'),
        Case(
            "old-problem",
            "shop/old.py",
            "def f(x=[]):\n    return x\n\n\ndef g():\n    return 2\n",
            "def f(x=[]):\n    return x\n\n\ndef g():\n    return 1\n",
        ),
        Case(
            "own-settings",
            "shop/run.py",
            "def run(code):\n    return eval(code)\n",
            None,
            others={"ruff.toml": '[lint]\nselect = ["F"]\nignore = ["S307"]\n'},
        ),
    ]
