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
    SELECT project, phase, state,
        EXTRACT(EPOCH FROM (CAST(finished_at AS TIMESTAMPTZ) - CAST(started_at AS TIMESTAMPTZ))) AS seconds FROM phases
) AS timed GROUP BY project, phase, state ORDER BY project, phase, state;

-- name: metric_agents
SELECT project, agent, COUNT(*) AS number, SUM(cost_usd) AS usd, SUM(tokens) AS tokens FROM (
    SELECT project, COALESCE(TRIM(BOTH '"' FROM CAST(CAST(result AS JSON) -> 'agent' AS TEXT)), '') AS agent, cost_usd, tokens
    FROM phases WHERE state <> 'started' AND phase <> 'gate'
) AS worked WHERE agent NOT IN ('', 'null') GROUP BY project, agent ORDER BY project, agent;
