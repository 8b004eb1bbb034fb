"""aider: no JSON, no tools, exit code 0 whatever happens; the answer is in its chat history."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from burnish.agents.base import AgentFailure, AgentSettings, Call, FinishedCall, Login, StopHook, TokenFile, UsageReport
from burnish.agents.failure import failure, missing_answer, no_answer
from burnish.agents.steps import Problem, Said, Step, ToolEnded, ToolStarted
from burnish.agents.usage import TokenCount, billed, dollars, is_token_count
from burnish.core.agent import AgentReply, AgentRequest

_LOGIN = "Set the key of the model's provider, e.g. OPENAI_API_KEY or ANTHROPIC_API_KEY."
_CHAT = "chat.md"
# Each given explicitly, because the repository's .env could set it otherwise.
_QUIET = (
    *("--yes-always", "--no-pretty", "--no-stream", "--no-fancy-input", "--no-check-update", "--no-analytics"),
    *("--no-show-release-notes", "--no-show-model-warnings", "--no-detect-urls", "--disable-playwright"),
    *("--no-gitignore", "--no-auto-commits", "--no-dirty-commits", "--no-auto-lint", "--no-auto-test"),
    *("--no-notifications", "--no-suggest-shell-commands", "--no-watch-files", "--no-restore-chat-history"),
    # the map of the repository keeps its cache inside of it
    *("--map-tokens", "0", "--timeout", "300"),
)
_ENV = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    # else it breaks lines after 80 characters
    "COLUMNS": "1000",
    # where git knows no name it writes one into .git/config
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "user.name",
    "GIT_CONFIG_VALUE_0": "aider",
    "GIT_CONFIG_KEY_1": "user.email",
    "GIT_CONFIG_VALUE_1": "aider@localhost",
}
_SUM = re.compile(
    r"^> Tokens: ([\d.,]+[kM]?) sent,.*? ([\d.,]+[kM]?) received\.(?:.*?\$([\d.]+) message)?", re.MULTILINE
)
_MODEL = re.compile(r"^> (?:Main model|Model): (\S+)", re.MULTILINE)
_OWN_ERROR = re.compile(r"> (?:litellm\.)?\w*Error:")
_TOKEN_LIMIT = re.compile(
    r"^> (Model \S+ has hit a token limit)!.*?^> (Input tokens: [^\n]*)", re.MULTILINE | re.DOTALL
)
_MAX_TRIES = 5
# What it prints beside the model's answer: of itself, and the names of the files in the chat.
_OWN_LINE = re.compile(
    r"Aider v\d|(?:Main m|M|Weak m|Editor m)odel: |Git repo: |Repo-map: |Added .+ to the chat"
    r"|Retrying in [\d.]+ seconds|The API provider|HTTPSConnectionPool\(|Note: in-chat filenames"
)
_FILE_NAME = re.compile(r"(?:[\w@+.-]+/)*[\w@+.-]+\.\w{1,8}")
_EDIT = re.compile(r"Applied edit to (\S.*)")
_PRINTED_ERROR = re.compile(r"litellm\.\w*Error: .+")

LOGIN_FILES = Login(
    paths=(".aider", ".aider.conf.yml", ".aider.model.settings.yml", ".aider.model.metadata.json"),
    skipped=(".aider/caches", ".aider/analytics.json"),
    token_files=(TokenFile(".aider/oauth-keys.json"),),
    key_variables=(
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "DEEPSEEK_API_KEY",
        "OPENROUTER_API_KEY",
    ),
    advice="Set the key of the model's provider.",
)
_USAGE_REPORT = UsageReport(has_model=True)


@dataclass(frozen=True, slots=True)
class AiderAgent:
    name: str = "aider"
    program: str = "aider"
    verified: bool = True
    tested_version: str = "0.86.2"
    min_version: str = "0.86.2"
    update: str = "aider --upgrade"
    efforts: tuple[str, ...] | None = ()
    keys: tuple[str, ...] = (
        "OPENAI_API_KEY",
        "OPENAI_API_BASE",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "DEEPSEEK_API_KEY",
        "OPENROUTER_API_KEY",
        "OLLAMA_API_BASE",
        "AIDER_MODEL",
    )
    output_files: tuple[str, ...] = (_CHAT,)
    # it keeps histories in the repository, and no flag stops it from reading `.env`
    project_files: tuple[str, ...] = (".aider*", ".env")
    login: Login = LOGIN_FILES
    required_settings: tuple[str, ...] = ()
    reads_files: bool = False
    usage: UsageReport = _USAGE_REPORT
    stop_hook: StopHook | None = None

    def call(self, request: AgentRequest, settings: AgentSettings) -> Call:
        here = request.call_dir
        argv = [self.program, *_QUIET, "--message-file", str(here / "prompt.md")]
        argv += ["--chat-history-file", str(here / _CHAT), "--input-history-file", str(here / "input")]
        # named, so that the repository's own .aider.conf.yml is not looked for
        argv += ["--config", str(here / "aider.yml"), "--env-file", str(here / "no.env"), "--load", str(here / "none")]
        if request.read_only:
            argv += ["--chat-mode", "ask", "--dry-run"]
        if request.model:
            argv += ["--model", request.model]
        argv += settings.effort_option(request, "--reasoning-effort", "{}")
        files = {"aider.yml": "{}\n", "no.env": "", "none": ""}
        return Call(tuple(argv), env=_ENV, files=files)

    def read(self, call: FinishedCall) -> AgentReply | AgentFailure:
        chat = call.files.get(_CHAT, "")
        answer = _after_prompt(chat)
        if call.exit_code != 0 or answer is None:
            return missing_answer("aider", call, login=_LOGIN)
        matches = list(_SUM.finditer(answer))
        earlier = _earlier_answers(answer, matches) if call.role in ("review", "parse") else []
        text = _without_own_lines(answer[matches[-2].start() :] if earlier else answer)
        rest = answer[matches[-1].end() :] if matches else answer
        problem = _own_problem(rest)
        words = any(line.strip() and not line.startswith(">") for line in text.split("\n"))
        # it counts the tokens of each answer: what follows the last count was cut off
        cut = bool(matches) and any(line.strip() and not line.startswith(">") for line in rest.split("\n")[1:])
        if problem or cut or not matches or not words or no_answer(text):
            reason = problem or ("its last answer was cut off" if cut else text if words else "it gave no answer")
            return failure("aider", reason, cut=cut or not answer.strip(), login=_LOGIN)
        reply = _reply(text, list(_SUM.finditer(chat)), _MODEL.search(chat), call)
        # a quote may look like a count: what stands before it is also a part of the same message
        return replace(reply, other_messages=tuple(earlier), text_before=tuple(earlier))

    def bill(self, call: FinishedCall) -> AgentReply | None:
        chat = call.files.get(_CHAT, "")
        sums = list(_SUM.finditer(chat))
        return _reply("", sums, _MODEL.search(chat), call) if sums else None

    def line_steps(self, line: str) -> Iterable[Step]:
        if problem := _PRINTED_ERROR.match(line):
            return (Problem(problem[0]),)
        if edit := _EDIT.fullmatch(line):
            return (ToolStarted(line, "edit", {"path": edit[1]}), ToolEnded(line))
        if line.startswith("Tokens: "):
            # the end of an answer
            return (Said(""),)
        return () if _OWN_LINE.match(line) or _FILE_NAME.fullmatch(line) else (Said(f"{line}\n", is_piece=True),)

    def abort_reason(self, stdout: str, stderr: str) -> AgentFailure | None:
        """It retries for 80 seconds, and has no setting for that."""
        *_, last = stdout.split("\nTokens: ")
        tries = last.split("\nRetrying in ")
        if len(tries) <= _MAX_TRIES:
            return None
        message = next((line for line in tries[-2].split("\n") if "Error" in line), "the server does not answer")
        return failure("aider", message, cut=True, login=_LOGIN)


def _own_problem(text: str) -> str:
    """What aider reports itself: an error of the server, or a prompt that is too long for the model."""
    if limit := _TOKEN_LIMIT.search(text):
        return f"{limit[1]}. {limit[2].strip(' !')}"
    return next((line[1:].strip() for line in text.split("\n") if _OWN_ERROR.match(line)), "")


def _after_prompt(chat: str) -> str | None:
    """What follows the prompt, each line of which aider writes behind `#### `. A later heading is the model's own."""
    prompt = re.search(r"^####(?: [^\n]*)?\n(?:####(?: [^\n]*)?\n)*", chat, re.MULTILINE)
    return chat[prompt.end() :] if prompt else None


