-- When a runner last renewed its lease, in seconds since 1970 by the clock of the database. SQLite has no leases: there,
-- the locks of one machine tell which runner is alive.
ALTER TABLE runners ADD COLUMN seen_at DOUBLE PRECISION NOT NULL DEFAULT 0;
