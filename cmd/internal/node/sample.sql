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
  named(i, first, last) AS (
    SELECT i,
      CASE i % 11 WHEN 0 THEN 'Ada' WHEN 1 THEN 'Grace' WHEN 2 THEN 'Alan' WHEN 3 THEN 'Edsger'
        WHEN 4 THEN 'Barbara' WHEN 5 THEN 'Donald' WHEN 6 THEN 'Frances' WHEN 7 THEN 'Tony'
        WHEN 8 THEN 'Radia' WHEN 9 THEN 'Ken' ELSE 'Margaret' END,
      CASE i % 7 WHEN 0 THEN 'Stream' WHEN 1 THEN 'Brook' WHEN 2 THEN 'Rivers' WHEN 3 THEN 'Lake'
        WHEN 4 THEN 'Wells' WHEN 5 THEN 'Ford' ELSE 'Bridges' END
    FROM n)
INSERT INTO users
  SELECT i, first || ' ' || last, lower(first) || i || '@shop.example',
    CASE i % 5 WHEN 0 THEN 'Berlin' WHEN 1 THEN 'Lyon' WHEN 2 THEN 'Porto' WHEN 3 THEN 'Oslo' END,
    i * 37 % 1000
  FROM named;

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