def _earlier_answers(answer: str, counts: list[re.Match[str]]) -> list[str]:
    """It asks the model again after it has added a file: the answers before that are not the final message."""
    places = [0, *(count.start() for count in counts[:-1])]
    texts = (_without_own_lines(answer[start:end]) for start, end in pairwise(places))
    return [text for text in texts if text]


def _without_own_lines(answer: str) -> str:
    """Without what aider says itself: lines behind `> ` right after the prompt and from a count of tokens on.

    All others are quotes in the model's answer, and stay.
    """
    lines, is_own = [], True
    for line in answer.split("\n"):
        is_own = line.startswith("> ") and (is_own or _SUM.match(line) is not None)
        if not is_own:
            lines.append(line.rstrip())
    return "\n".join(lines).strip()


def _reply(text: str, sums: list[re.Match[str]], model: re.Match[str] | None, call: FinishedCall) -> AgentReply:
    counts = [(_count(found[1]), _count(found[2])) for found in sums]
    new, out = sum(one or 0 for one, _ in counts), sum(one or 0 for _, one in counts)
    complete = all(one is not None for count in counts for one in count)
    costs = [usd for found in sums if found[3] and (usd := _amount(found[3])) is not None]
    name = model[1] if model else call.model
    reply = AgentReply(text, name, tokens=new + out)
    # it rounds its counts, and knows no price of a new model
    partial = not complete or 0 < len(costs) < len(sums)
    own, by_list = sum(costs) if costs else None, TokenCount(new, 0, out, complete).price(name)
    return billed(reply, own, by_list, has_all_tokens=complete, partial=partial)


def _amount(word: str) -> float | None:
    try:
        return dollars(float(word.rstrip(".")))
    except ValueError:
        return None


def _count(word: str) -> int | None:
    """`1.2k` as a number; None for what is not a count of tokens."""
    factor = {"k": 1_000, "M": 1_000_000}.get(word[-1], 1)
    try:
        number = round(float(word.rstrip("kM").replace(",", "")) * factor)
    except (ValueError, OverflowError):
        return None
    return number if is_token_count(number) else None
