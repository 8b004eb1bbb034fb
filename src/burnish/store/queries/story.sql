-- name: phases_of_run
SELECT * FROM phases WHERE project = :project AND task = :task AND run = :run ORDER BY event_id;

-- name: phases_of_task
SELECT * FROM phases WHERE project = :project AND task = :task ORDER BY event_id;

-- name: decisions_of_run
SELECT * FROM decisions WHERE project = :project AND task = :task AND run = :run ORDER BY event_id;

-- name: decisions_of_task
SELECT * FROM decisions WHERE project = :project AND task = :task ORDER BY event_id;

-- name: findings_of_run
SELECT data FROM findings WHERE project = :project AND task = :task AND run = :run ORDER BY number;

-- name: findings_now
SELECT f.data FROM findings f JOIN tasks t ON t.project = f.project AND t.id = f.task AND t.run = f.run
WHERE f.project = :project AND f.task = :task ORDER BY f.number;

-- name: tasks_waived_until
-- the last waiver tells; what is reopened has none
SELECT DISTINCT f.task FROM findings f JOIN tasks t ON t.project = f.project AND t.id = f.task AND t.run = f.run
WHERE f.project = :project AND t.removed = 0 AND f.alive = 0 AND f.data LIKE '%"until":"%' ORDER BY f.task;

-- name: approval_of
SELECT a.*, e.type AS event_type, e.task AS event_task, e.data AS event_data
FROM approvals a LEFT JOIN events e ON e.project = a.project AND e.id = a.event_id
WHERE a.project = :project AND a.task = :task;

-- name: approvals_of_tasks
SELECT a.*, e.type AS event_type, e.task AS event_task, e.data AS event_data
FROM tasks t JOIN approvals a ON a.project = t.project AND a.task = t.id
LEFT JOIN events e ON e.project = a.project AND e.id = a.event_id
WHERE t.project = :project AND t.removed = 0 AND t.status IN (:statuses) ORDER BY a.task;

-- name: recorded_approvals
-- compared here, so that the data of a thousand events is not read into Python
SELECT t.id, t.branch, t.base, a.commit_sha, a.judge,
    json_remove(t.head, '$.title', '$.depends_on', '$.priority', '$.of', '$.follows') AS kind,
    coalesce(
        a.valid = 1 AND t.base = a.base AND e.type = 'review.approved' AND e.task = t.id
        -- with quotes: a part of a value is not the value
        AND instr(e.data, '"' || a.base || '"') AND instr(e.data, '"' || a.tree || '"')
        AND instr(e.data, '"' || a.judge || '"') AND instr(e.data, '"' || a.commit_sha || '"')
        AND NOT EXISTS (
            SELECT 1 FROM events n WHERE n.project = t.project AND n.task = t.id AND n.id > a.event_id
                AND n.type = 'task.edited'),
        0) AS is_unchanged
FROM tasks t LEFT JOIN approvals a ON a.project = t.project AND a.task = t.id
LEFT JOIN events e ON e.project = a.project AND e.id = a.event_id
WHERE t.project = :project AND t.removed = 0 AND t.status IN (:statuses) AND (:every = 1 OR t.id IN (:ids))
ORDER BY t.id;

-- name: baseline_of
SELECT report FROM baselines
WHERE project = :project AND tree = :tree AND command = :command AND environment = :environment;

-- name: baseline_newest
SELECT report FROM baselines WHERE project = :project AND tree = :tree AND command = :command
ORDER BY captured_at DESC LIMIT 1;

-- name: baseline_origins
SELECT command, origins, captured_at FROM baselines WHERE project = :project AND origins <> '{}'
ORDER BY captured_at DESC LIMIT 1;

-- name: baseline_save
INSERT INTO baselines (project, tree, command, environment, report, captured_at, origins)
VALUES (:project, :tree, :command, :environment, :report, :now, :origins)
ON CONFLICT (project, tree, command, environment) DO UPDATE
SET report = excluded.report, captured_at = excluded.captured_at, origins = excluded.origins
WHERE json_extract(baselines.report, '$.status') = 'error' OR json_extract(baselines.report, '$.error') <> '';

-- name: statuses_since
-- the newest events first: the last change of a status is near the end
SELECT t.id AS task, (
    SELECT e.ts FROM events e
    WHERE e.project = t.project AND e.task = t.id AND e.type = 'task.status' ORDER BY e.id DESC LIMIT 1) AS since
FROM tasks t WHERE t.project = :project AND t.id IN (:ids);

-- name: tasks_left_out
SELECT DISTINCT task FROM phases
WHERE project = :project AND phase IN ('implement', 'improve') AND result LIKE '%"left_out":["%';
