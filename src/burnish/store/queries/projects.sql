-- name: project_by_dir
SELECT key, dir_hash, info, created_at, forgotten, repository_id FROM projects WHERE dir_hash = :dir_hash;

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
SELECT key, dir_hash, info, created_at, forgotten, repository_id FROM projects WHERE forgotten = 0 ORDER BY key;

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
