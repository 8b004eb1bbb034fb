-- A baseline belongs to what was installed as well: other versions of the dependencies are another result.
ALTER TABLE baselines RENAME TO baselines_by_command;

CREATE TABLE baselines (
    project TEXT NOT NULL,
    tree TEXT NOT NULL,
    command TEXT NOT NULL,
    environment TEXT NOT NULL,
    report TEXT NOT NULL,
    captured_at TEXT NOT NULL,
    PRIMARY KEY (project, tree, command, environment)
);

INSERT INTO baselines (project, tree, command, environment, report, captured_at)
SELECT project, tree, command, '', report, captured_at FROM baselines_by_command;

DROP TABLE baselines_by_command;
