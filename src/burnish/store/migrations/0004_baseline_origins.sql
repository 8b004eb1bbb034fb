-- Where the project's own packages were imported from when the baseline was taken, as a JSON object by name.
ALTER TABLE baselines ADD COLUMN origins TEXT NOT NULL DEFAULT '{}';
