-- name: metric_tasks
SELECT project, status, COUNT(*) AS number FROM tasks WHERE removed = 0 GROUP BY project, status ORDER BY project, status;

-- name: metric_queue
SELECT t.project, COUNT(*) AS number FROM tasks t
WHERE t.removed = 0 AND t.status = 'backlog' AND t.runner IS NULL AND t.head NOT LIKE '%"paused":true%'
    AND NOT EXISTS (
        SELECT 1 FROM needs n JOIN tasks d ON d.project = n.project AND d.id = n.needs
        WHERE n.project = t.project AND n.task = t.id AND d.status NOT IN ('verified', 'completed'))
GROUP BY t.project ORDER BY t.project;

-- name: metric_phases
SELECT project, phase, state, COUNT(*) AS number, SUM(seconds) AS seconds,
    SUM(CASE WHEN seconds <= 1 THEN 1 ELSE 0 END) AS b1,
    SUM(CASE WHEN seconds <= 5 THEN 1 ELSE 0 END) AS b5,
    SUM(CASE WHEN seconds <= 15 THEN 1 ELSE 0 END) AS b15,
    SUM(CASE WHEN seconds <= 60 THEN 1 ELSE 0 END) AS b60,
    SUM(CASE WHEN seconds <= 300 THEN 1 ELSE 0 END) AS b300,
    SUM(CASE WHEN seconds <= 900 THEN 1 ELSE 0 END) AS b900,
    SUM(CASE WHEN seconds <= 3600 THEN 1 ELSE 0 END) AS b3600
FROM (
    SELECT project, phase, state, (julianday(finished_at) - julianday(started_at)) * 86400 AS seconds FROM phases
) AS timed GROUP BY project, phase, state ORDER BY project, phase, state;

-- name: metric_agents
SELECT project, agent, COUNT(*) AS number, SUM(cost_usd) AS usd, SUM(tokens) AS tokens FROM (
    SELECT project, COALESCE(json_extract(result, '$.agent'), '') AS agent, cost_usd, tokens FROM phases
    WHERE state <> 'started' AND phase <> 'gate'
) AS worked WHERE agent <> '' GROUP BY project, agent ORDER BY project, agent;
