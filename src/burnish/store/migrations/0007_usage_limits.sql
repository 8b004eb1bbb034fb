-- Logins whose plan is used up, until when, and what their program said; shared by all runners of this home.
CREATE TABLE usage_limits (
    login TEXT PRIMARY KEY,
    until TEXT NOT NULL,
    is_known INTEGER NOT NULL,
    message TEXT NOT NULL,
    since TEXT NOT NULL
);
