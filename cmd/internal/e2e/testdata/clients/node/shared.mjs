// What both programs need. Whatever is not as it should be ends the process
// with an error.
import { createInterface } from 'node:readline'

export const [host, port, operations] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])]
export const user = '{"id":1,"name":"Grace Brook","email":"grace1@shop.example","city":"Lyon","credit":37}'
export const binary = Buffer.concat([Buffer.from('\x00\r\n$-1\r\n\xff', 'latin1'), Buffer.alloc(1 << 20, 'x')])
export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
export const random = (n) => Math.floor(Math.random() * n)

export function expect(what, got, want) {
  const [g, w] = [JSON.stringify(got), JSON.stringify(want)]
  if (g !== w) {
    console.error(`${what}: got ${g?.slice(0, 200)}, want ${w?.slice(0, 200)}`)
    process.exit(1)
  }
}

export async function refused(what, promise, reason) {
  const said = await promise.then(() => 'nothing', (e) => [e, ...(e.previousErrors ?? []), ...(e.errors ?? [])].join('; '))
  expect(`${what}: the reason in ${said}`, said.includes(reason), true)
}

// giveUp begins operations that get(key, payload, patience) answers with both
// replies, or with nothing when it has given them up.
export async function giveUp(get) {
  let [begun, answered, givenUp] = [0, 0, 0]
  const worker = async () => {
    while (begun < operations) {
      const n = ++begun
      const key = `slow:${random(5000)}`
      const got = await get(key, `payload ${n}`, random(3) === 0 ? 1 + random(4) : 2000)
      if (!got) {
        givenUp++
        continue
      }
      expect('a command beside those given up', got, [`is ${key}`, `payload ${n}`])
      answered++
    }
  }
  await Promise.all(Array.from({ length: 24 }, worker))
  console.log(`${answered} answered, ${givenUp} given up`)
  expect('operations answered and given up', answered > 0 && givenUp > 0, true)
}

// reconnects has the node started again, and reads until that works.
export async function reconnects(read) {
  console.log('restart')
  await new Promise((resolve) => createInterface({ input: process.stdin }).once('line', resolve))
  const deadline = Date.now() + 20_000
  for (;;) {
    try {
      expect('GET after a restart', await read(), user)
      return
    } catch (e) {
      if (Date.now() > deadline) throw e
      await sleep(50)
    }
  }
}
