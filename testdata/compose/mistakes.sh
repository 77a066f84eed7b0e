# For verify.sh: the chapter about what people do wrong, and what they are told.

mistakes() {
	title 'What goes wrong, and what is said'
	docker compose up --detach --wait

	printf '\n# there is no engine\n'
	refused 'DOCKER_HOST=unix:///nowhere/docker.sock docker compose up --detach --wait'

	docker compose stop node-1
	python3 -m http.server --bind 127.0.0.1 6400 >/dev/null 2>&1 &
	taken=$!
	printf '\n'
	within $patience 'something else has port 6400' bash -c '</dev/tcp/127.0.0.1/6400'
	refused 'docker compose up --detach --wait node-1'
	said 'PORT_6400=16400 docker compose up --detach --wait node-1'
	told redis-cli -p 16400 PING
	kill $taken
	wait $taken || true
	grep -qF 'PORT_5432=15432 docker compose up --detach --wait' docker-compose.yml # where people read of it

	sed 's/bound: 500ms/bounds: 500ms/' testdata/compose/freshet.yaml >"$work/wrong.yaml"
	mistaken 'a configuration with "bounds" in it is mounted into node-3' \
		"volumes: ['$work/wrong.yaml:/etc/freshet/freshet.yaml:ro']" 'unknown setting "use_cases[4].bounds"; known here:'
	mistaken 'a file that is not there is mounted into node-3: Docker makes a folder of that name' \
		"volumes: ['$work/nothing.yaml:/etc/freshet/freshet.yaml:ro']" 'is a directory; name a configuration that can be read'
	mistaken 'node-3 has no password for the database' \
		'environment: {DATABASE_URL: ""}' 'DATABASE_URL'
	mistaken 'node-3 may have 24 MB' 'mem_limit: 24m' 'give it 96MiB or more'

	printf '\n# node-3 may have 4 MB: the engine itself refuses\n'
	with 'services: {node-3: {mem_limit: 4m}}'
	refused 'docker compose up --detach --wait node-3'
	COMPOSE_FILE=$whole
	docker compose up --detach --wait node-3
	changed Tavira 6401 6402
}

# mistaken WHAT YAML SAID starts node-3 with a mistake in it, and looks for what it
# says about that.
mistaken() {
	printf '\n# %s\n' "$1"
	with "services: {node-3: {$2}}"
	refused 'docker compose up --detach --wait node-3'
	told docker compose logs --no-log-prefix --tail 1 node-3 | tee "$work/said"
	COMPOSE_FILE=$whole
	grep -qF -- "$3" "$work/said" || { echo "it should say: $3"; return 1; }
}
