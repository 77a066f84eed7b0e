// node-redis against a node: node node-redis.mjs HOST PORT OPERATIONS.
import { createClient, RESP_TYPES } from 'redis'
import { binary, expect, giveUp, host, port, reconnects, refused, sleep, user } from './shared.mjs'

async function usual(options) {
  const r = createClient({ socket: { host, port }, ...options })
  r.on('error', () => {}) // while the node is away; commands say so themselves
  await r.connect()
  const bytes = r.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer })
  expect('PING', await r.ping(), 'PONG')
  expect('SET', await r.set('key:node', binary), 'OK')
  expect('GET', (await bytes.get('key:node')).equals(binary), true)
  expect('GET of a row', await r.get('users:1'), user)
  expect('GET of nothing', await r.get('key:nothing'), null)
  expect('HGETALL', (await r.hGetAll('users:1')).city, 'Lyon')
  expect('HMGET', await r.hmGet('users:1', ['name', 'nobody']), ['Grace Brook', null])
  expect('MGET', await r.mGet(['key:nothing', 'key:000000000001']), [null, 'xxx'])
  expect('DEL', await r.del('key:node'), 1)

  const numbers = Array.from({ length: 1000 }, (_, i) => String(i))
  expect('pipeline', await Promise.all(numbers.map((n) => r.echo(n))), numbers)

  await refused('a transaction', r.multi().set('key:tx', '1').get('key:tx').exec(), 'transactions are not offered')
  expect('after the transaction', await r.exists('key:tx'), 0)
  return r
}

await (await usual({})).close()
await (await usual({ RESP: 2 })).close()
const r = await usual({ RESP: 3 })

// It gives up by itself only what it has not sent yet, so it is its caller who
// does not wait any longer.
await giveUp((key, payload, patience) => Promise.race([Promise.all([r.get(key), r.echo(payload)]), sleep(patience)]))

await reconnects(() => r.get('users:1'))
r.destroy()
console.log('done')
process.exit(0)
