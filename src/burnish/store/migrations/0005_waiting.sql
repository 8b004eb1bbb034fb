-- What a task at rest waits for (review, improve, outside), and how many issues its reviewer fixed by itself.
ALTER TABLE tasks ADD COLUMN waits_for TEXT NOT NULL DEFAULT '';

ALTER TABLE tasks ADD COLUMN issues_fixed INTEGER NOT NULL DEFAULT 0;

UPDATE tasks SET waits_for = 'review' WHERE waits = 1;
