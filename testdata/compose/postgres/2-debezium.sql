-- What the profile debezium of docker-compose.yml needs on top: a role and a
-- publication of the connector's own, and the table of checkpoints in the words
-- of "freshet doctor --debezium".
CREATE ROLE debezium LOGIN REPLICATION PASSWORD 'for-development-only';
GRANT SELECT ON users, products, orders, sessions TO debezium;

CREATE TABLE IF NOT EXISTS "public"."freshet_checkpoint" (id int PRIMARY KEY, t bigint NOT NULL) WITH (fillfactor = 10);
ALTER TABLE "public"."freshet_checkpoint" ADD COLUMN IF NOT EXISTS seq bigint NOT NULL DEFAULT 0, ADD COLUMN IF NOT EXISTS system bigint, ADD COLUMN IF NOT EXISTS timeline bigint, ADD COLUMN IF NOT EXISTS started bigint, ADD COLUMN IF NOT EXISTS slot text, ADD COLUMN IF NOT EXISTS fingerprint text;
INSERT INTO "public"."freshet_checkpoint" (id, seq, t) SELECT n, (SELECT coalesce(max(seq), 0) FROM "public"."freshet_checkpoint"), 0 FROM generate_series(1, 16) AS n ON CONFLICT (id) DO NOTHING;
GRANT SELECT, UPDATE ON "public"."freshet_checkpoint" TO "debezium";

CREATE PUBLICATION debezium FOR TABLE users, products, orders, sessions, freshet_checkpoint
  WITH (publish_via_partition_root = true);
