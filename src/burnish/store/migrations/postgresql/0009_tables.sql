-- The tables of all migrations up to 0009. Text is compared by its bytes ("C"), as in SQLite, whatever the locale.

CREATE TABLE projects (
    key TEXT COLLATE "C",
    dir_hash TEXT COLLATE "C" NOT NULL UNIQUE,
    info TEXT COLLATE "C" NOT NULL,
    created_at TEXT COLLATE "C" NOT NULL,
    next_event BIGINT NOT NULL DEFAULT 1,
    next_task BIGINT NOT NULL DEFAULT 1,
    forgotten BIGINT NOT NULL DEFAULT 0,
    repository_id TEXT COLLATE "C" NOT NULL DEFAULT '',
    PRIMARY KEY (key)
);

CREATE TABLE events (
    project TEXT COLLATE "C" NOT NULL REFERENCES projects (key),
    id BIGINT NOT NULL,
    ts TEXT COLLATE "C" NOT NULL,
    task BIGINT,
    run BIGINT NOT NULL,
    cycle BIGINT NOT NULL,
    type TEXT COLLATE "C" NOT NULL,
    data TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (project, id)
);

CREATE TABLE tasks (
    project TEXT COLLATE "C" NOT NULL REFERENCES projects (key),
    id BIGINT NOT NULL,
    head TEXT COLLATE "C" NOT NULL,
    spec TEXT COLLATE "C" NOT NULL,
    priority BIGINT NOT NULL,
    status TEXT COLLATE "C" NOT NULL,
    reason TEXT COLLATE "C",
    error TEXT COLLATE "C",
    note TEXT COLLATE "C" NOT NULL DEFAULT '',
    final_verdict TEXT COLLATE "C",
    run BIGINT NOT NULL DEFAULT 0,
    cycle BIGINT NOT NULL DEFAULT 0,
    max_cycles BIGINT NOT NULL,
    auto_review BIGINT NOT NULL,
    review_status TEXT COLLATE "C",
    phase TEXT COLLATE "C",
    phase_started TEXT COLLATE "C",
    branch TEXT COLLATE "C",
    target TEXT COLLATE "C",
    base TEXT COLLATE "C",
    commit_sha TEXT COLLATE "C",
    agent TEXT COLLATE "C",
    model TEXT COLLATE "C",
    open_findings BIGINT NOT NULL DEFAULT 0,
    cost_usd DOUBLE PRECISION,
    tokens BIGINT NOT NULL DEFAULT 0,
    overrides BIGINT NOT NULL DEFAULT 0,
    runner TEXT COLLATE "C",
    claimed_at TEXT COLLATE "C",
    waits BIGINT NOT NULL DEFAULT 0,
    archived BIGINT NOT NULL DEFAULT 0,
    removed BIGINT NOT NULL DEFAULT 0,
    created_at TEXT COLLATE "C" NOT NULL,
    updated_at TEXT COLLATE "C" NOT NULL,
    cost_source TEXT COLLATE "C",
    waits_for TEXT COLLATE "C" NOT NULL DEFAULT '',
    issues_fixed BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (project, id)
);

CREATE TABLE needs (
    project TEXT COLLATE "C" NOT NULL,
    task BIGINT NOT NULL,
    needs BIGINT NOT NULL,
    PRIMARY KEY (project, task, needs)
);

CREATE TABLE phases (
    project TEXT COLLATE "C" NOT NULL,
    task BIGINT NOT NULL,
    run BIGINT NOT NULL,
    cycle BIGINT NOT NULL,
    phase TEXT COLLATE "C" NOT NULL,
    attempt BIGINT NOT NULL,
    event_id BIGINT NOT NULL,
    state TEXT COLLATE "C" NOT NULL,
    started_at TEXT COLLATE "C" NOT NULL,
    finished_at TEXT COLLATE "C",
    runner TEXT COLLATE "C" NOT NULL DEFAULT '',
    result TEXT COLLATE "C" NOT NULL DEFAULT '{}',
    superseded BIGINT NOT NULL DEFAULT 0,
    cost_usd DOUBLE PRECISION,
    tokens BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (project, task, run, cycle, phase, attempt)
);

CREATE TABLE decisions (
    project TEXT COLLATE "C" NOT NULL,
    event_id BIGINT NOT NULL,
    task BIGINT NOT NULL,
    run BIGINT NOT NULL,
    cycle BIGINT NOT NULL,
    action TEXT COLLATE "C" NOT NULL,
    by_whom TEXT COLLATE "C" NOT NULL,
    data TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (project, event_id)
);

CREATE TABLE findings (
    project TEXT COLLATE "C" NOT NULL,
    task BIGINT NOT NULL,
    run BIGINT NOT NULL,
    number BIGINT NOT NULL,
    alive BIGINT NOT NULL,
    data TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (project, task, run, number)
);

CREATE TABLE approvals (
    project TEXT COLLATE "C" NOT NULL,
    task BIGINT NOT NULL,
    base TEXT COLLATE "C" NOT NULL,
    tree TEXT COLLATE "C" NOT NULL,
    judge TEXT COLLATE "C" NOT NULL,
    commit_sha TEXT COLLATE "C" NOT NULL,
    valid BIGINT NOT NULL,
    ts TEXT COLLATE "C" NOT NULL,
    event_id BIGINT NOT NULL,
    PRIMARY KEY (project, task)
);

CREATE TABLE usage_limits (
    login TEXT COLLATE "C",
    until TEXT COLLATE "C" NOT NULL,
    is_known BIGINT NOT NULL,
    message TEXT COLLATE "C" NOT NULL,
    since TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (login)
);

CREATE TABLE runners (
    id TEXT COLLATE "C",
    info TEXT COLLATE "C" NOT NULL,
    since TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (id)
);

CREATE TABLE baselines (
    project TEXT COLLATE "C" NOT NULL,
    tree TEXT COLLATE "C" NOT NULL,
    command TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    report TEXT COLLATE "C" NOT NULL,
    captured_at TEXT COLLATE "C" NOT NULL,
    origins TEXT COLLATE "C" NOT NULL DEFAULT '{}',
    PRIMARY KEY (project, tree, command, environment)
);

CREATE TABLE plan_windows (
    login TEXT COLLATE "C" NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    until TEXT COLLATE "C" NOT NULL,
    share DOUBLE PRECISION NOT NULL,
    PRIMARY KEY (login, name, until)
);

CREATE INDEX events_of_task ON events (project, task, id);

CREATE INDEX events_in_time ON events (ts, project, id);

CREATE INDEX tasks_to_claim ON tasks (project, status, priority DESC, id);

CREATE INDEX decisions_of_task ON decisions (project, task, run, event_id);

CREATE INDEX tasks_by_branch ON tasks (project, branch);
