-- name: tally_tasks
SELECT project, id, head, status, agent, cost_usd, tokens, removed, updated_at FROM tasks
WHERE project IN (:projects) ORDER BY project, id;

-- name: tally_phases
-- what is not looked at is not brought along: results are long
SELECT project, task, run, cycle, phase, state, started_at, finished_at, cost_usd, tokens,
    CASE
        WHEN phase = 'gate' OR started_at < :since THEN '{}'
        WHEN phase = 'check' THEN '{"flaky": ' || COALESCE(json_extract(result, '$.flaky'), '[]') || '}'
        ELSE result
    END AS result
FROM phases WHERE project IN (:projects) ORDER BY project, task, event_id;

-- name: tally_phases_since
SELECT project, task, run, cycle, phase, state, started_at, finished_at, cost_usd, tokens, result
FROM phases WHERE project = :project AND state <> 'started' AND phase NOT IN ('gate', 'check') AND finished_at >= :since
ORDER BY task, event_id;

-- name: tally_decisions
SELECT d.project, d.task, d.run, d.cycle, d.action, d.by_whom, e.ts
FROM decisions d JOIN events e ON e.project = d.project AND e.id = d.event_id
WHERE d.project IN (:projects) ORDER BY d.project, d.event_id;

-- name: tally_moves
SELECT project, task, run, cycle, ts, data FROM events
WHERE type = 'task.status' AND project IN (:projects) ORDER BY project, id;

-- name: tally_findings
SELECT project, task, run, data FROM findings WHERE project IN (:projects) ORDER BY project, task, run, number;
