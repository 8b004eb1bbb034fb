"""Changes with one planted defect each: a plain file, the same file with the defect, and where it must be found."""

from __future__ import annotations

import random
import string
from collections.abc import Iterator

from testing.defects import Case

SHOP = '''"""Prices of a small shop."""

import json
from pathlib import Path


def load(path):
    return json.loads(Path(path).read_text())


def total(items):
    result = 0
    for item in items:
        result += item["price"] * item["count"]
    return result


class Basket:
    def __init__(self, owner):
        self.owner = owner
        self.items = []

    def add(self, item):
        self.items.append(item)
        return self
'''

# kind, rule, the lines that are added to the end of SHOP; `!` marks the line of the defect
_PYTHON = """
syntax-error|syntax-error|def discount(price:!/    return price
syntax-error|syntax-error|def discount(price)!/    return price * 0.9
syntax-error|syntax-error|RATES = {"a": 1, "b": 2!/
syntax-error|syntax-error|if True!/    x = 1
undefined-name|F821|def discount(price):/    return price * rate!
undefined-name|F821|def save(path, items):/    Path(path).write_text(jsn.dumps(items))!
undefined-name|F821|def owner_of(basket):/    return baskt.owner!
undefined-name|F821|def log_it(message):/    logging.info(message)!
undefined-name|F821|def again(self):/    retrun!
unbound-local|F823|count = 0///def bump():/    print(count)!/    count = 1
mutable-default|B006|def collect(item, into=[]):!/    into.append(item)/    return into
mutable-default|B006|def tag(name, tags={}):!/    tags[name] = 1/    return tags
mutable-default|B006|def seen(name, *, known=set()):!/    known.add(name)/    return known
bare-except|S110|def quiet(path):/    try:/        return load(path)/    except Exception:!/        pass
bare-except|E722|def quiet(path):/    try:/        return load(path)/    except:!/        return None
sql-injection|S608|def find(db, name):/    return db.execute(f"SELECT * FROM items WHERE name = '{name}'")!
sql-injection|S608|def drop(db, name):/    db.execute("DELETE FROM items WHERE name = '" + name + "'")!
sql-injection|S608|def put(db, name):/    db.execute("INSERT INTO items VALUES ('%s')" % name)!
shell-injection|S602|import subprocess///def pack(name):/    subprocess.run(f"tar cf {name}.tar {name}", shell=True)!
shell-injection|S605|import os///def pack(name):/    os.system("tar cf out.tar " + name)!
eval|S307|def compute(text):/    return eval(text)!
unsafe-yaml|S506|import yaml///def settings(text):/    return yaml.load(text, Loader=yaml.Loader)!
no-tls-check|S501|import requests///def ping(url):/    return requests.get(url, verify=False, timeout=5)!
no-timeout|S113|import requests///def ping(url):/    return requests.get(url)!
weak-hash|S324|import hashlib///def digest(password):/    return hashlib.md5(password).hexdigest()!
pickle|S301|import pickle///def thaw(data):/    return pickle.loads(data)!
debug-server|S201|from flask import Flask//app = Flask(__name__)/app.run(debug=True)!
breakpoint|T100|def add_all(basket, items):/    breakpoint()!/    return [basket.add(i) for i in items]
breakpoint|T100|def add_all(basket, items):/    import pdb; pdb.set_trace()!/    return items
debug-print|leftover-debugging|def add_all(basket, items):/    print("DEBUG", items)!/    return items
debug-print|leftover-debugging|def add_all(basket, items):/    print(f"here {items}")!/    return items
bad-format|F507|def label(item):/    return "%s: %s" % (item,)!
bad-format|F524|def label(item):/    return "{0} {1}".format(item)!
is-literal|F632|def is_free(item):/    return item["price"] is 0!
assert-tuple|F631|def check(item):/    assert (item, "no item")!
raise-literal|B016|def refuse():/    raise "no such item"!
loop-closure|B023|def makers(items):/    return [lambda: item for item in items]!
duplicate-key|F601|RATES = {"a": 1, "b": 2, "a": 3}!
redefined|F811|def total(items):!/    return len(items)
return-in-finally|B012|def shaky(path):/    try:/        return load(path)/    finally:/        return None!
useless-compare|B015|def reset(basket):/    basket.owner == None!
unused-variable|F841|def lost(items):/    amount = total(items)!/    return 0
self-compare|PLR0124|def same(a, b):/    return a == a!
self-assign|PLW0127|def keep(owner):/    owner = owner!/    return owner
missing-raise|PLW0133|def check(item):/    if not item:/        ValueError("no item")!
dangling-task|RUF006|import asyncio///async def begin(job):/    asyncio.create_task(job())!
sleep-in-async|ASYNC251|import time///async def pause():/    time.sleep(1)!
await-outside|PLE1142|def begin(job):/    await job()!
log-format|PLE1205|import logging///def note(item):/    logging.info("added %s", item, item)!
bidi|PLE2502|ROLE = "user\u202e"!
lint-off|lint-switched-off|# ruff: noqa!
"""


def planted(seed: int = 1) -> list[Case]:
    return [*_python(), *_texts(), *_secrets(random.Random(seed)), *_moved()]


def _python() -> Iterator[Case]:
    start = SHOP.count("\n")
    for row in _PYTHON.strip().split("\n"):
        kind, rule, body = row.split("|", 2)
        lines = ["", "", *body.split("/")]
        at = next(n for n, line in enumerate(lines, 1) if line.endswith("!"))
        text = "\n".join(line.removesuffix("!") for line in lines).rstrip("\n") + "\n"
        yield Case(kind, "shop/prices.py", SHOP + text, SHOP, rule, start + at)


