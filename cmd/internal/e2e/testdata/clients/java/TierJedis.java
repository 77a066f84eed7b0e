import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Scanner;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import redis.clients.jedis.AbstractPipeline;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisCluster;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.Response;
import redis.clients.jedis.UnifiedJedis;
import redis.clients.jedis.exceptions.JedisMovedDataException;

/** Jedis against a tier: java TierJedis.java plain|cluster HOST PORT. */
class TierJedis {
    static void expect(String what, Object got, Object want) {
        if (!Objects.equals(got, want)) {
            throw new AssertionError(what + ": got " + got + ", want " + want);
        }
    }

    static void everything(String mode, UnifiedJedis r, int n) {
        var keys = new ArrayList<String>();
        for (int i = 0; i < 20; i++) {
            keys.add("users:" + (1 + n % 50 * 20 + i));
        }
        // Of a cluster this client asks for keys of one slot only.
        if (mode.equals("plain")) {
            var values = r.mget(keys.toArray(String[]::new));
            for (int i = 0; i < 20; i++) {
                expect("MGET", isOf(values.get(i), keys.get(i)), true);
            }
        } else {
            expect("MGET of one slot", r.mget("key:{jedis}1", "key:{jedis}2"), Arrays.asList(null, null));
        }
        try {
            pipeline(r, keys);
        } catch (JedisMovedDataException e) {
            // It does not follow MOVED in pipelines, of Redis Cluster either:
            // it learns by a command of its own where the key is now.
            for (var key : keys) {
                expect("GET", isOf(r.get(key), key), true);
            }
            pipeline(r, keys);
        }
        expect("HGETALL", r.hgetAll("users:1").get("city"), "Lyon");
        expect("HMGET", r.hmget("users:1", "name", "nobody"), Arrays.asList("Grace Brook", null));
        String key = "key:jedis-" + mode + "-" + n % 10;
        expect("SET", r.set(key, "" + n), "OK");
        expect("GET after its SET", r.get(key), "" + n);
    }

    static void pipeline(UnifiedJedis r, List<String> keys) {
        var gets = new ArrayList<Response<String>>();
        try (AbstractPipeline pipeline = r.pipelined()) {
            for (var key : keys) {
                gets.add(pipeline.get(key));
            }
            pipeline.sync();
        }
        for (int i = 0; i < keys.size(); i++) {
            expect("a pipeline", isOf(gets.get(i).get(), keys.get(i)), true);
        }
    }

    static boolean isOf(String value, String key) {
        return value != null && value.startsWith("{\"id\":" + key.split(":")[1] + ",");
    }

    public static void main(String[] args) throws Exception {
        var address = new HostAndPort(args[1], Integer.parseInt(args[2]));
        UnifiedJedis r = args[0].equals("plain") ? new JedisPooled(address) : new JedisCluster(Set.of(address));
        everything(args[0], r, 0);
        var changed = new AtomicBoolean();
        var waits = new Thread(() -> {
            new Scanner(System.in).nextLine();
            changed.set(true);
        });
        waits.setDaemon(true);
        waits.start();
        System.out.println("change");
        int n = 0;
        while (!changed.get()) {
            everything(args[0], r, ++n);
        }
        for (int i = 0; i < 10; i++) {
            everything(args[0], r, ++n);
        }
        System.out.println(n + " rounds");
        System.out.println("done");
        System.exit(0);
    }
}
