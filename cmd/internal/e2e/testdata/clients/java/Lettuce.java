import io.lettuce.core.LettuceFutures;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.KeyValue;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.ProtocolVersion;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Scanner;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** Lettuce against a node: java Lettuce.java HOST PORT OPERATIONS. */
class Lettuce {
    static final String USER =
        "{\"id\":1,\"name\":\"Grace Brook\",\"email\":\"grace1@shop.example\",\"city\":\"Lyon\",\"credit\":37}";

    static void expect(String what, Object got, Object want) {
        if (!Objects.equals(got, want)) {
            throw new AssertionError(what + ": got " + got + ", want " + want);
        }
    }

    static StatefulRedisConnection<String, String> usual(RedisClient client) throws Exception {
        var connection = client.connect();
        var r = connection.sync();
        String large = "\0\r\n$-1\r\n" + "x".repeat(1 << 20);
        expect("PING", r.ping(), "PONG");
        expect("SET", r.set("key:lettuce", large), "OK");
        expect("GET", r.get("key:lettuce"), large);
        expect("GET of a row", r.get("users:1"), USER);
        expect("GET of nothing", r.get("key:nothing"), null);
        expect("HGETALL", r.hgetall("users:1").get("city"), "Lyon");
        expect("HMGET", r.hmget("users:1", "name", "nobody"),
            List.of(KeyValue.just("name", "Grace Brook"), KeyValue.empty("nobody")));
        expect("MGET", r.mget("key:nothing", "key:000000000001"),
            List.of(KeyValue.empty("key:nothing"), KeyValue.just("key:000000000001", "xxx")));
        expect("DEL", r.del("key:lettuce"), 1L);

        var async = connection.async();
        connection.setAutoFlushCommands(false);
        var echoes = new ArrayList<RedisFuture<String>>();
        for (int i = 0; i < 1000; i++) {
            echoes.add(async.echo("" + i));
        }
        connection.flushCommands();
        connection.setAutoFlushCommands(true);
        expect("pipeline", LettuceFutures.awaitAll(10, TimeUnit.SECONDS, echoes.toArray(RedisFuture[]::new)), true);
        for (int i = 0; i < 1000; i++) {
            expect("pipeline", echoes.get(i).get(), "" + i);
        }

        String said = "nothing";
        try {
            r.multi();
            r.set("key:tx", "1");
            r.exec();
        } catch (Exception e) {
            said = e.toString();
        }
        expect("a transaction: the reason in " + said, said.contains("transactions are not offered"), true);
        expect("after the transaction", client.connect().sync().exists("key:tx"), 0L);
        return client.connect();
    }

    static void giveUp(StatefulRedisConnection<String, String> connection, int operations) throws Exception {
        var begun = new AtomicInteger();
        var answered = new AtomicInteger();
        var givenUp = new AtomicInteger();
        var wrong = new ArrayList<Throwable>();
        var workers = new ArrayList<Thread>();
        for (int w = 0; w < 16; w++) {
            workers.add(new Thread(() -> {
                try {
                    for (int n; (n = begun.incrementAndGet()) <= operations; ) {
                        var random = ThreadLocalRandom.current();
                        String key = "slow:" + random.nextInt(5000), payload = "payload " + n;
                        var get = connection.async().get(key);
                        var echo = connection.async().echo(payload);
                        int patience = random.nextInt(3) == 0 ? random.nextInt(5) : 2000;
                        if (!get.await(patience, TimeUnit.MILLISECONDS) || !echo.await(patience, TimeUnit.MILLISECONDS)) {
                            get.cancel(true);
                            echo.cancel(true);
                            givenUp.incrementAndGet();
                            continue;
                        }
                        expect("GET beside those given up", get.get(), "is " + key);
                        expect("ECHO beside those given up", echo.get(), payload);
                        answered.incrementAndGet();
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
        for (var e : wrong) {
            throw new AssertionError(e);
        }
        System.out.println(answered + " answered, " + givenUp + " given up");
        expect("operations answered and given up", answered.get() > 0 && givenUp.get() > 0, true);
    }

    static void reconnect(StatefulRedisConnection<String, String> connection) throws Exception {
        System.out.println("restart");
        new Scanner(System.in).nextLine();
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        for (;;) {
            try {
                expect("GET after a restart", connection.sync().get("users:1"), USER);
                return;
            } catch (RuntimeException e) {
                if (System.nanoTime() > deadline) {
                    throw e;
                }
                Thread.sleep(50);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        var uri = RedisURI.create(args[0], Integer.parseInt(args[1]));
        for (var protocol : new ProtocolVersion[] {null, ProtocolVersion.RESP2, ProtocolVersion.RESP3}) {
            var client = RedisClient.create(uri);
            if (protocol != null) {
                client.setOptions(ClientOptions.builder().protocolVersion(protocol).build());
            }
            var connection = usual(client);
            if (protocol == ProtocolVersion.RESP3) {
                giveUp(connection, Integer.parseInt(args[2]));
                reconnect(connection);
            }
            client.shutdown();
        }
        System.out.println("done");
        System.exit(0);
    }
}
