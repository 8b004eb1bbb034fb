-- name: project_by_dir
SELECT key, dir_hash, info, created_at, forgotten, repository_id FROM projects WHERE dir_hash = :dir_hash;

-- name: project_of_no_machine
SELECT key, dir_hash, info, created_at, forgotten, repository_id FROM projects
WHERE dir_hash = :dir_hash AND NOT EXISTS (SELECT 1 FROM checkouts c WHERE c.project = projects.key);

-- name: project_add
INSERT INTO projects (key, dir_hash, info, created_at) VALUES (:key, :dir_hash, :info, :now)
ON CONFLICT (dir_hash) DO UPDATE SET info = excluded.info, forgotten = 0
RETURNING key, dir_hash, info, created_at, forgotten, repository_id;

-- name: project_with_key
SELECT key FROM projects WHERE key = :key AND dir_hash <> :dir_hash;

-- name: project_detach
UPDATE projects SET dir_hash = 'detached:' || key, forgotten = CASE
    WHEN EXISTS (SELECT 1 FROM tasks t WHERE t.project = projects.key AND t.removed = 0) THEN forgotten ELSE 1 END
WHERE dir_hash = :dir_hash AND key <> :key;

-- name: project_move
UPDATE projects SET dir_hash = :dir_hash, info = :info, forgotten = 0 WHERE key = :key AND dir_hash <> :dir_hash
RETURNING key;

-- name: project_set_info
UPDATE projects SET info = :info WHERE key = :key
RETURNING key, dir_hash, info, created_at, forgotten, repository_id;

-- name: project_set_repository_id
UPDATE projects SET repository_id = :repository_id WHERE key = :key;

-- name: project_list
SELECT p.key, p.dir_hash, COALESCE(c.info, p.info) AS info, p.created_at, p.forgotten, p.repository_id,
    c.project AS here, EXISTS (SELECT 1 FROM checkouts o WHERE o.project = p.key) AS has_checkout
FROM projects p LEFT JOIN checkouts c ON c.project = p.key AND c.machine = :machine
WHERE p.forgotten = 0 ORDER BY p.key;

-- name: project_restore
UPDATE projects SET forgotten = 0 WHERE key = :key AND forgotten = 1;

-- name: checkout_by_dir
SELECT p.key, p.dir_hash, c.info, p.created_at, p.forgotten, p.repository_id
FROM checkouts c JOIN projects p ON p.key = c.project WHERE c.machine = :machine AND c.dir_hash = :dir_hash;

-- name: checkout_set
INSERT INTO checkouts (machine, project, dir_hash, info) VALUES (:machine, :key, :dir_hash, :info)
ON CONFLICT (machine, project) DO UPDATE SET dir_hash = excluded.dir_hash, info = excluded.info;

-- name: checkout_leave
DELETE FROM checkouts WHERE machine = :machine AND dir_hash = :dir_hash AND project <> :key;

-- name: project_forget
UPDATE projects SET forgotten = 1 WHERE key = :key AND forgotten = 0 RETURNING key;

-- name: project_next_task
SELECT next_task FROM projects WHERE key = :project;

-- name: project_seen_task
UPDATE projects SET next_task = :next WHERE key = :project AND next_task < :next;

-- name: project_take_events
UPDATE projects SET next_event = next_event + :count WHERE key = :project RETURNING next_event - :count AS first;

-- name: project_seen_event
UPDATE projects SET next_event = :next WHERE key = :project AND next_event < :next;

-- name: project_last_event
SELECT next_event - 1 AS last FROM projects WHERE key = :project;
