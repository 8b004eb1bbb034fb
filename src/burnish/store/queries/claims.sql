-- name: claim_holders
SELECT DISTINCT runner FROM tasks WHERE project = :project AND runner IS NOT NULL AND removed = 0;

-- name: claim_holders_of
SELECT DISTINCT runner FROM tasks WHERE project = :project AND id IN (:ids) AND runner IS NOT NULL AND removed = 0;

-- name: claim_next
-- CROSS JOIN: SQLite then begins with the few `needs` instead of all tasks
SELECT t.id, t.runner FROM tasks t
WHERE t.project = :project AND t.removed = 0
    AND t.status IN ('backlog', 'in_progress', 'code_review') AND (t.waits = 0 OR t.status = 'backlog')
    AND (t.runner IS NULL OR t.runner IN (:dead)) AND t.id NOT IN (:busy) AND t.head NOT LIKE '%"paused":true%'
    AND (t.status <> 'backlog' OR NOT EXISTS (
        SELECT 1 FROM needs n CROSS JOIN tasks d
        WHERE n.project = t.project AND n.task = t.id AND d.project = n.project AND d.id = n.needs AND d.status NOT IN ('verified', 'completed')))
ORDER BY t.priority DESC, t.id LIMIT 1;

-- name: claim_next_of
-- by the ids: with `status` as it is, SQLite reads all waiting tasks through the index of states
SELECT t.id, t.runner FROM tasks t
WHERE t.project = :project AND t.removed = 0 AND t.id IN (:ids)
    AND t.status || '' IN ('backlog', 'in_progress', 'code_review') AND (t.waits = 0 OR t.status = 'backlog')
    AND (t.runner IS NULL OR t.runner IN (:dead)) AND t.id NOT IN (:busy) AND t.head NOT LIKE '%"paused":true%'
    AND (t.status <> 'backlog' OR NOT EXISTS (
        SELECT 1 FROM needs n CROSS JOIN tasks d
        WHERE n.project = t.project AND n.task = t.id AND d.project = n.project AND d.id = n.needs AND d.status NOT IN ('verified', 'completed')))
ORDER BY t.priority DESC, t.id LIMIT 1;

-- name: claim_take
UPDATE tasks SET runner = :runner, claimed_at = :now
WHERE project = :project AND id = :id AND (runner IS NULL OR runner = :before)
RETURNING *;

-- name: claim_release
UPDATE tasks SET runner = NULL, claimed_at = NULL WHERE project = :project AND id = :id AND runner = :runner;

-- name: claim_holder
SELECT t.runner, t.claimed_at, r.info FROM tasks t LEFT JOIN runners r ON r.id = t.runner
WHERE t.project = :project AND t.id = :id AND t.runner IS NOT NULL;

-- name: runner_add
INSERT INTO runners (id, info, since) VALUES (:id, :info, :now)
ON CONFLICT (id) DO UPDATE SET info = excluded.info;

-- name: lease_renew
UPDATE runners SET seen_at = (julianday('now') - 2440587.5) * 86400.0 WHERE id = :id RETURNING id;

-- name: lease_ages
SELECT id, (julianday('now') - 2440587.5) * 86400.0 - seen_at AS age FROM runners;

-- name: lease_age
SELECT (julianday('now') - 2440587.5) * 86400.0 - seen_at AS age FROM runners WHERE id = :id;

-- name: runner_one
SELECT info FROM runners WHERE id = :id;

-- name: runner_list
SELECT id, info, since FROM runners ORDER BY since, id;

-- name: runner_forget
DELETE FROM runners WHERE id = :id RETURNING id;

-- name: stop_request
INSERT INTO stop_requests (runner, task) VALUES (:runner, :task) ON CONFLICT (runner, task) DO NOTHING;

-- name: stop_requests_of
SELECT task FROM stop_requests WHERE runner = :runner ORDER BY task;

-- name: stop_requests_taken
DELETE FROM stop_requests WHERE runner = :runner;

-- name: clock
SELECT (julianday('now') - 2440587.5) * 86400.0 AS seconds;
