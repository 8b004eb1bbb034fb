"""Maps ruff's rules to severities. Style rules are left to the repository's own settings."""

from __future__ import annotations

import re

from burnish.core.finding import Category, Severity

SYNTAX = "syntax-error"

# Certain defects: the code does not run, or does not do what it states.
_WRONG = """
F404 F501 F502 F503 F505 F506 F507 F508 F509 F521 F524 F525 F631 F634 F701 F702 F704 F706 F707 F821 F822 F823
B016 B030 PLE0100 PLE0115 PLE0116 PLE0117 PLE0118 PLE0237 PLE0241 PLE0604 PLE0605 PLE1142 PLE1300 PLE1307
PLW1501 RUF016 T100
""".split()

# Probable defects.
_LIKELY = """
F402 F504 F522 F523 F601 F602 F632 F633 F811 F841 E722
B002 B003 B005 B006 B012 B014 B015 B018 B020 B021 B022 B023 B025 B029 B031 B032 B033 B035 B039
PLE0101 PLE0302 PLE0303 PLE0305 PLE0307 PLE0308 PLE0309 PLE0643 PLE0704 PLE1132 PLE1205 PLE1206 PLE1310
PLE1507 PLE1519 PLE1520 PLE1700 PLE2510 PLE2512 PLE2513 PLE2514 PLE2515
PLW0127 PLW0128 PLW0129 PLW0131 PLW0133 PLW0177 PLW0211 PLW0245 PLW0602 PLW0711 PLW1507 PLW1508
PLW1509 PLW2101 RUF006 RUF008 RUF024 RUF026 RUF034 PIE794 SIM222 SIM223
ASYNC210 ASYNC220 ASYNC221 ASYNC222 ASYNC251 S110 S112
""".split()

# Known vulnerabilities.
_DANGEROUS = "PLE2502 S201 S307 S323 S501 S502 S503 S504 S506 S507 S602 S605 S608".split()

# Vulnerabilities with untrusted input.
_RISKY = """
S102 S103 S113 S202 S301 S304 S305 S306 S324 S505 S508 S509 S611 S612 S701 S702
""".split()

# Minor problems.
_TIDY = ["F401", "F842", "PLR0124"]

SELECTED = tuple(sorted({*_WRONG, *_LIKELY, *_DANGEROUS, *_RISKY, *_TIDY}))

# Usual in tests.
_NOT_IN_TESTS = {"B015", "B018", "PLR0124", "PLW0177", "PLW0133", "S110", "S112", "E722", "SIM222", "SIM223", "F841"}
_RUNS_IT = re.compile(r"\.(?:execute|executemany|executescript|raw|fetch\w*|query)\s*\(")
# A shell command that is a literal; a debugger that is imported but not called.
_SEEMS_SAFE = re.compile(r"seems safe|^Import for ")
# Suppressed for another tool.
_LOOKED_AT = re.compile(r"#\s*nosec\b|#\s*type:\s*ignore\[[^]]*name-defined|\bget_ipython\b")
_OWN_NAMES = re.compile(r"eval\((?:[^()]*,\s*[\w{]|[rb]?[\"'][^\"']*[\"']\))")
_PROPERTY = re.compile(r"\s*[\w.]+\.\w+\s*(?:#.*)?")


def weigh(
    code: str, message: str, *, code_there: str, in_tests: bool, own_rules: bool
) -> tuple[Category, Severity] | None:
    """Category and severity; None for problems not worth reporting. `own_rules`: the repository enables the rule."""
    category = Category.SECURITY if _about_security(code) else Category.CODE
    if code != SYNTAX and (_harmless(code, in_tests) or _SEEMS_SAFE.search(message) or _is_intended(code, code_there)):
        return (category, Severity.INFO) if own_rules else None
    if code == SYNTAX or code in _WRONG:
        return Category.CODE, Severity.ERROR
    if code in _DANGEROUS:
        return _dangerous_severity(code, code_there)
    if code in _RISKY:
        return Category.SECURITY, Severity.WARNING
    if code in _LIKELY:
        return Category.CODE, Severity.WARNING
    return (category, Severity.INFO) if code in _TIDY or own_rules else None


def _harmless(code: str, in_tests: bool) -> bool:
    return in_tests and (_about_security(code) or code in _NOT_IN_TESTS)


def _is_intended(code: str, code_there: str) -> bool:
    lines = code_there.partition("\n")[2]
    if code == "B018" and _PROPERTY.fullmatch(lines):
        return True  # reading a property may have side effects
    return (_about_security(code) or code == "F821") and bool(_LOOKED_AT.search(lines))


def _about_security(code: str) -> bool:
    return code.startswith("S") and code[1:].isdigit()


def _dangerous_severity(code: str, code_there: str) -> tuple[Category, Severity]:
    if code == "S307" and _OWN_NAMES.search(code_there):
        return Category.SECURITY, Severity.WARNING  # a literal, or with explicit namespaces
    if code == "S608" and not _RUNS_IT.search(code_there):
        # Text that looks like SQL; whether it is executed is unknown here.
        return Category.SECURITY, Severity.WARNING
    return Category.SECURITY, Severity.ERROR
