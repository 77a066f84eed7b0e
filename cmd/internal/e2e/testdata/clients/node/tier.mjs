// ioredis against a tier: node tier.mjs plain|cluster HOST PORT. It reads and
// writes without a pause, prints "change" and waits for a line while nodes leave
// and join, and prints "done" at the end.
import Redis from 'ioredis'
import { createInterface } from 'node:readline'

const [mode, host, port] = [process.argv[2], process.argv[3], Number(process.argv[4])]
const r = mode === 'plain' ? new Redis({ host, port }) : new Redis.Cluster([{ host, port }])

function expect(what, got, want) {
  const [g, w] = [JSON.stringify(got), JSON.stringify(want)]
  if (g === w) return
  console.error(`${what}: got ${g?.slice(0, 200)}, want ${w?.slice(0, 200)}`)
  process.exit(1)
}

const ids = (values) => values.map((v) => v && JSON.parse(v).id)

async function everything(n) {
  const users = Array.from({ length: 20 }, (_, i) => 1 + (n % 50) * 20 + i)
  const keys = users.map((i) => `users:${i}`)
  expect('MGET', ids(await r.mget(keys)), users)
  // In a pipeline of a cluster all keys have to be with one node: it is the
  // client who refuses others. So there each key goes by itself, at once.
  if (mode === 'plain') {
    const pipeline = r.pipeline()
    keys.forEach((k) => pipeline.get(k))
    expect('a pipeline', ids((await pipeline.exec()).map(([, v]) => v)), users)
  }
  expect('GETs at once', ids(await Promise.all(keys.map((k) => r.get(k)))), users)
  expect('HGETALL', (await r.hgetall('users:1')).city, 'Lyon')
  expect('HMGET', await r.hmget('users:1', 'name', 'nobody'), ['Grace Brook', null])
  const key = `key:ioredis-${mode}-${n % 10}`
  expect('SET', await r.set(key, String(n)), 'OK')
  expect('GET after its SET', await r.get(key), String(n))
}

await everything(0)
let changed = false
createInterface({ input: process.stdin }).once('line', () => { changed = true })
console.log('change')
let n = 0
while (!changed) await everything(++n)
for (let i = 0; i < 10; i++) await everything(++n)
console.log(`${n} rounds`)
r.disconnect()
console.log('done')
process.exit(0)
