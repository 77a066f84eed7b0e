// ioredis against a node: node ioredis.mjs HOST PORT OPERATIONS.
import Redis from 'ioredis'
import { binary, expect, giveUp, host, port, reconnects, refused, user } from './shared.mjs'

async function usual(options) {
  const r = new Redis({ host, port, ...options })
  r.on('error', () => {}) // while the node is away; commands say so themselves
  expect('PING', await r.ping(), 'PONG')
  expect('SET', await r.set('key:ioredis', binary), 'OK')
  expect('GET', (await r.getBuffer('key:ioredis')).equals(binary), true)
  expect('GET of a row', await r.get('users:1'), user)
  expect('GET of nothing', await r.get('key:nothing'), null)
  expect('HGETALL', (await r.hgetall('users:1')).city, 'Lyon')
  expect('HMGET', await r.hmget('users:1', 'name', 'nobody'), ['Grace Brook', null])
  expect('MGET', await r.mget('key:nothing', 'key:000000000001'), [null, 'xxx'])
  expect('DEL', await r.del('key:ioredis'), 1)

  const pipeline = r.pipeline()
  const numbers = Array.from({ length: 1000 }, (_, i) => String(i))
  numbers.forEach((n) => pipeline.echo(n))
  expect('pipeline', await pipeline.exec(), numbers.map((n) => [null, n]))

  await refused('a transaction', r.multi().set('key:tx', '1').get('key:tx').exec(), 'transactions are not offered')
  expect('after the transaction', await r.exists('key:tx'), 0)
  return r
}

await (await usual({ autoPipelining: true })).quit()
const r = await usual({})

const impatient = new Map() // by patience: a client for each
await giveUp(async (key, payload, patience) => {
  if (!impatient.has(patience)) impatient.set(patience, new Redis({ host, port, commandTimeout: patience }))
  const replies = await Promise.allSettled([impatient.get(patience).get(key), impatient.get(patience).echo(payload)])
  for (const e of replies.filter((e) => e.status === 'rejected')) expect('given up', e.reason.message, 'Command timed out')
  return replies.every((e) => e.status === 'fulfilled') && replies.map((e) => e.value)
})
for (const c of impatient.values()) c.disconnect()

await reconnects(() => r.get('users:1'))
r.disconnect()
console.log('done')
process.exit(0)
