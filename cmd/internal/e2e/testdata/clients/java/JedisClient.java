import java.util.ArrayList;
import java.util.Arrays;
import java.util.Objects;
import java.util.Scanner;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.JedisPool;
import redis.clients.jedis.JedisPoolConfig;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.Response;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** Jedis against a node: java JedisClient.java HOST PORT OPERATIONS. */
class JedisClient {
    static final String USER =
        "{\"id\":1,\"name\":\"Grace Brook\",\"email\":\"grace1@shop.example\",\"city\":\"Lyon\",\"credit\":37}";

    static void expect(String what, Object got, Object want) {
        if (!Objects.equals(got, want)) {
            throw new AssertionError(what + ": got " + got + ", want " + want);
        }
    }

    static void usual(Jedis r) {
        String large = "\0\r\n$-1\r\n" + "x".repeat(1 << 20);
        expect("PING", r.ping(), "PONG");
        expect("SET", r.set("key:jedis", large), "OK");
        expect("GET", r.get("key:jedis"), large);
        expect("GET of a row", r.get("users:1"), USER);
        expect("GET of nothing", r.get("key:nothing"), null);
        expect("HGETALL", r.hgetAll("users:1").get("city"), "Lyon");
        expect("HMGET", r.hmget("users:1", "name", "nobody"), Arrays.asList("Grace Brook", null));
        expect("MGET", r.mget("key:nothing", "key:000000000001"), Arrays.asList(null, "xxx"));
        expect("DEL", r.del("key:jedis"), 1L);

        var pipeline = r.pipelined();
        var gets = new ArrayList<Response<String>>();
        for (int i = 0; i < 1000; i++) {
            gets.add(pipeline.get("slow:" + i));
        }
        pipeline.sync();
        for (int i = 0; i < 1000; i++) {
            expect("pipeline", gets.get(i).get(), "is slow:" + i);
        }

        String said = "nothing";
        try (var transaction = r.multi()) {
            transaction.set("key:tx", "1");
            transaction.exec();
        } catch (RuntimeException e) {
            said = e.toString();
        }
        expect("a transaction: the reason in " + said, said.contains("transactions are not offered"), true);
    }

    static void giveUp(HostAndPort address, int operations) throws Exception {
        var begun = new AtomicInteger();
        var answered = new AtomicInteger();
        var givenUp = new AtomicInteger();
        var wrong = new ArrayList<Throwable>();
        var workers = new ArrayList<Thread>();
        var poolConfig = new JedisPoolConfig();
        poolConfig.setMaxTotal(16);
        var config = DefaultJedisClientConfig.builder().socketTimeoutMillis(5).connectionTimeoutMillis(2000).build();
        try (var pool = new JedisPool(poolConfig, address, config)) {
            for (int w = 0; w < 16; w++) {
                workers.add(new Thread(() -> {
                    try {
                        for (int n; (n = begun.incrementAndGet()) <= operations; ) {
                            String key = "slow:" + ThreadLocalRandom.current().nextInt(5000), payload = "payload " + n;
                            try (var r = pool.getResource()) {
                                expect("GET beside those given up", r.get(key), "is " + key);
                                expect("ECHO beside those given up", r.echo(payload), payload);
                                answered.incrementAndGet();
                            } catch (JedisConnectionException e) {
                                givenUp.incrementAndGet();
                            }
                        }
                    } catch (Throwable e) {
                        synchronized (wrong) {
                            wrong.add(e);
                        }
                    }
                }));
            }
            for (var w : workers) {
                w.start();
            }
            for (var w : workers) {
                w.join();
            }
        }
        for (var e : wrong) {
            throw new AssertionError(e);
        }
        System.out.println(answered + " answered, " + givenUp + " given up");
        expect("operations answered and given up", answered.get() > 0 && givenUp.get() > 0, true);
    }

    static void reconnect(HostAndPort address) throws Exception {
        try (var pool = new JedisPool(new JedisPoolConfig(), address, DefaultJedisClientConfig.builder().build())) {
            try (var r = pool.getResource()) {
                expect("GET before a restart", r.get("users:1"), USER);
            }
            System.out.println("restart");
            new Scanner(System.in).nextLine();
            long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
            for (;;) {
                try (var r = pool.getResource()) {
                    expect("GET after a restart", r.get("users:1"), USER);
                    return;
                } catch (RuntimeException e) {
                    if (System.nanoTime() > deadline) {
                        throw e;
                    }
                    Thread.sleep(50);
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        var address = new HostAndPort(args[0], Integer.parseInt(args[1]));
        for (var protocol : new RedisProtocol[] {null, RedisProtocol.RESP2, RedisProtocol.RESP3}) {
            var config = DefaultJedisClientConfig.builder().protocol(protocol).build();
            try (var r = new Jedis(address, config)) {
                usual(r);
            }
            try (var r = new Jedis(address, config)) {
                expect("after the transaction", r.exists("key:tx"), false);
            }
        }
        giveUp(address, Integer.parseInt(args[2]));
        reconnect(address);
        System.out.println("done");
        System.exit(0);
    }
}
