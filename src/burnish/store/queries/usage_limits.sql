-- name: limit_set
INSERT INTO usage_limits (login, until, is_known, message, since) VALUES (:login, :until, :is_known, :message, :since)
ON CONFLICT (login) DO UPDATE SET until = excluded.until, is_known = excluded.is_known, message = excluded.message;

-- name: limit_end
DELETE FROM usage_limits WHERE login = :login RETURNING login;

-- name: limit_list
SELECT login, until, is_known, message, since FROM usage_limits ORDER BY until, login;
