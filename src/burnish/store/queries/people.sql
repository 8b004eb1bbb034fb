-- name: person_add
INSERT INTO people (name, role, token, created_at, created_by) VALUES (:name, :role, :token, :now, :by)
ON CONFLICT (name) DO NOTHING RETURNING name;

-- name: person_list
SELECT name, role, created_at, created_by, seen_at FROM people;

-- name: person_of_token
SELECT name, role, seen_at FROM people WHERE token = :token;

-- name: person_named
SELECT name, role, token FROM people WHERE name = :name;

-- name: person_role
UPDATE people SET role = :role WHERE name = :name RETURNING name;

-- name: person_seen
UPDATE people SET seen_at = :now WHERE token = :token;

-- name: person_remove
DELETE FROM people WHERE name = :name RETURNING token;

-- name: link_add
INSERT INTO login_links (code, token, until) VALUES (:code, :token, :until);

-- name: link_take
DELETE FROM login_links WHERE code = :code RETURNING token, until;

-- name: link_look
SELECT token, until FROM login_links WHERE code = :code;

-- name: links_expire
DELETE FROM login_links WHERE until < :now;

-- name: links_of_token
DELETE FROM login_links WHERE token = :token;

-- name: audit_last
SELECT max(id) AS last FROM audit;

-- name: audit_add
INSERT INTO audit (id, ts, person, role, via, address, project, task, action, status, more, is_refused)
VALUES (:id, :ts, :person, :role, :via, :address, :project, :task, :action, :status, :more, :is_refused);

-- name: audit_oldest_to_keep
SELECT id FROM audit WHERE is_refused = :is_refused AND person = :person AND action = :action
ORDER BY id DESC LIMIT 1 OFFSET :most;

-- name: audit_trim
DELETE FROM audit WHERE is_refused = :is_refused AND person = :person AND action = :action AND id <= :id;

-- name: audit_list
SELECT ts, person, role, via, address, project, task, action, status, more FROM audit
WHERE (:person = '' OR person = :person) AND (:project = '' OR project = :project)
ORDER BY id DESC LIMIT :most;

-- name: audit_people
SELECT DISTINCT person FROM audit;
