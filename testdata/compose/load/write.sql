\set session random(0, 1999)
\set user random(1, 2000)
BEGIN;
UPDATE sessions SET data = 'session ' || :session || ' at ' || clock_timestamp() WHERE key = lpad((:session)::text, 12, '0');
UPDATE users SET credit = credit + 1 WHERE id = :user;
COMMIT;
