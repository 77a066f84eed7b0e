-- The shop of docker-compose.yml: what is in it, and who may do what.
CREATE ROLE freshet LOGIN REPLICATION PASSWORD 'for-development-only';

CREATE TABLE users (
  id     bigint PRIMARY KEY,
  name   text NOT NULL,
  email  text NOT NULL UNIQUE,
  city   text,
  credit numeric(12,2) NOT NULL DEFAULT 0
);
CREATE TABLE products (
  sku   text PRIMARY KEY,
  title text NOT NULL,
  cents integer NOT NULL,
  stock integer NOT NULL
);
CREATE TABLE orders (
  user_id bigint NOT NULL REFERENCES users ON DELETE CASCADE,
  number  integer NOT NULL,
  sku     text NOT NULL,
  state   text NOT NULL,
  placed  timestamptz NOT NULL,
  PRIMARY KEY (user_id, number)
);
CREATE TABLE sessions (
  key  text PRIMARY KEY,
  data text NOT NULL
);

INSERT INTO users
  SELECT i, 'User ' || i, 'user' || i || '@shop.example', (ARRAY['Porto', 'Lisbon', 'Faro'])[1 + i % 3], i % 1000
  FROM generate_series(1, 2000) i;
INSERT INTO products
  SELECT 'sku-' || i, 'Product ' || i, 100 * i, i % 50 FROM generate_series(1, 500) i;
INSERT INTO orders
  SELECT 1 + i % 2000, 1 + i / 2000, 'sku-' || 1 + i % 500, 'paid', timestamptz '2026-01-01 00:00+00' + i * interval '1 minute'
  FROM generate_series(0, 4999) i;
INSERT INTO sessions
  SELECT lpad(i::text, 12, '0'), 'session ' || i FROM generate_series(0, 1999) i;

-- user-by-email is a key of another index: its old value has to be in the log.
ALTER TABLE users REPLICA IDENTITY FULL;
GRANT SELECT, INSERT, UPDATE, DELETE ON users, products, orders, sessions TO freshet;
CREATE PUBLICATION freshet FOR TABLE users, products, orders, sessions WITH (publish_via_partition_root = true);
