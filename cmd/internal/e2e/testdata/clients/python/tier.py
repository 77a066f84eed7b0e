"""redis-py against a tier: python tier.py plain|cluster HOST PORT.

It reads and writes without a pause. It prints "change" and waits for a line:
meanwhile nodes leave and join. It prints "done" at the end. Whatever is not as
it should be ends it with an error.
"""

import sys
import threading

import redis
import redis.cluster

MODE, HOST, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])


def expect(what, got, want):
    if got != want:
        sys.exit(f"{what}: got {got!r:.200}, want {want!r:.200}")


def connect():
    if MODE == "plain":
        return redis.Redis(HOST, PORT, decode_responses=True)
    return redis.cluster.RedisCluster(HOST, PORT, decode_responses=True)


def ids(values):
    return [v and int(v.split(":", 1)[1].split(",", 1)[0]) for v in values]


def everything(r, n):
    users = [1 + n % 50 * 20 + i for i in range(20)]
    keys = [f"users:{i}" for i in users]
    mget = r.mget if MODE == "plain" else r.mget_nonatomic
    expect("MGET", ids(mget(keys)), users)
    pipe = r.pipeline(transaction=False) if MODE == "plain" else r.pipeline()
    for key in keys:
        pipe.get(key)
    expect("a pipeline", ids(pipe.execute()), users)
    expect("HGETALL", r.hgetall("users:1")["city"], "Lyon")
    expect("HMGET", r.hmget("users:1", "name", "nobody"), ["Grace Brook", None])
    key = f"key:python-{MODE}-{n % 10}"
    expect("SET", r.set(key, str(n)), True)
    expect("GET after its SET", r.get(key), str(n))


r = connect()
everything(r, 0)
print("change", flush=True)
changed = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), changed.set()), daemon=True).start()
n = 0
while not changed.is_set():
    n += 1
    everything(r, n)
for n in range(n, n + 10):
    everything(r, n)
print(f"{n} rounds", flush=True)
print("done", flush=True)
