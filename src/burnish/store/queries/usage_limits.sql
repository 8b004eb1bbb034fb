-- name: limit_set
INSERT INTO usage_limits (login, until, is_known, message, since) VALUES (:login, :until, :is_known, :message, :since)
ON CONFLICT (login) DO UPDATE SET until = excluded.until, is_known = excluded.is_known, message = excluded.message;

-- name: limit_end
DELETE FROM usage_limits WHERE login = :login RETURNING login;

-- name: limit_list
SELECT login, until, is_known, message, since FROM usage_limits ORDER BY until, login;

-- name: window_set
INSERT INTO plan_windows (login, name, until, share) VALUES (:login, :name, :until, :share)
ON CONFLICT (login, name, until) DO UPDATE SET share = CASE WHEN plan_windows.share > excluded.share THEN plan_windows.share ELSE excluded.share END;

-- name: window_expire
DELETE FROM plan_windows WHERE until < :now;

-- name: window_end
DELETE FROM plan_windows WHERE login = :login RETURNING name;

-- name: window_list
SELECT login, name, until, share FROM plan_windows ORDER BY login, share DESC, until;
