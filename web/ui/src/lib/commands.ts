import { ApiProblem, NoAnswer, newKey, type Api } from './api/client'
import type { Booking } from './api/types'
import { retryDelay } from './backoff'

/** What the person should hear of. */
export type Notice =
  | { kind: 'taken'; seats: string[]; kept: string[] }
  | { kind: 'expired'; seats: string[] }
  | { kind: 'too-many'; seat: string }
  | { kind: 'sales-closed' }
  | { kind: 'busy'; seats: string[] }
  | { kind: 'unreachable'; wanted: 'take' | 'give' | 'confirm' | 'release'; seat: string }
  | { kind: 'refused'; detail: string }

/** The calls that a booking needs. */
export type BookingApi = Pick<
  Api,
  'startSession' | 'booking' | 'hold' | 'addSeats' | 'giveBack' | 'confirm' | 'release'
>

export interface QueueOptions {
  showing: string
  api: BookingApi
  /** Something that is shown may have changed. */
  onChange(): void
  onNotice(notice: Notice): void
  onSessionStarted(): void
  /** Waits between tries; the tests don't. */
  wait?(ms: number): Promise<void>
}

type Command =
  | { kind: 'take' | 'give'; seat: string; key: string }
  | { kind: 'confirm' | 'release'; key: string }

const mostTries = 7
/** A Retry-After beyond this is for the person to wait out, not for the page. */
const longestPolitenessMs = 15_000

/**
 * BookingQueue carries one person's clicks at one showing to the server: one after another, each
 * with its own Idempotency-Key, sent again under the same key while the outcome isn't known. The
 * page shows a click's effect at once (pending); what the server refuses is taken back.
 */
export class BookingQueue {
  /** The booking as last heard of, while it is held. */
  held: Booking | null = null
  readonly pending = new Map<string, 'take' | 'give'>()
  /** Seats given back, and the seq at which the house knows. */
  readonly givenBack = new Map<string, number>()
  /** Confirm or release is on its way: clicks wait for its end. */
  closing: 'confirm' | 'release' | null = null
  /** A command is being tried again. */
  retrying = false
  private readonly queue: Command[] = []
  private running = false
  private runs: Promise<void> = Promise.resolve()
  /** What the last confirmation came to. */
  private confirmed: Booking | null = null
  /** Bookings that ended: late tidings don't bring them back. */
  private readonly over = new Set<string>()
  /** A confirmation tried in vain keeps its key: it may have worked. */
  private confirmKey: { booking: string; key: string } | null = null

  constructor(private readonly options: QueueOptions) {}

  /** Takes a seat, or gives it back if it is this person's. */
  toggle(seat: string): void {
    if (this.closing) return
    const mine =
      this.pending.get(seat) === 'take' ||
      (this.pending.get(seat) !== 'give' && this.held?.seats.includes(seat) === true)
    this.enqueue(mine ? 'give' : 'take', seat)
  }

  /** Buys what is held. The result is the confirmed booking, or null when it didn't come to that. */
  async confirm(): Promise<Booking | null> {
    if (this.closing) return null
    this.closing = 'confirm'
    const key =
      this.confirmKey?.booking === this.held?.id && this.confirmKey ? this.confirmKey.key : newKey()
    this.queue.push({ kind: 'confirm', key })
    await this.run()
    const last = this.confirmed
    this.confirmed = null
    return last
  }

  /** Gives everything back. */
  async release(): Promise<void> {
    if (this.closing) return
    this.closing = 'release'
    this.queue.push({ kind: 'release', key: newKey() })
    await this.run()
  }

  /**
   * Takes in the booking as the server tells it: an answer, a message for another tab's click, or
   * what was there when the page was opened. Older tidings than the present ones are passed over.
   */
  adopt(booking: Booking): void {
    if (booking.showing !== this.options.showing) return
    const current = this.held
    if (current?.id === booking.id && booking.seq < current.seq) return
    if (booking.state === 'expired' && current?.id === booking.id) {
      this.loseHold()
      return
    }
    if (booking.state !== 'held') {
      this.over.add(booking.id)
      if (current?.id === booking.id) this.drop(booking.state === 'confirmed' ? null : booking.seq)
      this.options.onChange()
      return
    }
    if (this.over.has(booking.id)) return
    for (const seat of current?.seats ?? []) {
      if (!booking.seats.includes(seat)) this.givenBack.set(seat, booking.seq)
    }
    for (const seat of booking.seats) this.givenBack.delete(seat)
    this.held = booking
    this.options.onChange()
  }

