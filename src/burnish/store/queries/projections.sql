-- name: p_task_add
INSERT INTO tasks (project, id, head, spec, priority, status, max_cycles, auto_review, created_at, updated_at)
VALUES (:project, :id, :head, :spec, :priority, 'backlog', :max_cycles, :auto_review, :ts, :ts);

-- name: p_task_edit
UPDATE tasks SET head = :head, spec = :spec, priority = :priority, max_cycles = :max_cycles,
    auto_review = :auto_review, updated_at = :ts
WHERE project = :project AND id = :id;

-- name: p_task_remove
UPDATE tasks SET removed = 1, runner = NULL, claimed_at = NULL, updated_at = :ts
WHERE project = :project AND id = :id;

-- name: p_needs_clear
DELETE FROM needs WHERE project = :project AND task = :task;

-- name: p_needs_add
INSERT INTO needs (project, task, needs) VALUES (:project, :task, :needs) ON CONFLICT DO NOTHING;

-- name: p_status
UPDATE tasks SET status = :status, reason = :reason, error = :error, note = :note,
    final_verdict = :final_verdict, review_status = :review_status,
    phase = :phase, phase_started = :phase_started, updated_at = :ts
WHERE project = :project AND id = :id;

-- name: p_run
UPDATE tasks SET run = :run, branch = :branch, target = :target, base = :base, max_cycles = :max_cycles,
    auto_review = :auto_review, agent = :agent, model = :model, updated_at = :ts
WHERE project = :project AND id = :id;

-- name: p_run_fresh
UPDATE tasks SET cycle = 0, commit_sha = NULL, final_verdict = NULL, review_status = NULL,
    phase = NULL, phase_started = NULL, open_findings = 0, waits = 0,
    waits_for = '', issues_fixed = 0
WHERE project = :project AND id = :id;

-- name: p_phase_start
INSERT INTO phases (project, task, run, cycle, phase, attempt, event_id, state, started_at, runner)
VALUES (:project, :task, :run, :cycle, :phase, :attempt, :event_id, 'started', :ts, :runner);

-- name: p_phase_end
INSERT INTO phases (project, task, run, cycle, phase, attempt, event_id, state, started_at, finished_at, result,
    cost_usd, tokens)
VALUES (:project, :task, :run, :cycle, :phase, :attempt, :event_id, :state, :ts, :ts, :result, :cost_usd, :tokens)
ON CONFLICT (project, task, run, cycle, phase, attempt) DO UPDATE SET state = excluded.state,
    finished_at = excluded.finished_at, result = excluded.result, cost_usd = excluded.cost_usd,
    tokens = excluded.tokens;

-- name: p_task_phase
UPDATE tasks SET cycle = :cycle, phase = :phase, phase_started = :ts, error = :error, updated_at = :ts,
    note = CASE WHEN status = 'in_progress' THEN '' ELSE note END
WHERE project = :project AND id = :id;

-- name: p_task_phase_end
UPDATE tasks SET phase = NULL, phase_started = NULL, commit_sha = :commit_sha, error = :error,
    cost_usd = :cost_usd, cost_source = :cost_source, tokens = tokens + :tokens, updated_at = :ts
WHERE project = :project AND id = :id;

-- name: p_finding
INSERT INTO findings (project, task, run, number, alive, data)
VALUES (:project, :task, :run, :number, :alive, :data)
ON CONFLICT (project, task, run, number) DO UPDATE SET alive = excluded.alive, data = excluded.data;

-- name: p_open_findings
UPDATE tasks SET updated_at = :ts, open_findings = (
    SELECT count(*) FROM findings f
    WHERE f.project = tasks.project AND f.task = tasks.id AND f.run = tasks.run AND f.alive = 1)
WHERE project = :project AND id = :id;

-- name: p_decision
INSERT INTO decisions (project, event_id, task, run, cycle, action, by_whom, data)
VALUES (:project, :event_id, :task, :run, :cycle, :action, :by_whom, :data);

-- name: p_supersede
UPDATE phases SET superseded = 1
WHERE project = :project AND task = :task AND run = :run AND cycle = :cycle
    -- the steps of the pipeline stand and fall with the review
    AND (phase IN (:phases) OR (phase LIKE 'review:%' AND 'review' IN (:phases)));

-- name: p_reinstate
UPDATE phases SET superseded = 0
WHERE project = :project AND task = :task AND run = :run AND cycle = :cycle AND phase = :phase AND attempt = :attempt;

-- name: p_approve
INSERT INTO approvals (project, task, base, tree, judge, commit_sha, valid, ts, event_id)
VALUES (:project, :task, :base, :tree, :judge, :commit_sha, 1, :ts, :event_id)
ON CONFLICT (project, task) DO UPDATE SET base = excluded.base, tree = excluded.tree, judge = excluded.judge,
    commit_sha = excluded.commit_sha, valid = 1, ts = excluded.ts, event_id = excluded.event_id;

-- name: p_void
UPDATE approvals SET valid = 0 WHERE project = :project AND task = :task;

-- name: p_override
UPDATE tasks SET overrides = overrides + 1, updated_at = :ts WHERE project = :project AND id = :id;

-- name: p_decided
UPDATE tasks SET waits = :waits, waits_for = :waits_for WHERE project = :project AND id = :id;

-- name: p_issues_fixed
UPDATE tasks SET issues_fixed = :issues_fixed WHERE project = :project AND id = :id;

-- name: p_review_status
UPDATE tasks SET review_status = :review_status WHERE project = :project AND id = :id;
