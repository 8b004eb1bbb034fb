BEGIN TRANSACTION;
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
    environment TEXT NOT NULL,
    report TEXT NOT NULL,
    captured_at TEXT NOT NULL, origins TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (project, tree, command, environment)
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
INSERT INTO "events" VALUES('repo-6b4ca2db',1,'2026-01-01T12:00:01.000Z',1,0,0,'task.created','{"spec":{"title":"Add division","description":"","type":"implement","scope":"","criteria":[],"checklist":[],"plan":"","depends_on":[],"priority":0,"agent":null,"model":null,"base_ref":null,"skip_tests":false,"of":null,"auto_review":null,"max_cycles":null,"follows":"","paused":false,"budget_usd":null,"budget_tokens":null,"tags":[],"archived":false,"source":""},"max_cycles":3,"auto_review":true}');
INSERT INTO "events" VALUES('repo-6b4ca2db',2,'2026-01-01T12:00:02.000Z',2,0,0,'task.created','{"spec":{"title":"Add a test","description":"","type":"implement","scope":"","criteria":[],"checklist":[],"plan":"","depends_on":[1],"priority":0,"agent":null,"model":null,"base_ref":null,"skip_tests":false,"of":null,"auto_review":null,"max_cycles":null,"follows":"","paused":false,"budget_usd":null,"budget_tokens":null,"tags":[],"archived":false,"source":""},"max_cycles":3,"auto_review":true}');
INSERT INTO "events" VALUES('repo-6b4ca2db',3,'2026-01-01T12:00:03.000Z',1,1,0,'run.started','{"run":1,"branch":"burnish/1-add-division","target":"main","base":"3333333333333333333333333333333333333333","max_cycles":3,"auto_review":true,"agent":"robot","model":null}');
INSERT INTO "events" VALUES('repo-6b4ca2db',4,'2026-01-01T12:00:04.000Z',1,1,0,'task.status','{"from":"backlog","to":"in_progress"}');
INSERT INTO "events" VALUES('repo-6b4ca2db',5,'2026-01-01T12:00:05.000Z',1,1,1,'phase.started','{"phase":"implement","attempt":1,"runner":""}');
INSERT INTO "events" VALUES('repo-6b4ca2db',6,'2026-01-01T12:00:06.000Z',1,1,1,'phase.finished','{"phase":"implement","attempt":1,"commit":"1111111111111111111111111111111111111111","tree":"2222222222222222222222222222222222222222","changed":true,"cost_usd":0.25,"tokens":100}');
INSERT INTO "events" VALUES('repo-6b4ca2db',7,'2026-01-01T12:00:07.000Z',1,1,1,'task.status','{"from":"in_progress","to":"code_review"}');
CREATE TABLE findings (
    project TEXT NOT NULL,
    task BIGINT NOT NULL,
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,
    alive INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (project, task, run, number)
);
CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO "migrations" VALUES(1,'0001_start');
INSERT INTO "migrations" VALUES(2,'0002_cost_source');
INSERT INTO "migrations" VALUES(3,'0003_baseline_environments');
INSERT INTO "migrations" VALUES(4,'0004_baseline_origins');
INSERT INTO "migrations" VALUES(5,'0005_waiting');
INSERT INTO "migrations" VALUES(6,'0006_repository_ids');
INSERT INTO "migrations" VALUES(7,'0007_usage_limits');
INSERT INTO "migrations" VALUES(8,'0008_tasks_by_branch');
INSERT INTO "migrations" VALUES(9,'0009_plan_windows');
INSERT INTO "migrations" VALUES(10,'0010_leases');
CREATE TABLE needs (
    project TEXT NOT NULL,
    task BIGINT NOT NULL,
    needs BIGINT NOT NULL,
    PRIMARY KEY (project, task, needs)
);
INSERT INTO "needs" VALUES('repo-6b4ca2db',2,1);
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
INSERT INTO "phases" VALUES('repo-6b4ca2db',1,1,1,'implement',1,5,'finished','2026-01-01T12:00:05.000Z','2026-01-01T12:00:06.000Z','','{"phase":"implement","attempt":1,"commit":"1111111111111111111111111111111111111111","tree":"2222222222222222222222222222222222222222","changed":true,"cost_usd":0.25,"tokens":100}',0,0.25,100);
CREATE TABLE plan_windows (
    login TEXT NOT NULL,
    name TEXT NOT NULL,
    until TEXT NOT NULL,
    share REAL NOT NULL,
    PRIMARY KEY (login, name, until)
);
CREATE TABLE projects (
    key TEXT PRIMARY KEY,
    dir_hash TEXT NOT NULL UNIQUE,
    info TEXT NOT NULL,
    created_at TEXT NOT NULL,
    next_event BIGINT NOT NULL DEFAULT 1,
    next_task BIGINT NOT NULL DEFAULT 1,
    forgotten INTEGER NOT NULL DEFAULT 0
, repository_id TEXT NOT NULL DEFAULT '');
INSERT INTO "projects" VALUES('repo-6b4ca2db','6b4ca2db35cfaf43d6963005a8445402c4ea6f70b038086ad0d6decda64670c0','{"root":"/repo","common_dir":"/repo/.git","name":"repo"}','2026-01-01T12:00:00.000Z',8,3,0,'');
CREATE TABLE runners (
    id TEXT PRIMARY KEY,
    info TEXT NOT NULL,
    since TEXT NOT NULL
, seen_at DOUBLE PRECISION NOT NULL DEFAULT 0);
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
    updated_at TEXT NOT NULL, cost_source TEXT, waits_for TEXT NOT NULL DEFAULT '', issues_fixed INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (project, id)
);
INSERT INTO "tasks" VALUES('repo-6b4ca2db',1,'{"title":"Add division","type":"implement","depends_on":[],"priority":0,"agent":null,"model":null,"base_ref":null,"skip_tests":false,"of":null,"auto_review":null,"max_cycles":null,"follows":"","paused":false,"budget_usd":null,"budget_tokens":null,"tags":[],"archived":false,"source":""}','{"title":"Add division","description":"","type":"implement","scope":"","criteria":[],"checklist":[],"plan":"","depends_on":[],"priority":0,"agent":null,"model":null,"base_ref":null,"skip_tests":false,"of":null,"auto_review":null,"max_cycles":null,"follows":"","paused":false,"budget_usd":null,"budget_tokens":null,"tags":[],"archived":false,"source":""}',0,'code_review',NULL,NULL,'',NULL,1,1,3,1,NULL,NULL,NULL,'burnish/1-add-division','main','3333333333333333333333333333333333333333','1111111111111111111111111111111111111111','robot',NULL,0,0.25,100,0,NULL,NULL,0,0,0,'2026-01-01T12:00:01.000Z','2026-01-01T12:00:07.000Z','mixed','',0);
INSERT INTO "tasks" VALUES('repo-6b4ca2db',2,'{"title":"Add a test","type":"implement","depends_on":[1],"priority":0,"agent":null,"model":null,"base_ref":null,"skip_tests":false,"of":null,"auto_review":null,"max_cycles":null,"follows":"","paused":false,"budget_usd":null,"budget_tokens":null,"tags":[],"archived":false,"source":""}','{"title":"Add a test","description":"","type":"implement","scope":"","criteria":[],"checklist":[],"plan":"","depends_on":[1],"priority":0,"agent":null,"model":null,"base_ref":null,"skip_tests":false,"of":null,"auto_review":null,"max_cycles":null,"follows":"","paused":false,"budget_usd":null,"budget_tokens":null,"tags":[],"archived":false,"source":""}',0,'backlog',NULL,NULL,'',NULL,0,0,3,1,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,0,0,NULL,NULL,0,0,0,'2026-01-01T12:00:02.000Z','2026-01-01T12:00:02.000Z',NULL,'',0);
CREATE TABLE usage_limits (
    login TEXT PRIMARY KEY,
    until TEXT NOT NULL,
    is_known INTEGER NOT NULL,
    message TEXT NOT NULL,
    since TEXT NOT NULL
);
CREATE INDEX events_of_task ON events (project, task, id);
CREATE INDEX events_in_time ON events (ts, project, id);
CREATE INDEX tasks_to_claim ON tasks (project, status, priority DESC, id);
CREATE INDEX decisions_of_task ON decisions (project, task, run, event_id);
CREATE INDEX tasks_by_branch ON tasks (project, branch);
COMMIT;
