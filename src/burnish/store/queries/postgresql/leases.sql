-- The time of the server, never that of a machine: their clocks may disagree.

-- A time in the future is from before that clock was set back: the lease of a runner that is dead would not end until
-- the clock is there again.
-- name: lease_renew
UPDATE runners SET seen_at = CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)
WHERE id = :id OR seen_at > CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION) RETURNING id;

-- name: lease_ages
SELECT id, CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION) - seen_at AS age FROM runners;

-- name: lease_age
SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION) - seen_at AS age FROM runners WHERE id = :id;

-- name: task_list_first_unheld
SELECT t.project, t.id, t.head, t.status, t.reason, t.error, t.note, t.final_verdict, t.run, t.cycle, t.max_cycles,
    t.auto_review, t.review_status, t.phase, t.phase_started, t.branch, t.target, t.base, t.commit_sha, t.agent, t.model,
    t.open_findings, t.cost_usd, t.cost_source, t.tokens, t.overrides, t.waits_for, t.issues_fixed, t.runner,
    t.created_at, t.updated_at
FROM tasks t LEFT JOIN runners r ON r.id = t.runner
WHERE t.project = :project AND t.removed = 0 AND t.status = :status
    AND (r.id IS NULL OR CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION) - r.seen_at > :lease)
ORDER BY t.id LIMIT :most;

-- name: clock
SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION) AS seconds;
