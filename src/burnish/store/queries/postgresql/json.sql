-- What reads JSON. `->` and not `->>`, which fails if any text of the document has an escaped byte that is not UTF-8.

-- name: recorded_approvals
SELECT t.id, t.branch, t.base, a.commit_sha, a.judge,
    -- a task's kind is compared as text: without what no policy depends on
    regexp_replace(CAST(CAST(t.head AS JSON) AS TEXT),
        '"(title|follows)":"([^"\\]|\\.)*",?|"depends_on":\[[0-9,]*\],?|"(priority|of)":(null|-?[0-9]+),?', '', 'g'
    ) AS kind,
    CASE WHEN a.valid = 1 AND t.base = a.base AND e.type = 'review.approved' AND e.task = t.id
        -- with quotes: a part of a value is not the value
        AND strpos(e.data, '"' || a.base || '"') > 0 AND strpos(e.data, '"' || a.tree || '"') > 0
        AND strpos(e.data, '"' || a.judge || '"') > 0 AND strpos(e.data, '"' || a.commit_sha || '"') > 0
        AND NOT EXISTS (
            SELECT 1 FROM events n WHERE n.project = t.project AND n.task = t.id AND n.id > a.event_id
                AND n.type = 'task.edited')
    THEN 1 ELSE 0 END AS is_unchanged
FROM tasks t LEFT JOIN approvals a ON a.project = t.project AND a.task = t.id
LEFT JOIN events e ON e.project = a.project AND e.id = a.event_id
WHERE t.project = :project AND t.removed = 0 AND t.status IN (:statuses) AND (:every = 1 OR t.id IN (:ids))
ORDER BY t.id;

-- name: baseline_save
INSERT INTO baselines (project, tree, command, environment, report, captured_at, origins)
VALUES (:project, :tree, :command, :environment, :report, :now, :origins)
ON CONFLICT (project, tree, command, environment) DO UPDATE
SET report = excluded.report, captured_at = excluded.captured_at, origins = excluded.origins
WHERE CAST(CAST(baselines.report AS JSON) -> 'status' AS TEXT) = '"error"'
    OR CAST(CAST(baselines.report AS JSON) -> 'error' AS TEXT) <> '""';

-- name: tally_phases
SELECT project, task, run, cycle, phase, state, started_at, finished_at, cost_usd, tokens,
    CASE
        WHEN phase = 'gate' OR started_at < :since THEN '{}'
        WHEN phase = 'check'
        THEN '{"flaky": ' || COALESCE(CAST(CAST(result AS JSON) -> 'flaky' AS TEXT), '[]') || '}'
        ELSE result
    END AS result
FROM phases WHERE project IN (:projects) ORDER BY project, task, event_id;
