-- The sample of freshet dev: a shop. Two thousand users with a unique email,
-- five hundred products, five thousand orders under a composite key, and one
-- table of plain keys and values.
CREATE TABLE users (
  id     INTEGER PRIMARY KEY,
  name   TEXT NOT NULL,
  email  TEXT NOT NULL UNIQUE,
  city   TEXT,
  credit INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE products (
  sku    TEXT NOT NULL PRIMARY KEY,
  title  TEXT NOT NULL,
  cents  INTEGER NOT NULL,
  stock  INTEGER NOT NULL,
  weight REAL
);
CREATE TABLE orders (
  user_id INTEGER NOT NULL,
  number  INTEGER NOT NULL,
  sku     TEXT NOT NULL,
  state   TEXT NOT NULL,
  placed  TEXT NOT NULL,
  PRIMARY KEY (user_id, number)
);
CREATE TABLE kv (
  key   TEXT NOT NULL PRIMARY KEY,
  value BLOB
);

WITH
  n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000),
  first(k, name) AS (VALUES (0, 'Ada'), (1, 'Grace'), (2, 'Alan'), (3, 'Edsger'), (4, 'Barbara'), (5, 'Donald'), (6, 'Frances'), (7, 'Tony'), (8, 'Radia'), (9, 'Ken'), (10, 'Margaret')),
  last(k, name) AS (VALUES (0, 'Stream'), (1, 'Brook'), (2, 'Rivers'), (3, 'Lake'), (4, 'Wells'), (5, 'Ford'), (6, 'Bridges')),
  place(k, name) AS (VALUES (0, 'Berlin'), (1, 'Lyon'), (2, 'Porto'), (3, 'Oslo'), (4, NULL))
INSERT INTO users
  SELECT i, first.name || ' ' || last.name, lower(first.name) || i || '@shop.example', place.name, i * 37 % 1000
  FROM n JOIN first ON first.k = i % 11 JOIN last ON last.k = i % 7 JOIN place ON place.k = i % 5;

WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
INSERT INTO products
  SELECT printf('sku-%03d', i), 'Product ' || i, i * 99 % 20000 + 100, i * 13 % 400, round(i * 0.37, 2) FROM n;

WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
INSERT INTO orders
  SELECT (i - 1) % 2000 + 1, (i - 1) / 2000 + 1, printf('sku-%03d', i % 500 + 1),
         CASE i % 3 WHEN 0 THEN 'open' WHEN 1 THEN 'sent' ELSE 'paid' END,
         date('2026-01-01', '+' || (i % 300) || ' days')
  FROM n;

WITH n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
INSERT INTO kv SELECT printf('%012d', i), CAST('xxx' AS BLOB) FROM n;
