-- name: archive_mark
UPDATE tasks SET archived = :event WHERE project = :project AND id = :task AND archived < :event;

-- name: archive_missing
SELECT id FROM tasks WHERE project = :project AND removed = 0 AND archived < decided ORDER BY id;

-- name: p_decided
UPDATE tasks SET decided = :event, waits = :waits WHERE project = :project AND id = :id;

-- name: money_spent
SELECT COALESCE(SUM(cost_usd), 0) AS usd, COALESCE(SUM(tokens), 0) AS tokens FROM tasks WHERE project = :project;
