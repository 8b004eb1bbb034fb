-- name: task_one
SELECT * FROM tasks WHERE project = :project AND id = :id AND removed = 0;

-- name: task_list
SELECT * FROM tasks WHERE project = :project AND removed = 0 AND status IN (:statuses) ORDER BY id;

-- name: task_list_of
SELECT * FROM tasks WHERE project = :project AND removed = 0 AND id IN (:ids) AND status IN (:statuses) ORDER BY id;

-- name: task_any_begun
SELECT 1 FROM tasks WHERE project = :project AND removed = 0 AND branch IS NOT NULL LIMIT 1;

-- name: task_branches
SELECT id, branch, commit_sha, reason FROM tasks
WHERE project = :project AND removed = 0 AND status IN (:statuses) AND branch <> '' AND base <> '' AND commit_sha <> ''
ORDER BY id;

-- name: task_list_on_branch
SELECT * FROM tasks WHERE project = :project AND removed = 0 AND branch = :branch ORDER BY id;

-- name: task_list_improving
SELECT * FROM tasks WHERE project = :project AND removed = 0 AND status = 'backlog' AND head LIKE '%"type":"improve"%'
ORDER BY id;

-- name: task_list_paused
SELECT * FROM tasks WHERE project = :project AND removed = 0 AND status = 'backlog' AND head LIKE '%"paused":true%'
ORDER BY id;

-- name: task_list_brief
SELECT project, id, head, status, reason, error, note, final_verdict, run, cycle, max_cycles, auto_review,
    review_status, phase, phase_started, branch, target, base, commit_sha, agent, model, open_findings, cost_usd, cost_source,
    tokens, overrides, waits_for, issues_fixed, runner, created_at, updated_at
FROM tasks WHERE project = :project AND removed = 0 AND status IN (:statuses) ORDER BY id;

-- name: task_list_first_open
SELECT project, id, head, status, reason, error, note, final_verdict, run, cycle, max_cycles, auto_review,
    review_status, phase, phase_started, branch, target, base, commit_sha, agent, model, open_findings, cost_usd, cost_source,
    tokens, overrides, waits_for, issues_fixed, runner, created_at, updated_at
FROM tasks WHERE project = :project AND removed = 0 AND status = :status
ORDER BY CASE WHEN reason = 'human_rejected' THEN 1 ELSE 0 END, id LIMIT :most;

-- name: task_list_first_unheld
SELECT t.project, t.id, t.head, t.status, t.reason, t.error, t.note, t.final_verdict, t.run, t.cycle, t.max_cycles,
    t.auto_review, t.review_status, t.phase, t.phase_started, t.branch, t.target, t.base, t.commit_sha, t.agent, t.model,
    t.open_findings, t.cost_usd, t.cost_source, t.tokens, t.overrides, t.waits_for, t.issues_fixed, t.runner,
    t.created_at, t.updated_at
FROM tasks t LEFT JOIN runners r ON r.id = t.runner
WHERE t.project = :project AND t.removed = 0 AND t.status = :status
    AND (r.id IS NULL OR (julianday('now') - 2440587.5) * 86400.0 - r.seen_at > :lease)
ORDER BY t.id LIMIT :most;

-- name: task_list_first_backlog
SELECT project, id, head, status, reason, error, note, final_verdict, run, cycle, max_cycles, auto_review,
    review_status, phase, phase_started, branch, target, base, commit_sha, agent, model, open_findings, cost_usd, cost_source,
    tokens, overrides, waits_for, issues_fixed, runner, created_at, updated_at
FROM tasks WHERE project = :project AND removed = 0 AND status = :status ORDER BY priority DESC, id LIMIT :most;

-- name: task_list_newest
SELECT project, id, head, status, reason, error, note, final_verdict, run, cycle, max_cycles, auto_review,
    review_status, phase, phase_started, branch, target, base, commit_sha, agent, model, open_findings, cost_usd, cost_source,
    tokens, overrides, waits_for, issues_fixed, runner, created_at, updated_at
FROM tasks WHERE project = :project AND removed = 0 AND status = :status ORDER BY id DESC LIMIT :most;

-- name: task_totals
SELECT status, reason, cost_source, COUNT(*) AS tasks, SUM(cost_usd) AS cost_usd, CAST(SUM(tokens) AS BIGINT) AS tokens
FROM tasks WHERE project = :project AND removed = 0 GROUP BY status, reason, cost_source;

-- name: task_list_all
SELECT t.* FROM tasks t JOIN projects p ON p.key = t.project
WHERE p.forgotten = 0 AND t.removed = 0 AND t.status IN (:statuses) ORDER BY t.project, t.id;

-- name: task_list_all_brief
SELECT t.project, t.id, t.head, t.status, t.reason, t.error, t.note, t.final_verdict, t.run, t.cycle, t.max_cycles,
    t.auto_review, t.review_status, t.phase, t.phase_started, t.branch, t.target, t.base, t.commit_sha, t.agent,
    t.model, t.open_findings, t.cost_usd, t.cost_source, t.tokens, t.overrides, t.waits_for,
    t.issues_fixed, t.runner, t.created_at, t.updated_at
FROM tasks t JOIN projects p ON p.key = t.project
WHERE p.forgotten = 0 AND t.removed = 0 AND t.status IN (:statuses) ORDER BY t.project, t.id;

-- name: task_needs
SELECT n.task, n.needs FROM needs n JOIN tasks t ON t.project = n.project AND t.id = n.task
WHERE n.project = :project AND t.removed = 0;

-- name: task_ids
SELECT id FROM tasks WHERE project = :project AND removed = 0 AND id IN (:ids);

-- name: needs_unmet
SELECT n.task, n.needs FROM needs n
JOIN tasks t ON t.project = n.project AND t.id = n.task
JOIN tasks d ON d.project = n.project AND d.id = n.needs
WHERE n.project = :project AND t.status = 'backlog' AND t.removed = 0
    AND d.status NOT IN ('verified', 'completed')
ORDER BY n.task, n.needs;

-- name: task_archived
UPDATE tasks SET archived = :event WHERE project = :project AND id = :task AND archived < :event;

-- name: tasks_unarchived
SELECT t.id FROM tasks t
WHERE t.project = :project AND t.removed = 0 AND t.run > 0
    AND (t.runner IS NULL OR t.status NOT IN ('in_progress', 'code_review'))
    AND EXISTS (
        SELECT 1 FROM events e WHERE e.project = t.project AND e.task = t.id AND e.id > t.archived)
ORDER BY t.id;

-- name: tasks_spent
SELECT COALESCE(SUM(cost_usd), 0.0) AS usd, COALESCE(SUM(tokens), 0) AS tokens FROM tasks WHERE project = :project;

-- name: task_ids_needing
SELECT id FROM tasks WHERE project = :project AND removed = 0 AND head LIKE '%"needs":["%' ORDER BY id;
