import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Booking } from './api/types'
import { LiveClient, type Connection, type LiveSeats } from './live'

/** A line whose other end is the test. */
class Line {
  static all: Line[] = []
  static get last(): Line {
    const line = Line.all[Line.all.length - 1]
    if (!line) throw new Error('no line was opened')
    return line
  }

  readyState = 0
  sent: Record<string, unknown>[] = []
  closed = false
  onopen: (() => void) | null = null
  onmessage: ((event: { data: string }) => void) | null = null
  onclose: (() => void) | null = null

  constructor() {
    Line.all.push(this)
  }
  send(text: string): void {
    this.sent.push(JSON.parse(text) as Record<string, unknown>)
  }
  close(): void {
    this.closed = true
    this.readyState = 3
  }
  accept(): void {
    this.readyState = 1
    this.onopen?.()
  }
  say(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) })
  }
  fail(): void {
    this.readyState = 3
    this.onclose?.()
  }
}

const s1 = 'showing-1'
const snapshot = {
  type: 'snapshot',
  showing: s1,
  log: 'k3f9',
  seq: 41,
  stale: false,
  seats: { F7: 'available', F8: 'available', F9: 'sold' },
}

let random = 1
let connections: Connection[] = []
let bookings: Booking[] = []
let calls: { seq: number; stale: boolean; changed: string[]; whole: boolean }[] = []
let seats: LiveSeats
let client: LiveClient

beforeEach(() => {
  vi.useFakeTimers()
  vi.stubGlobal('WebSocket', { OPEN: 1 })
  Line.all = []
  random = 1
  connections = []
  bookings = []
  calls = []
  client = new LiveClient({
    url: 'ws://house/api/v1/live',
    onConnection: (connection) => connections.push(connection),
    onBooking: (booking) => bookings.push(booking),
    open: () => new Line() as unknown as WebSocket,
    random: () => random,
  })
})

afterEach(() => {
  client.stop()
  expect(vi.getTimerCount()).toBe(0)
  vi.useRealTimers()
  vi.unstubAllGlobals()
})

function begin(): Line {
  client.start()
  client.subscribe(s1, {
    onSeats: (now, changed, whole) => {
      seats = now
      calls.push({ seq: now.seq, stale: now.stale, changed, whole })
    },
  })
  Line.last.accept()
  return Line.last
}

function live(): Line {
  const line = begin()
  line.say(snapshot)
  return line
}

