"""redis-py against a node: python client.py HOST PORT OPERATIONS.

It prints "restart" and waits for a line when the node is to be started again,
and "done" at the end. Whatever is not as it should be ends it with an error.
"""

import asyncio
import random
import sys
import time

import redis
import redis.asyncio

HOST, PORT, OPERATIONS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
USER = '{"id":1,"name":"Grace Brook","email":"grace1@shop.example","city":"Lyon","credit":37}'


def expect(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r:.200}, want {want!r:.200}")


def usual(**options):
    r = redis.Redis(HOST, PORT, **options)
    binary = b"\x00\r\n$-1\r\n\xff" + b"x" * (1 << 20)
    expect("PING", r.ping(), True)
    expect("SET", r.set("key:python", binary), True)
    expect("GET", r.get("key:python"), binary)
    expect("GET of a row", r.get("users:1").decode(), USER)
    expect("GET of nothing", r.get("key:nothing"), None)
    expect("HGETALL", r.hgetall("users:1")[b"city"], b"Lyon")
    expect("HMGET", r.hmget("users:1", "name", "nobody"), [b"Grace Brook", None])
    expect("MGET", r.mget("key:nothing", "key:000000000001"), [None, b"xxx"])
    expect("DEL", r.delete("key:python"), 1)

    pipe = r.pipeline(transaction=False)
    for i in range(1000):
        pipe.echo(str(i))
    expect("pipeline", pipe.execute(), [str(i).encode() for i in range(1000)])

    try:
        r.pipeline().set("key:tx", "1").get("key:tx").execute()
        sys.exit("a transaction was carried out")
    except redis.exceptions.RedisError as e:
        expect(f"the reason in {e!r}", "transactions are not offered" in str(e), True)
    expect("after the transaction", r.exists("key:tx"), 0)
    expect("the same connection", r.echo("still in step"), b"still in step")
    return r


async def give_up():
    """Tasks are cancelled in the middle of commands; no reply may reach another."""
    pool = redis.asyncio.ConnectionPool(host=HOST, port=PORT, max_connections=16)
    r = redis.asyncio.Redis(connection_pool=pool)
    begun = answered = given_up = 0

    async def one(n):
        key = f"slow:{random.randrange(5000)}"
        pipe = r.pipeline(transaction=False)
        return await pipe.get(key).echo(f"payload {n}").execute(), [f"is {key}".encode(), f"payload {n}".encode()]

    async def worker():
        nonlocal begun, answered, given_up
        while begun < OPERATIONS:
            begun += 1
            patience = random.uniform(0, 0.004) if random.random() < 0.3 else 1
            try:
                got, want = await asyncio.wait_for(one(begun), patience)
            except (asyncio.TimeoutError, redis.exceptions.TimeoutError):
                given_up += 1
                continue
            expect("a command beside those given up", got, want)
            answered += 1

    await asyncio.gather(*(worker() for _ in range(12)))
    await r.aclose()
    await pool.disconnect()
    print(f"{answered} answered, {given_up} given up")
    if not answered or not given_up:
        sys.exit("this shows nothing")


def reconnect(r):
    print("restart", flush=True)
    sys.stdin.readline()
    deadline = time.monotonic() + 20
    while True:
        try:
            expect("GET after a restart", r.get("users:1").decode(), USER)
            return
        except redis.exceptions.ConnectionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


usual()
usual(protocol=2)
r = usual(protocol=3)
asyncio.run(give_up())
reconnect(r)
print("done", flush=True)
