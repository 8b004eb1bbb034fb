-- name: event_add
INSERT INTO events (project, id, ts, task, run, cycle, type, data)
VALUES (:project, :id, :ts, :task, :run, :cycle, :type, :data);

-- name: events_of_project
SELECT project, id, ts, task, run, cycle, type, data FROM events
WHERE project = :project AND id > :since ORDER BY id LIMIT :limit;

-- name: tasks_with_events_since
SELECT DISTINCT task AS id FROM events WHERE project = :project AND id > :since AND task IS NOT NULL;

-- name: events_of_project_typed
SELECT project, id, ts, task, run, cycle, type, data FROM events
WHERE project = :project AND id > :since AND type IN (:types) ORDER BY id LIMIT :limit;

-- name: events_of_task
SELECT project, id, ts, task, run, cycle, type, data FROM events
WHERE project = :project AND task = :task AND id > :since ORDER BY id LIMIT :limit;

-- name: events_of_task_typed
SELECT project, id, ts, task, run, cycle, type, data FROM events
WHERE project = :project AND task = :task AND id > :since AND type IN (:types) ORDER BY id LIMIT :limit;

-- name: events_of_all
SELECT project, id, ts, task, run, cycle, type, data FROM events
WHERE id > :since ORDER BY ts, project, id LIMIT :limit;

-- name: events_of_all_typed
SELECT project, id, ts, task, run, cycle, type, data FROM events
WHERE id > :since AND type IN (:types) ORDER BY ts, project, id LIMIT :limit;