describe('a live map', () => {
  it('asks once the line is open, and takes the snapshot', () => {
    const line = live()
    expect(line.sent).toEqual([{ type: 'subscribe', showing: s1 }])
    expect(calls).toEqual([{ seq: 41, stale: false, changed: ['F7', 'F8', 'F9'], whole: true }])
    expect(connections).toEqual(['live'])
  })

  it('applies deltas in order and names only what differs', () => {
    const line = live()
    line.say({ type: 'delta', showing: s1, prev: 41, seq: 44, seats: { F7: 'held', F9: 'sold' } })
    line.say({ type: 'delta', showing: s1, prev: 44, seq: 45, seats: { F7: 'sold' } })
    expect(calls.slice(1)).toEqual([
      { seq: 44, stale: false, changed: ['F7'], whole: false },
      { seq: 45, stale: false, changed: ['F7'], whole: false },
    ])
    expect([...seats.seats]).toEqual([
      ['F7', 'sold'],
      ['F8', 'available'],
      ['F9', 'sold'],
    ])
  })

  it('asks again, once, when it missed something, and applies nothing before the answer', () => {
    const line = live()
    line.say({ type: 'delta', showing: s1, prev: 43, seq: 44, seats: { F8: 'held' } })
    line.say({ type: 'delta', showing: s1, prev: 44, seq: 45, seats: { F9: 'available' } })
    expect(line.sent.slice(1)).toEqual([{ type: 'subscribe', showing: s1, log: 'k3f9', since: 41 }])
    expect(seats.seats.get('F8')).toBe('available')
    line.say({
      type: 'delta',
      showing: s1,
      prev: 41,
      seq: 45,
      seats: { F8: 'held', F9: 'available' },
    })
    expect(seats.seq).toBe(45)
    expect(seats.seats.get('F8')).toBe('held')
    expect(line.sent).toHaveLength(2)
  })

  it('asks once more when that question was never answered', () => {
    const line = live()
    line.say({ type: 'delta', showing: s1, prev: 43, seq: 44, seats: {} })
    vi.advanceTimersByTime(5_000)
    line.say({ type: 'delta', showing: s1, prev: 44, seq: 45, seats: {} })
    expect(line.sent).toHaveLength(3)
  })

  it('passes over showings that it didn’t ask for, and what is no message', () => {
    const line = live()
    line.say({ ...snapshot, showing: 'another' })
    line.onmessage?.({ data: 'no json' })
    expect(calls).toHaveLength(1)
  })

  it('marks the map stale and not stale, by message, by snapshot and by the answer to a resume', () => {
    const line = live()
    line.say({ type: 'stale', showing: s1, stale: true })
    expect(calls.at(-1)).toEqual({ seq: 41, stale: true, changed: [], whole: false })
    line.say({ type: 'stale', showing: s1, stale: true })
    expect(calls).toHaveLength(2)
    line.say({ type: 'stale', showing: s1, stale: false })
    expect(seats.stale).toBe(false)
    line.say({ ...snapshot, seq: 50, stale: true })
    expect(seats.stale).toBe(true)
    // A delta that answers nothing leaves the mark alone; one that answers a resume takes it off.
    line.say({ type: 'delta', showing: s1, prev: 50, seq: 51, seats: {} })
    expect(seats.stale).toBe(true)
    line.fail()
    vi.advanceTimersByTime(1_000)
    Line.last.accept()
    Line.last.say({ type: 'delta', showing: s1, prev: 51, seq: 51, seats: {} })
    expect(seats.stale).toBe(false)
  })

  it('hands on refusals and bookings', () => {
    const refusals: string[] = []
    client.start()
    client.subscribe(s1, { onSeats: () => undefined, onRefused: (code) => refusals.push(code) })
    Line.last.accept()
    Line.last.say({ type: 'error', code: 'unknown-showing', showing: s1 })
    Line.last.say({ type: 'booking', booking: { id: 'b1' } })
    expect(refusals).toEqual(['unknown-showing'])
    expect(bookings).toEqual([{ id: 'b1' }])
  })

  it('ends a subscription', () => {
    client.start()
    const end = client.subscribe(s1, { onSeats: () => expect.unreachable() })
    Line.last.accept()
    end()
    Line.last.say(snapshot)
    expect(Line.last.sent.at(-1)).toEqual({ type: 'unsubscribe', showing: s1 })
  })
})