  /** The countdown ran out. A confirmation under way is judged by the server's clock, not ours. */
  expire(): void {
    if (!this.held || this.closing === 'confirm') return
    this.loseHold()
  }

  /** The session is gone, and with it what it held. */
  forget(): void {
    this.drop(null)
    this.options.onChange()
  }

  /** The map has come this far: what it says about seats given back up to there is right. */
  settle(mapSeq: number): void {
    for (const [seat, seq] of this.givenBack) if (mapSeq >= seq) this.givenBack.delete(seat)
  }

  private enqueue(kind: 'take' | 'give', seat: string): void {
    // The opposite click, not sent yet, undoes this one: neither needs to go anywhere.
    const opposite = this.queue.findIndex((command, i) => {
      const sent = this.running && i === 0
      return !sent && 'seat' in command && command.seat === seat && command.kind !== kind
    })
    if (opposite >= 0) {
      this.queue.splice(opposite, 1)
      this.repaint(seat)
    } else {
      this.queue.push({ kind, seat, key: newKey() })
      this.pending.set(seat, kind)
    }
    this.options.onChange()
    void this.run()
  }

  private repaint(seat: string): void {
    const waiting = this.queue.findLast((command) => 'seat' in command && command.seat === seat)
    if (waiting && 'seat' in waiting) this.pending.set(seat, waiting.kind)
    else this.pending.delete(seat)
  }

  /** Sends what is queued; whoever calls while that goes on waits for its end. */
  private run(): Promise<void> {
    if (!this.running) {
      this.running = true
      this.runs = this.drain()
    }
    return this.runs
  }

  private async drain(): Promise<void> {
    for (let command = this.queue[0]; command; command = this.queue[0]) {
      await this.carry(command)
      const at = this.queue.indexOf(command)
      if (at >= 0) this.queue.splice(at, 1)
      if ('seat' in command) this.repaint(command.seat)
      else this.closing = null
      this.options.onChange()
    }
    this.running = false
  }

  private async carry(command: Command): Promise<void> {
    try {
      await this.attempt(command)
    } catch (problem) {
      await this.onProblem(command, problem)
    }
  }

  private async attempt(command: Command): Promise<void> {
    const booking = this.held
    switch (command.kind) {
      case 'take':
        return this.adopt(await this.take(command.seat, command.key))
      case 'give': {
        // The hold may have ended while the click waited: then there is nothing to give back.
        if (!booking?.seats.includes(command.seat)) return
        const { seat, key } = command
        return this.adopt(
          await this.persist(() => this.options.api.giveBack(booking.id, seat, key)),
        )
      }
      case 'confirm': {
        if (!booking) return
        this.confirmKey = { booking: booking.id, key: command.key }
        const sold = await this.persist(() => this.options.api.confirm(booking.id, command.key))
        this.confirmed = sold
        return this.adopt(sold)
      }
      case 'release':
        if (!booking) return
        await this.persist(() => this.options.api.release(booking.id, command.key))
        this.drop(booking.seq + 1)
    }
  }

  private async take(seat: string, key: string): Promise<Booking> {
    const { api, showing } = this.options
    const booking = this.held
    if (booking) return this.persist(() => api.addSeats(booking.id, [seat], key))
    try {
      return await this.persist(() => api.hold(showing, [seat], key))
    } catch (problem) {
      const other = problem instanceof ApiProblem ? problem.problem.booking : undefined
      if (!other) throw problem
      // Another tab was first: its booking is this person's too, so the seat goes there. That is
      // another route, and so another key.
      this.over.delete(other.id)
      this.adopt(other)
      const second = newKey()
      return this.persist(() => api.addSeats(other.id, [seat], second))
    }
  }

