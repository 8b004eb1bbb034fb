CREATE TABLE projects (
    key TEXT PRIMARY KEY,
    dir_hash TEXT NOT NULL UNIQUE,
    info TEXT NOT NULL,
    created_at TEXT NOT NULL,
    next_event BIGINT NOT NULL DEFAULT 1,
    next_task BIGINT NOT NULL DEFAULT 1,
    forgotten INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE events (
    project TEXT NOT NULL REFERENCES projects (key),
    id BIGINT NOT NULL,
    ts TEXT NOT NULL,
    task BIGINT,
    run INTEGER NOT NULL,
    cycle INTEGER NOT NULL,
    type TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE INDEX events_of_task ON events (project, task, id);
CREATE INDEX events_in_time ON events (ts, project, id);

-- Everything below is made from the events, except who holds a task (runner, claimed_at), up to which event its
-- artifacts are written (archived), runners and baselines. A task that waits is taken by no runner by itself: a person
-- is to say how it goes on.
CREATE TABLE tasks (
    project TEXT NOT NULL REFERENCES projects (key),
    id BIGINT NOT NULL,
    head TEXT NOT NULL,
    spec TEXT NOT NULL,
    priority INTEGER NOT NULL,
    status TEXT NOT NULL,
    reason TEXT,
    error TEXT,
    note TEXT NOT NULL DEFAULT '',
    final_verdict TEXT,
    run INTEGER NOT NULL DEFAULT 0,
    cycle INTEGER NOT NULL DEFAULT 0,
    max_cycles INTEGER NOT NULL,
    auto_review INTEGER NOT NULL,
    review_status TEXT,
    phase TEXT,
    phase_started TEXT,
    branch TEXT,
    target TEXT,
    base TEXT,
    commit_sha TEXT,
    agent TEXT,
    model TEXT,
    open_findings INTEGER NOT NULL DEFAULT 0,
    cost_usd DOUBLE PRECISION,
    tokens BIGINT NOT NULL DEFAULT 0,
    overrides INTEGER NOT NULL DEFAULT 0,
    runner TEXT,
    claimed_at TEXT,
    waits INTEGER NOT NULL DEFAULT 0,
    archived BIGINT NOT NULL DEFAULT 0,
    removed INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    PRIMARY KEY (project, id)
);
CREATE INDEX tasks_to_claim ON tasks (project, status, priority DESC, id);

CREATE TABLE needs (
    project TEXT NOT NULL,
    task BIGINT NOT NULL,
    needs BIGINT NOT NULL,
    PRIMARY KEY (project, task, needs)
);

CREATE TABLE phases (
    project TEXT NOT NULL,
    task BIGINT NOT NULL,
    run INTEGER NOT NULL,
    cycle INTEGER NOT NULL,
    phase TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    event_id BIGINT NOT NULL,
    state TEXT NOT NULL,
    started_at TEXT NOT NULL,
    finished_at TEXT,
    runner TEXT NOT NULL DEFAULT '',
    result TEXT NOT NULL DEFAULT '{}',
    superseded INTEGER NOT NULL DEFAULT 0,
    cost_usd DOUBLE PRECISION,
    tokens BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (project, task, run, cycle, phase, attempt)
);

CREATE TABLE decisions (
    project TEXT NOT NULL,
    event_id BIGINT NOT NULL,
    task BIGINT NOT NULL,
    run INTEGER NOT NULL,
    cycle INTEGER NOT NULL,
    action TEXT NOT NULL,
    by_whom TEXT NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (project, event_id)
);
CREATE INDEX decisions_of_task ON decisions (project, task, run, event_id);

CREATE TABLE findings (
    project TEXT NOT NULL,
    task BIGINT NOT NULL,
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,
    alive INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (project, task, run, number)
);

CREATE TABLE approvals (
    project TEXT NOT NULL,
    task BIGINT NOT NULL,
    base TEXT NOT NULL,
    tree TEXT NOT NULL,
    judge TEXT NOT NULL,
    commit_sha TEXT NOT NULL,
    valid INTEGER NOT NULL,
    ts TEXT NOT NULL,
    event_id BIGINT NOT NULL,
    PRIMARY KEY (project, task)
);

CREATE TABLE baselines (
    project TEXT NOT NULL,
    tree TEXT NOT NULL,
    command TEXT NOT NULL,
    report TEXT NOT NULL,
    captured_at TEXT NOT NULL,
    PRIMARY KEY (project, tree, command)
);

CREATE TABLE runners (
    id TEXT PRIMARY KEY,
    info TEXT NOT NULL,
    since TEXT NOT NULL
);