describe('a lost line', () => {
  it('comes back within the first second and resumes from where it was', () => {
    const line = live()
    line.fail()
    expect(connections).toEqual(['live', 'reconnecting'])
    vi.advanceTimersByTime(999)
    expect(Line.all).toHaveLength(1)
    vi.advanceTimersByTime(1)
    expect(Line.all).toHaveLength(2)
    Line.last.accept()
    expect(Line.last.sent).toEqual([{ type: 'subscribe', showing: s1, log: 'k3f9', since: 41 }])
    expect(connections).toEqual(['live', 'reconnecting', 'live'])
  })

  it('starts over from a snapshot of another log', () => {
    live().fail()
    vi.advanceTimersByTime(1_000)
    Line.last.accept()
    Line.last.say({ ...snapshot, log: 'z001', seq: 3, seats: { F7: 'available', F9: 'available' } })
    expect(seats).toMatchObject({ log: 'z001', seq: 3 })
    expect(calls.at(-1)?.changed).toEqual(['F9'])
    expect(seats.seats.has('F8')).toBe(false)
  })

  it('waits by full jitter: 1 s, then half as much again each time', () => {
    live()
    const waits = [1_000, 1_500, 2_250, 3_375]
    for (const wait of waits) {
      const before = Line.all.length
      Line.last.fail()
      vi.advanceTimersByTime(wait - 1)
      expect(Line.all).toHaveLength(before)
      vi.advanceTimersByTime(1)
      expect(Line.all).toHaveLength(before + 1)
    }
    random = 0
    Line.last.fail()
    vi.advanceTimersByTime(0)
    expect(Line.all).toHaveLength(6)
  })

  it('says offline after five failures in a row, goes on trying, and tries at once when told to', () => {
    live()
    random = 0
    for (let failure = 1; failure <= 6; failure++) {
      Line.last.fail()
      expect(connections.at(-1)).toBe(failure < 5 ? 'reconnecting' : 'offline')
      vi.advanceTimersByTime(0)
      expect(Line.all).toHaveLength(failure + 1)
    }
    random = 1
    Line.last.fail()
    const before = Line.all.length
    client.retryNow()
    expect(Line.all).toHaveLength(before + 1)
    expect(connections.at(-1)).toBe('reconnecting')
    Line.last.accept()
    expect(connections.at(-1)).toBe('live')
  })

  it('counts failures in a row across lines that open and say nothing', () => {
    random = 0
    client.start()
    for (let failure = 1; failure <= 5; failure++) {
      Line.last.accept()
      Line.last.fail()
      vi.advanceTimersByTime(0)
    }
    expect(connections.at(-1)).toBe('offline')
  })

  it('gives up on a line that doesn’t open within 10 s', () => {
    client.start()
    vi.advanceTimersByTime(10_000)
    expect(Line.all[0]?.closed).toBe(true)
    expect(connections).toEqual(['reconnecting'])
  })

  it('comes back when a goodbye says so, and doesn’t count that as a failure', () => {
    for (let restart = 0; restart < 6; restart++) {
      const line = restart === 0 ? live() : Line.last
      line.say({ type: 'bye', reason: 'draining', retry_after_ms: 1_800 })
      line.fail()
      expect(connections.at(-1)).toBe('reconnecting')
      vi.advanceTimersByTime(1_799)
      expect(Line.last).toBe(line)
      vi.advanceTimersByTime(1)
      expect(Line.last).not.toBe(line)
      Line.last.accept()
    }
  })

  it('pings every 30 s and takes 60 s of silence for a dead line', () => {
    const line = live()
    vi.advanceTimersByTime(30_000)
    expect(line.sent.at(-1)).toEqual({ type: 'ping' })
    line.say({ type: 'pong' })
    vi.advanceTimersByTime(59_999)
    expect(line.closed).toBe(false)
    vi.advanceTimersByTime(1)
    expect(line.closed).toBe(true)
    expect(connections.at(-1)).toBe('reconnecting')
  })

  it('asks before it believes in silence when its timers stood still', () => {
    const line = live()
    // A hidden page: the clock went on by 70 s, and no timer ran.
    vi.setSystemTime(Date.now() + 70_000)
    client.check()
    expect(line.closed).toBe(false)
    expect(line.sent.at(-1)).toEqual({ type: 'ping' })
    line.say({ type: 'pong' })
    vi.advanceTimersByTime(30_000)
    expect(line.closed).toBe(false)
  })

  it('believes the browser that has no network, and comes back at once with it', () => {
    random = 0.9
    const line = live()
    client.lostNetwork()
    expect(line.closed).toBe(true)
    expect(connections.at(-1)).toBe('offline')
    client.retryNow()
    Line.last.accept()
    expect(Line.last.sent[0]).toMatchObject({ since: 41 })
    expect(connections.at(-1)).toBe('live')
  })

  it('changes lines for a new session without a word to the reader', () => {
    const line = live()
    client.renew()
    expect(line.closed).toBe(true)
    Line.last.accept()
    expect(Line.last.sent).toEqual([{ type: 'subscribe', showing: s1, log: 'k3f9', since: 41 }])
    expect(connections).toEqual(['live'])
  })
})