def _texts() -> Iterator[Case]:
    ts = "export function sum(a: number, b: number) {\n  return a + b;\n}\n"
    for path, mark in (
        ("src/a.ts", "  debugger;\n"),
        ("src/b.js", "    debugger\n"),
        ("lib/c.tsx", "debugger; // look\n"),
    ):
        yield Case("breakpoint-other", path, ts + mark, ts, "leftover-breakpoint", 4)
    ruby = "class Cart\n  def total\n    @items.sum(&:price)\n  end\nend\n"
    yield Case(
        "breakpoint-other",
        "app/cart.rb",
        ruby.replace("    @", "    binding.pry\n    @"),
        ruby,
        "leftover-breakpoint",
        3,
    )
    yield Case(
        "debug-output", "src/a.ts", ts.replace("  ret", "  console.log(a, b);\n  ret"), ts, "leftover-debugging", 2
    )
    rust = "pub fn sum(a: u32, b: u32) -> u32 {\n    a + b\n}\n"
    yield Case(
        "debug-output", "src/lib.rs", rust.replace("    a", "    dbg!(a);\n    a"), rust, "leftover-debugging", 2
    )
    yield Case("focused-test", "src/a.test.ts", "it.only('adds', () => {\n});\n", None, "focused-test", 1)
    for path, text in (
        ("shop/prices.py", SHOP),
        ("README.rst", "Shop\n====\n\nWords.\n"),
        ("main.go", "package main\n"),
    ):
        both = f"{text}<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> feature\n"
        yield Case("conflict", path, both, text, "conflict-marker", text.count("\n") + 1)
    good = '{\n  "name": "shop",\n  "version": "1.0.0"\n}\n'
    yield Case("bad-json", "package.json", good.replace('0"', '0",'), good, "syntax-error", 3)
    yield Case("bad-json", "data/prices.json", '{\n  "a": 1\n  "b": 2\n}\n', None, "syntax-error", 3)
    yield Case("bad-json", "conf.json", good.replace('"shop",', '"shop"'), good, "syntax-error", 2)
    toml = '[tool.shop]\nname = "shop"\n'
    yield Case("bad-toml", "pyproject.toml", toml + "count = \n", toml, "syntax-error", 3)
    yield Case("bad-toml", "conf.toml", '[a]\nx = "1\n', None, "syntax-error", 2)
    yaml = "on: push\njobs:\n  test:\n    runs-on: linux\n"
    yield Case("bad-yaml", ".github/workflows/ci.yml", yaml + "   steps:\n", yaml, "syntax-error", 5)
    yield Case("bad-yaml", "conf.yaml", "a: [1, 2\nb: 3\n", None, "syntax-error", 2)
    yield Case("double-key", "conf.yaml", yaml + "    runs-on: mac\n", yaml, "duplicate-key", 5)
    yield Case("leftover-file", "shop/prices.py.orig", SHOP, None, "leftover-file")
    yield Case("leftover-file", "shop/prices.py.rej", "@@ -1 +1 @@\n", None, "leftover-file")
    yield Case("env-file", ".env", "DEBUG=1\n", None, "env-file")
    yield Case("large-file", "data/prices.csv", "1,2,3,4,5,6,7,8\n" * 80_000, None, "large-file")


def _secrets(dice: random.Random) -> Iterator[Case]:
    def some(count: int, letters: str = string.ascii_letters + string.digits) -> str:
        return "".join(dice.choice(letters) for _ in range(count))

    upper = string.ascii_uppercase + string.digits
    lower = string.ascii_lowercase + string.digits
    # Put together here, so that no scanner takes this file for a leak.
    shapes = {
        "AWS_ID": "AKI" + "A" + some(16, upper),
        "GITHUB": "gh" + "p_" + some(36),
        "GITHUB_FINE": "github" + "_pat_" + some(22) + "_" + some(59),
        "GITLAB": "glp" + "at-" + some(20),
        "SLACK": f"xo{'xb'}-{some(11, string.digits)}-{some(24, lower)}",
        "STRIPE": "sk_" + "live_" + some(24),
        "GOOGLE": "AI" + "za" + some(35),
        "SENDGRID": f"S{'G'}.{some(22)}.{some(43)}",
    }
    for name, value in shapes.items():
        yield Case("token", "shop/prices.py", f'{SHOP}\n{name} = "{value}"\n', SHOP, "secret", SHOP.count("\n") + 2)
    yield Case("token", "deploy.sh", f"#!/bin/sh\nexport TOKEN={shapes['GITHUB']}\n", None, "secret", 2)
    key = "\n".join(some(64) for _ in range(4))
    pem = f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{key}\n-----END RSA {'PRIVATE'} KEY-----\n"
    yield Case("private-key", "deploy/id", pem, None, "secret", 1)
    yield Case("password", "shop/db.py", f'DB_PASSWORD = "{some(20)}7"\n', None, "secret", 1)
    yield Case("password", "conf/app.yaml", f"db:\n  password: {some(18)}9\n", None, "secret", 2)
    yield Case("password", "src/api.ts", f'const api_key = "{some(24)}3";\n', None, "secret", 1)
    yield Case("password", "shop/db.py", f'URL = "postgres://shop:{some(12)}5@db.internal/shop"\n', None, "secret", 1)


def _moved() -> Iterator[Case]:
    """The mistake is what was taken away."""
    yield Case("removed-import", "shop/prices.py", SHOP.replace("import json\n", ""), SHOP, "F821")
    gone = SHOP.replace("    result = 0\n", "")
    yield Case("removed-line", "shop/prices.py", gone, SHOP, "F821")
    yield Case("removed-line", "conf.json", '{\n  "a": [\n    1\n}\n', '{\n  "a": [\n    1\n  ]\n}\n', "syntax-error")
