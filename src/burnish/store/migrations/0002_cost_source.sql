-- Where the cost of a task comes from. Of what was recorded before it is not known which part was a list price.
ALTER TABLE tasks ADD COLUMN cost_source TEXT;

UPDATE tasks SET cost_source = 'mixed' WHERE cost_usd IS NOT NULL;
