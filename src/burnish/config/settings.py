"""The settings as a whole, which know where each value came from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, PrivateAttr

from burnish.config import sections as s
from burnish.config import values as v
from burnish.config.kinds import KINDS
from burnish.config.repository import IgnoredKey

DEFAULT = "default"


def _known_kinds(value: Any) -> Any:
    """`kind` may be left out where the name is a known agent."""
    if not isinstance(value, dict):
        return value
    table = {}
    for name, entry in value.items():
        if entry is None and name in KINDS:
            entry = {}
        if isinstance(entry, dict) and "kind" not in entry and name in KINDS:
            entry = {"kind": name, **entry}
        table[name] = entry
    return table


class Config(v.Section):
    """Every setting of one project, from all layers."""

    agent: v.Name = Field(default="auto", description="who implements and improves; `auto` = the first installed")
    agents: Annotated[dict[v.Name, s.AgentSection], BeforeValidator(_known_kinds)] = Field(
        default_factory=lambda: {"claude": s.AgentSection(kind="claude")}, description="agents by name"
    )
    roles: dict[Literal["implement", "improve", "review", "parse"], v.RoleEntry] = Field(
        default={},
        description="who plays `implement`, `improve`, `review`, `parse`, e.g. `parse: {agent: llm}`",
    )
    defaults: s.Defaults = Field(default_factory=s.Defaults)
    task_types: s.TaskTypes = Field(default_factory=s.TaskTypes)
    review: s.ReviewSettings = Field(default_factory=s.ReviewSettings)
    fix: s.Fix = Field(default_factory=s.Fix)
    pipeline: tuple[s.Step, ...] = Field(
        default=(), description="reviews after approval, e.g. `[{name: security, agents: [claude]}]`"
    )
    approval: Literal["auto", "required"] = Field(
        default="auto", description="`required`: a person answers before it is verified"
    )
    hitl_review: v.Hitl = Field(default=False, description="ask at the terminal: `false`, `every` (or `true`), `final`")
    checks: s.ChecksSection = Field(default_factory=s.ChecksSection)
    isolation: s.Isolation = Field(default_factory=s.Isolation)
    sandbox: s.SandboxSection = Field(default_factory=s.SandboxSection)
    workspace: s.WorkspaceSection = Field(default_factory=s.WorkspaceSection)
    commit: s.CommitSection = Field(default_factory=s.CommitSection)
    merge: s.MergeSection = Field(default_factory=s.MergeSection)
    prompts: dict[Literal["review.system", "review.template", "fix.template", "implement.template"], s.PromptSwitch] = (
        Field(default={}, description="switches of your own prompts, e.g. `review.system: {enabled: false}`")
    )
    budget: s.BudgetSection = Field(default_factory=s.BudgetSection)
    hook: s.Hook = Field(default_factory=s.Hook)
    clean: s.CleanSection = Field(default_factory=s.CleanSection)
    limits: s.LimitsSection = Field(default_factory=s.LimitsSection)
    machine: s.MachineSection = Field(default_factory=s.MachineSection)
    notify: s.Notify = Field(default_factory=s.Notify)
    serve: s.ServeSection = Field(default_factory=s.ServeSection)
    database: v.Database = Field(
        default=None, description="`postgresql://…` for many machines; empty = SQLite in the burnish home"
    )
    output_cap_mb: v.Amount = Field(default=64, description="most output that is kept of one call")
    projects: v.Projects = Field(
        default={}, description="settings for one checkout by its path, e.g. `{~/src/app: {sandbox: {network: false}}}`"
    )

    _origins: Mapping[str, str] = PrivateAttr(default_factory=dict)
    _ignored: tuple[IgnoredKey, ...] = PrivateAttr(default=())

    def origin(self, key: str) -> str:
        """Where the value of a dotted key came from, e.g. `burnish.yaml:12`."""
        parts = key.split(".")
        # `run` is the other name of `command`
        other = [*parts[:-1], "run"] if parts[-1] == "command" else parts
        if found := self._origins.get(".".join(other)):
            return found
        for end in range(len(parts), 0, -1):
            if found := self._origins.get(".".join(parts[:end])):
                return found
        below = sorted({text for name, text in self._origins.items() if name.startswith(f"{key}.")})
        return ", ".join(below) or DEFAULT

    def items(self) -> list[tuple[str, Any, str]]:
        """Every dotted key with its value and where it came from."""
        return [(key, value, self.origin(key)) for key, value in _leaves("", self)]

    @property
    def ignored(self) -> tuple[IgnoredKey, ...]:
        """Keys in the repository's file that only a user may set."""
        return self._ignored

    def with_origins(self, origins: Mapping[str, str], ignored: tuple[IgnoredKey, ...] = ()) -> Config:
        self._origins = dict(origins)
        self._ignored = ignored
        return self


def _leaves(prefix: str, value: Any) -> Iterator[tuple[str, Any]]:
    short = written(value)
    if prefix and not isinstance(short, dict | BaseModel):
        yield prefix, short
        return
    pairs = fields_of(value) if isinstance(value, BaseModel) else value
    if not pairs:
        yield prefix, {}
    for key, one in pairs.items():
        yield from _leaves(f"{prefix}.{key}" if prefix else str(key), one)


def fields_of(model: BaseModel) -> dict[str, Any]:
    """The fields of one section under the names that a person writes."""
    return {field.alias or name: getattr(model, name) for name, field in type(model).model_fields.items()}


def written(value: Any) -> Any:
    """A value in the shortest form that a person would have written it in."""
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, v.CheckEntry | v.ReviewerEntry | v.RoleEntry) and len(value.model_fields_set) == 1:
        (name,) = value.model_fields_set
        if name in ("command", "agent"):
            return written(getattr(value, name))
    return value


def _plain(value: Any) -> Any:
    value = written(value)
    if isinstance(value, BaseModel):
        set_fields = value.model_fields_set
        return {key: _plain(getattr(value, key)) for key in type(value).model_fields if key in set_fields}
    return value
