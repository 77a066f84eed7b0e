import io.lettuce.core.KeyValue;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisFuture;
import io.lettuce.core.RedisURI;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.async.RedisClusterAsyncCommands;
import io.lettuce.core.cluster.api.sync.RedisClusterCommands;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Scanner;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/** Lettuce against a tier: java TierLettuce.java plain|cluster HOST PORT. */
class TierLettuce {
    static void expect(String what, Object got, Object want) {
        if (!Objects.equals(got, want)) {
            throw new AssertionError(what + ": got " + got + ", want " + want);
        }
    }

    static void everything(String mode, RedisClusterCommands<String, String> r, RedisClusterAsyncCommands<String, String> async, int n) throws Exception {
        var keys = new ArrayList<String>();
        for (int i = 0; i < 20; i++) {
            keys.add("users:" + (1 + n % 50 * 20 + i));
        }
        var values = r.mget(keys.toArray(String[]::new));
        for (int i = 0; i < 20; i++) {
            expect("MGET", isOf(values.get(i).getValue(), keys.get(i)), true);
        }
        var gets = new ArrayList<RedisFuture<String>>();
        for (var key : keys) {
            gets.add(async.get(key));
        }
        for (int i = 0; i < 20; i++) {
            expect("GETs at once", isOf(gets.get(i).get(20, TimeUnit.SECONDS), keys.get(i)), true);
        }
        expect("HGETALL", r.hgetall("users:1").get("city"), "Lyon");
        expect("HMGET", r.hmget("users:1", "name", "nobody"), List.of(KeyValue.just("name", "Grace Brook"), KeyValue.empty("nobody")));
        String key = "key:lettuce-" + mode + "-" + n % 10;
        expect("SET", r.set(key, "" + n), "OK");
        expect("GET after its SET", r.get(key), "" + n);
    }

    static boolean isOf(String value, String key) {
        return value != null && value.startsWith("{\"id\":" + key.split(":")[1] + ",");
    }

    public static void main(String[] args) throws Exception {
        var uri = RedisURI.create(args[1], Integer.parseInt(args[2]));
        RedisClusterCommands<String, String> r;
        RedisClusterAsyncCommands<String, String> async;
        if (args[0].equals("plain")) {
            var connection = RedisClient.create(uri).connect();
            r = connection.sync();
            async = connection.async();
        } else {
            var connection = RedisClusterClient.create(uri).connect();
            r = connection.sync();
            async = connection.async();
        }
        everything(args[0], r, async, 0);
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
            everything(args[0], r, async, ++n);
        }
        for (int i = 0; i < 10; i++) {
            everything(args[0], r, async, ++n);
        }
        System.out.println(n + " rounds");
        System.out.println("done");
        System.exit(0);
    }
}