  /** Calls until there is an answer that settles the matter, or patience ends. */
  private async persist<T>(attempt: () => Promise<T>): Promise<T> {
    let sessions = 0
    try {
      for (let tries = 0; ; tries++) {
        try {
          return await attempt()
        } catch (problem) {
          if (problem instanceof ApiProblem && problem.status === 401 && sessions++ === 0) {
            await this.persist(() => this.options.api.startSession())
            this.options.onSessionStarted()
            continue
          }
          const waitMs = retryWait(problem, tries)
          if (waitMs === null || tries + 1 >= mostTries) throw problem
          this.retrying = true
          this.options.onChange()
          await (this.options.wait ?? sleep)(waitMs)
        }
      }
    } finally {
      this.retrying = false
    }
  }

  private async onProblem(command: Command, problem: unknown): Promise<void> {
    const seat = 'seat' in command ? command.seat : ''
    if (command.kind === 'take') this.cancelClosing()
    if (!(problem instanceof ApiProblem)) {
      return this.options.onNotice({ kind: 'unreachable', wanted: command.kind, seat })
    }
    switch (problem.slug) {
      case 'seats-unavailable': {
        const seats = problem.problem.seats?.map((taken) => taken.seat) ?? [seat]
        return this.options.onNotice({ kind: 'taken', seats, kept: this.held?.seats ?? [] })
      }
      case 'hold-expired':
        return this.loseHold()
      case 'booking-not-held':
      case 'not-found':
        return this.reload()
      case 'too-many-seats':
        return this.options.onNotice({ kind: 'too-many', seat })
      case 'sales-closed':
        return this.options.onNotice({ kind: 'sales-closed' })
      case 'rate-limited':
        return this.options.onNotice({ kind: 'busy', seats: this.held?.seats ?? [] })
    }
    if (problem.status >= 500 || problem.slug === 'request-in-flight') {
      return this.options.onNotice({ kind: 'unreachable', wanted: command.kind, seat })
    }
    this.options.onNotice({ kind: 'refused', detail: problem.message })
  }

  /** A seat that was wanted isn't to be had: nobody agreed to buy the rest without it. */
  private cancelClosing(): void {
    const at = this.queue.findIndex((command) => command.kind === 'confirm')
    if (at < 0) return
    this.queue.splice(at, 1)
    this.closing = null
  }

  /** The booking isn't what this page thought it was: look. */
  private async reload(): Promise<void> {
    const booking = this.held
    if (!booking) return
    try {
      const fresh = await this.persist(() => this.options.api.booking(booking.id))
      if (fresh.state === 'confirmed') this.confirmed = fresh
      if (fresh.state === 'expired') return this.loseHold()
      this.adopt(fresh)
    } catch {
      this.drop(null)
    }
  }

  /** The time ran out. Whoever tells it first is heard: our clock, a message, or a refusal. */
  private loseHold(): void {
    if (!this.held) return
    const { seats, seq } = this.held
    // Clicks that still wait were meant for that hold: half of a party is no use to anyone.
    const sent = this.running ? 1 : 0
    for (const command of this.queue.splice(sent)) {
      if ('seat' in command) this.pending.delete(command.seat)
      else this.closing = null
    }
    this.drop(seq + 1)
    this.options.onNotice({ kind: 'expired', seats })
    this.options.onChange()
  }

  /** The hold is over; its seats are free for the house from freeFrom on (null: they are not). */
  private drop(freeFrom: number | null): void {
    for (const seat of this.held?.seats ?? []) {
      if (freeFrom !== null) this.givenBack.set(seat, freeFrom)
    }
    if (this.held) this.over.add(this.held.id)
    this.held = null
  }
}

/** How long to wait before the same command goes out again; null when it should not. */
export function retryWait(
  problem: unknown,
  tries: number,
  random: () => number = Math.random,
): number | null {
  if (problem instanceof NoAnswer) return retryDelay(tries, random)
  if (!(problem instanceof ApiProblem)) return null
  const asked = problem.retryAfterMs ?? 0
  if (problem.status === 429) {
    return asked > longestPolitenessMs ? null : Math.max(asked, retryDelay(tries, random))
  }
  const passing = [502, 503, 504].includes(problem.status) || problem.slug === 'request-in-flight'
  if (!passing) return null
  return Math.max(Math.min(asked, longestPolitenessMs), retryDelay(tries, random))
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
