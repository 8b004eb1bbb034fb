-- A person is to say how it goes on: no runner takes the task by itself.
ALTER TABLE tasks ADD COLUMN waits INTEGER NOT NULL DEFAULT 0;
-- The newest decision, and the newest event that lies in the committed audit trail. The second is no fact about the
-- task but about the files, so it is written without an event.
ALTER TABLE tasks ADD COLUMN decided BIGINT NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN archived BIGINT NOT NULL DEFAULT 0;
