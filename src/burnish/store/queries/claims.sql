-- name: claim_holders
SELECT DISTINCT runner FROM tasks WHERE project = :project AND runner IS NOT NULL AND removed = 0;

-- name: claim_next
SELECT t.id, t.runner FROM tasks t
WHERE t.project = :project AND t.removed = 0
    AND t.status IN ('backlog', 'in_progress', 'code_review') AND (t.waits = 0 OR t.status = 'backlog')
    AND (t.runner IS NULL OR t.runner IN (:dead)) AND t.head NOT LIKE '%"paused":true%'
    AND (t.status <> 'backlog' OR NOT EXISTS (
        SELECT 1 FROM needs n JOIN tasks d ON d.project = n.project AND d.id = n.needs
        WHERE n.project = t.project AND n.task = t.id AND d.status NOT IN ('verified', 'completed')))
ORDER BY t.priority DESC, t.id LIMIT 1;

-- name: claim_next_of
SELECT t.id, t.runner FROM tasks t
WHERE t.project = :project AND t.removed = 0 AND t.id IN (:ids)
    AND t.status IN ('backlog', 'in_progress', 'code_review') AND (t.waits = 0 OR t.status = 'backlog')
    AND (t.runner IS NULL OR t.runner IN (:dead)) AND t.head NOT LIKE '%"paused":true%'
    AND (t.status <> 'backlog' OR NOT EXISTS (
        SELECT 1 FROM needs n JOIN tasks d ON d.project = n.project AND d.id = n.needs
        WHERE n.project = t.project AND n.task = t.id AND d.status NOT IN ('verified', 'completed')))
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

-- name: lease_age
SELECT (julianday('now') - 2440587.5) * 86400.0 - seen_at AS age FROM runners WHERE id = :id;

-- name: runner_one
SELECT info FROM runners WHERE id = :id;

-- name: runner_list
SELECT id, info, since FROM runners ORDER BY since, id;

-- name: runner_forget
DELETE FROM runners WHERE id = :id;
