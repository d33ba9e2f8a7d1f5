import { beforeEach, describe, expect, it } from 'vitest'
import { ApiProblem, NoAnswer, retryAfterMs } from './api/client'
import type { Booking, Problem } from './api/types'
import { BookingQueue, retryWait, type BookingApi, type Notice } from './commands'

interface Call {
  name: string
  args: unknown[]
  answer(booking: Booking): Promise<void>
  refuse(problem: unknown): Promise<void>
}

function booking(seats: string[], seq: number, parts: Partial<Booking> = {}): Booking {
  return {
    id: 'b1',
    showing: 's1',
    state: 'held',
    seats,
    expires_at: '2026-11-30T20:10:00Z',
    now: '2026-11-30T20:00:00Z',
    seq,
    total: { amount: 1250 * seats.length, currency: 'EUR' },
    ...parts,
  }
}

function problem(status: number, slug: string, parts: Partial<Problem> = {}): ApiProblem {
  return new ApiProblem(status, { type: `/problems/${slug}`, ...parts })
}

/** Lets everything that is ready to run, run. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

let calls: Call[]
let notices: Notice[]
let waits: number[]
let sessions: number
let queue: BookingQueue

beforeEach(() => {
  calls = []
  notices = []
  waits = []
  sessions = 0
  const call =
    (name: string) =>
    (...args: unknown[]) =>
      new Promise<never>((resolve, reject) => {
        calls.push({
          name,
          args,
          answer: async (value) => {
            resolve(value as never)
            await settle()
          },
          refuse: async (reason) => {
            reject(reason as Error)
            await settle()
          },
        })
      })
  const api: BookingApi = {
    startSession: call('startSession'),
    booking: call('booking'),
    hold: call('hold'),
    addSeats: call('addSeats'),
    giveBack: call('giveBack'),
    confirm: call('confirm'),
    release: call('release'),
  }
  queue = new BookingQueue({
    showing: 's1',
    api,
    onChange: () => undefined,
    onNotice: (notice) => notices.push(notice),
    onSessionStarted: () => sessions++,
    wait: async (ms) => {
      waits.push(ms)
    },
  })
})

function call(at: number): Call {
  const found = calls[at]
  if (!found) throw new Error(`call ${at} was not made; there are ${calls.length}`)
  return found
}

function keyOf(at: number): unknown {
  return call(at).args.at(-1)
}

async function hold(...seats: string[]): Promise<void> {
  queue.adopt(booking(seats, 10))
  await settle()
}

describe('clicks', () => {
  it('take a seat at once and hold it with the first answer', async () => {
    queue.toggle('F7')
    expect(queue.pending.get('F7')).toBe('take')
    expect(call(0)).toMatchObject({ name: 'hold', args: ['s1', ['F7'], expect.any(String)] })
    await call(0).answer(booking(['F7'], 11))
    expect(queue.pending.size).toBe(0)
    expect(queue.held?.seats).toEqual(['F7'])
  })

  it('go one after another, each with its own key, the later ones to the same booking', async () => {
    queue.toggle('F7')
    queue.toggle('F8')
    await settle()
    expect(calls).toHaveLength(1)
    await call(0).answer(booking(['F7'], 11))
    expect(call(1)).toMatchObject({ name: 'addSeats', args: ['b1', ['F8'], expect.any(String)] })
    expect(keyOf(1)).not.toBe(keyOf(0))
    await call(1).answer(booking(['F7', 'F8'], 12))
    expect(queue.held?.seats).toEqual(['F7', 'F8'])
  })

  it('give back what is held', async () => {
    await hold('F7', 'F8')
    queue.toggle('F7')
    expect(queue.pending.get('F7')).toBe('give')
    expect(call(0)).toMatchObject({ name: 'giveBack', args: ['b1', 'F7', expect.any(String)] })
    await call(0).answer(booking(['F8'], 12))
    expect([...queue.givenBack]).toEqual([['F7', 12]])
    queue.settle(11)
    expect(queue.givenBack.size).toBe(1)
    queue.settle(12)
    expect(queue.givenBack.size).toBe(0)
  })

  it('undo each other while neither was sent', async () => {
    queue.toggle('F7')
    queue.toggle('F8')
    queue.toggle('F8')
    expect(queue.pending.has('F8')).toBe(false)
    await call(0).answer(booking(['F7'], 11))
    expect(calls).toHaveLength(1)
  })

  it('follow each other when the first was sent already', async () => {
    queue.toggle('F7')
    queue.toggle('F7')
    expect(queue.pending.get('F7')).toBe('give')
    await call(0).answer(booking(['F7'], 11))
    expect(call(1).name).toBe('giveBack')
    await call(1).answer(booking([], 12, { state: 'released', expires_at: null }))
    expect(queue.held).toBeNull()
    expect(queue.pending.size).toBe(0)
  })
})

describe('refusals', () => {
  it('take the click back and tell who still has what: someone was faster', async () => {
    await hold('F8')
    queue.toggle('F7')
    await call(0).refuse(
      problem(409, 'seats-unavailable', { seats: [{ seat: 'F7', status: 'held' }] }),
    )
    expect(queue.pending.size).toBe(0)
    expect(queue.held?.seats).toEqual(['F8'])
    expect(notices).toEqual([{ kind: 'taken', seats: ['F7'], kept: ['F8'] }])
  })

  it('end an expired hold and all clicks that were meant for it; the next click starts afresh', async () => {
    await hold('F7')
    queue.toggle('F8')
    queue.toggle('F9')
    await call(0).refuse(problem(410, 'hold-expired'))
    expect(queue.held).toBeNull()
    expect(queue.pending.size).toBe(0)
    expect(notices).toEqual([{ kind: 'expired', seats: ['F7'] }])
    queue.toggle('F8')
    expect(call(1).name).toBe('hold')
    await call(1).answer(booking(['F8'], 20, { id: 'b2' }))
    expect(queue.held?.id).toBe('b2')
  })

  it('join the booking that another tab began', async () => {
    queue.toggle('F7')
    await call(0).refuse(problem(409, 'booking-exists', { booking: booking(['A1'], 9) }))
    expect(queue.held?.seats).toEqual(['A1'])
    expect(call(1)).toMatchObject({ name: 'addSeats', args: ['b1', ['F7'], expect.any(String)] })
    expect(keyOf(1)).not.toBe(keyOf(0))
    await call(1).answer(booking(['A1', 'F7'], 12))
    expect(queue.held?.seats).toEqual(['A1', 'F7'])
  })

  it('look again when the booking is not what was thought', async () => {
    await hold('F7')
    queue.toggle('F8')
    await call(0).refuse(problem(409, 'booking-not-held', { state: 'released' }))
    expect(call(1)).toMatchObject({ name: 'booking', args: ['b1'] })
    await call(1).answer(booking([], 15, { state: 'released', expires_at: null }))
    expect(queue.held).toBeNull()
  })

  it('are put into words of their own', async () => {
    for (const [slug, status] of [
      ['too-many-seats', 422],
      ['sales-closed', 409],
      ['invalid-request', 422],
    ] as const) {
      queue.toggle('F7')
      await calls.at(-1)?.refuse(problem(status, slug, { detail: 'no' }))
    }
    expect(notices.map((notice) => notice.kind)).toEqual(['too-many', 'sales-closed', 'refused'])
  })
})

describe('an unknown outcome', () => {
  it('is asked again under the same key until it is known', async () => {
    queue.toggle('F7')
    await call(0).refuse(new NoAnswer('reset'))
    await call(1).refuse(problem(503, 'outcome-unknown'))
    await call(2).refuse(problem(503, 'unavailable'))
    await call(3).refuse(problem(409, 'request-in-flight'))
    expect(queue.pending.get('F7')).toBe('take')
    expect(queue.retrying).toBe(true)
    await call(4).answer(booking(['F7'], 11))
    expect([1, 2, 3, 4].map(keyOf)).toEqual([keyOf(0), keyOf(0), keyOf(0), keyOf(0)])
    expect(queue.retrying).toBe(false)
    expect(queue.held?.seats).toEqual(['F7'])
    expect(notices).toEqual([])
  })

  it('ends in plain words after seven tries', async () => {
    queue.toggle('F7')
    for (let i = 0; i < 7; i++) await call(i).refuse(new NoAnswer('reset'))
    expect(calls).toHaveLength(7)
    expect(notices).toEqual([{ kind: 'unreachable', wanted: 'take', seat: 'F7' }])
    expect(queue.pending.size).toBe(0)
  })

  it('begins a session when there is none, and sends the same command again', async () => {
    queue.toggle('F7')
    await call(0).refuse(problem(401, 'unauthenticated'))
    expect(call(1).name).toBe('startSession')
    await call(1).answer(booking([], 0))
    expect(sessions).toBe(1)
    expect(call(2).name).toBe('hold')
    expect(keyOf(2)).toBe(keyOf(0))
  })

  it('doesn’t ask for a second session when the first is not known either', async () => {
    queue.toggle('F7')
    await call(0).refuse(problem(401, 'unauthenticated'))
    await call(1).answer(booking([], 0))
    await call(2).refuse(problem(401, 'unauthenticated'))
    expect(calls).toHaveLength(3)
    expect(notices[0]?.kind).toBe('refused')
  })

  it('keeps the key of a confirmation tried in vain', async () => {
    await hold('F7')
    const first = queue.confirm()
    for (let i = 0; i < 7; i++) await call(i).refuse(new NoAnswer('reset'))
    expect(await first).toBeNull()
    expect(notices[0]).toEqual({ kind: 'unreachable', wanted: 'confirm', seat: '' })
    const second = queue.confirm()
    await settle()
    expect(keyOf(7)).toBe(keyOf(0))
    const sold = booking(['F7'], 14, { state: 'confirmed', expires_at: null })
    await call(7).answer(sold)
    expect(await second).toEqual(sold)
    expect(queue.held).toBeNull()
  })
})

describe('confirm and release', () => {
  it('wait for the clicks before them, and take no clicks after them', async () => {
    await hold('F7')
    queue.toggle('F8')
    const done = queue.confirm()
    queue.toggle('F9')
    expect(calls.map((c) => c.name)).toEqual(['addSeats'])
    await call(0).answer(booking(['F7', 'F8'], 12))
    expect(call(1).name).toBe('confirm')
    await call(1).answer(booking(['F7', 'F8'], 14, { state: 'confirmed', expires_at: null }))
    expect((await done)?.seats).toEqual(['F7', 'F8'])
    expect(queue.closing).toBeNull()
  })

  it('don’t buy the rest when a seat that was wanted is gone', async () => {
    await hold('F7')
    queue.toggle('F8')
    const done = queue.confirm()
    await call(0).refuse(
      problem(409, 'seats-unavailable', { seats: [{ seat: 'F8', status: 'sold' }] }),
    )
    expect(await done).toBeNull()
    expect(calls).toHaveLength(1)
    expect(queue.closing).toBeNull()
  })

  it('take “confirmed already” for success', async () => {
    await hold('F7')
    const done = queue.confirm()
    await call(0).refuse(problem(409, 'booking-not-held', { state: 'confirmed' }))
    const sold = booking(['F7'], 14, { state: 'confirmed', expires_at: null })
    await call(1).answer(sold)
    expect(await done).toEqual(sold)
  })

  it('give everything back', async () => {
    await hold('F7', 'F8')
    const done = queue.release()
    await call(0).answer(booking([], 0))
    await done
    expect(queue.held).toBeNull()
    expect([...queue.givenBack.keys()]).toEqual(['F7', 'F8'])
  })

  it('are not cut short by the countdown: the server’s clock judges', async () => {
    await hold('F7')
    const done = queue.confirm()
    queue.expire()
    expect(queue.held).not.toBeNull()
    await call(0).refuse(problem(410, 'hold-expired'))
    expect(await done).toBeNull()
    expect(notices).toEqual([{ kind: 'expired', seats: ['F7'] }])
  })
})

describe('tidings from other tabs', () => {
  it('count when they are newer', async () => {
    await hold('F7')
    queue.adopt(booking(['F7', 'F8'], 12))
    expect(queue.held?.seats).toEqual(['F7', 'F8'])
    queue.adopt(booking(['F7'], 11))
    expect(queue.held?.seats).toEqual(['F7', 'F8'])
  })

  it('are passed over when they are of another showing, or of a booking that ended', async () => {
    queue.adopt(booking(['F7'], 12, { showing: 's2' }))
    expect(queue.held).toBeNull()
    await hold('F7')
    queue.adopt(booking([], 14, { state: 'released', expires_at: null }))
    queue.adopt(booking(['F7'], 13))
    expect(queue.held).toBeNull()
  })

  it('end the hold when it ran out, and say so once, whoever says it first', async () => {
    await hold('F7')
    queue.adopt(booking([], 11, { state: 'expired', expires_at: null }))
    queue.expire()
    expect(queue.held).toBeNull()
    expect(notices).toEqual([{ kind: 'expired', seats: ['F7'] }])
    await hold('F8')
    queue.adopt(booking(['F8'], 12, { id: 'b2' }))
    queue.expire()
    queue.adopt(booking([], 13, { id: 'b2', state: 'expired', expires_at: null }))
    expect(notices.slice(1)).toEqual([{ kind: 'expired', seats: ['F8'] }])
  })
})

describe('retryWait', () => {
  const most = () => 1

  it('waits as long as the server asks', () => {
    const busy = new ApiProblem(429, { type: '/problems/rate-limited' }, 2_000)
    expect(retryWait(busy, 0, most)).toBe(2_000)
    const down = new ApiProblem(503, { type: '/problems/unavailable' }, 1_000)
    expect(retryWait(down, 0, most)).toBe(1_000)
    expect(retryWait(down, 3, most)).toBe(3_200)
  })

  it('leaves a long wait to the person', () => {
    expect(retryWait(new ApiProblem(429, {}, 60_000), 0, most)).toBeNull()
  })

  it('doesn’t repeat what was judged', () => {
    for (const status of [400, 404, 409, 410, 422]) {
      expect(retryWait(new ApiProblem(status, {}), 0, most)).toBeNull()
    }
  })
})

describe('retryAfterMs', () => {
  it('reads seconds and dates', () => {
    expect(retryAfterMs('2')).toBe(2_000)
    expect(retryAfterMs(null)).toBeNull()
    expect(retryAfterMs('soon')).toBeNull()
    const now = Date.parse('2026-11-30T20:00:00Z')
    expect(retryAfterMs('Mon, 30 Nov 2026 20:00:05 GMT', now)).toBe(5_000)
  })
})
