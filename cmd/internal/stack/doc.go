// Package stack starts real parts as processes of this machine: PostgreSQL 15
// and 17, Apache Kafka, Kafka Connect with Debezium, and Redis, for the tests
// that need them, for CI and for freshet conform. It runs on Linux and needs no
// container.
//
// # Parts
//
// [StartPostgres], [StartKafka] and [StartRedis] start a part with a folder
// and a port of its own and return once it answers. The part keeps its port
// and its data over Kill, Stop and Start, and has a [Process] that can also be
// paused and resumed. Close ends it and removes its folder; and whatever ends
// this process ends its parts, because the kernel kills them then.
// [StartPgBouncer] puts a pooler in front of a PostgreSQL server. [StartConnect]
// starts a worker of Kafka Connect, which ships a server's changes to a broker
// once [Connect.Put] has given it a connector, as [Debezium] makes its settings.
//
// A [Forwarder] stands between a client and a part, and can cut, black-hole
// or delay what goes through; one made with [NewRouter] leads each connection
// to where its beginning says.
//
// # Where the parts come from
//
// A part that is not on this machine is fetched once, into freshet under the
// user's cache folder (for root /var/cache/freshet, because PostgreSQL refuses
// to run as root and its own user has to read it): Kafka, Debezium and
// PostgreSQL 17 from Maven Central through mvn, PostgreSQL 15 and Redis from the
// distribution's packages through apt, which needs root. What is fetched is
// said on stderr. Where neither is possible, the error says what to install.
//
// FRESHET_POSTGRES_URL, FRESHET_KAFKA and FRESHET_REDIS name a part that runs
// already and is used instead. It is not ours, so it can be neither killed nor
// paused: that is [ErrNotOurs].
//
// # PostgreSQL here
//
// The superuser is postgres and needs no password on 127.0.0.1; neither does
// any other role, unless it is a member of a role named with_password. The log
// is set up for logical replication, and nothing is synced to disk: killing
// the process loses nothing, cutting the machine's power would. Clusters are
// copies of an empty one that is made once for each version, so all have the
// system identifier of that one.
//
// A test starts parts through package stacktest, which skips where real parts
// are not asked for.
//
// Read process.go first, then postgres.go, standby.go, pgbouncer.go, kafka.go,
// topics.go, connect.go, redis.go, forward.go and ports.go, and parts.go and
// postgres_parts.go for where the parts come from.
package stack
