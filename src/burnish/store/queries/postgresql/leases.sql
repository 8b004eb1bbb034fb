-- The time of the server, never that of a machine: their clocks may disagree.

-- name: lease_renew
UPDATE runners SET seen_at = CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)
WHERE id = :id RETURNING id;

-- name: lease_age
SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION) - seen_at AS age FROM runners WHERE id = :id;
