import { reconnectDelay } from './backoff'
import type { Booking, SeatStatus } from './api/types'

/** How the page stands with the house. */
export type Connection = 'connecting' | 'live' | 'reconnecting' | 'offline'

/** A showing's seats, as of seq. log and seq are null until the first snapshot. */
export interface LiveSeats {
  log: string | null
  seq: number
  /** The server itself is cut off from the log: what it shows may be old. */
  stale: boolean
  readonly seats: Map<string, SeatStatus>
}

export interface RoomListener {
  /** changed names the seats that differ from before; whole: a snapshot replaced everything. */
  onSeats(seats: LiveSeats, changed: string[], whole: boolean): void
  onRefused?(code: string): void
}

export interface LiveOptions {
  url: string
  onConnection(connection: Connection): void
  /** One of this session's own bookings changed, here or on another device. */
  onBooking(booking: Booking): void
  /** The session ended elsewhere; the line comes back without it. */
  onSessionEnded?(): void
  /** Opens a socket; the tests bring their own. */
  open?(url: string): WebSocket
  random?(): number
}

interface Room extends LiveSeats {
  listener: RoomListener
  /** When the unanswered subscribe was sent; null when none is out. */
  askedAt: number | null
}

type ServerMessage =
  | {
      type: 'snapshot'
      showing: string
      log: string
      seq: number
      stale: boolean
      seats: Record<string, SeatStatus>
    }
  | {
      type: 'delta'
      showing: string
      prev: number
      seq: number
      seats: Record<string, SeatStatus>
    }
  | { type: 'stale'; showing: string; stale: boolean }
  | { type: 'booking'; booking: Booking }
  | { type: 'pong' }
  | { type: 'error'; code: string; showing?: string; detail?: string }
  | { type: 'bye'; reason: string; retry_after_ms?: number }

const pingEveryMs = 30_000
const silenceMs = 60_000
const connectMs = 10_000
const askAgainMs = 5_000
const failuresUntilOffline = 5

/**
 * LiveClient keeps the seats of the showings it is subscribed to as the house has them: it
 * applies snapshots and deltas in order, asks again when it sees that it missed something, and
 * comes back by itself when the line is lost, resuming from where it was.
 */
export class LiveClient {
  private readonly rooms = new Map<string, Room>()
  private socket: WebSocket | null = null
  private connection: Connection = 'connecting'
  private running = false
  private failures = 0
  /** The server's own word on when to come back, from its goodbye. */
  private comeBackMs: number | null = null
  private heardAt = 0
  private pingAt = 0
  private retryTimer: ReturnType<typeof setTimeout> | undefined
  private connectTimer: ReturnType<typeof setTimeout> | undefined
  private silenceTimer: ReturnType<typeof setTimeout> | undefined
  private pingTimer: ReturnType<typeof setInterval> | undefined

  constructor(private readonly options: LiveOptions) {}

  start(): void {
    if (this.running) return
    this.running = true
    this.connect()
  }

  stop(): void {
    this.running = false
    this.drop()
    this.rooms.clear()
  }

  /** Connects at once: the button was pressed, or the browser says it is online again. */
  retryNow(): void {
    if (!this.running || this.socket?.readyState === WebSocket.OPEN) return
    this.drop()
    this.failures = 0
    this.setConnection('reconnecting')
    this.connect()
  }

  /** The browser says that it has no network: no use in waiting for silence to prove it. */
  lostNetwork(): void {
    if (!this.running) return
    this.drop()
    this.failures = failuresUntilOffline
    this.setConnection('offline')
    this.retryLater()
  }

  /** Opens a new line in place of this one, quietly: a session began, and a line knows only the
   * session that it was opened with. */
  renew(): void {
    if (!this.running) return
    this.drop()
    this.connect()
  }

  /** The page was asleep: timers stood still, so look at the clock now. */
  check(): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.onSilence()
  }

  /** Subscribes to a showing, one listener each; the result ends it. */
  subscribe(showing: string, listener: RoomListener): () => void {
    const room: Room = {
      log: null,
      seq: 0,
      stale: false,
      seats: new Map(),
      listener,
      askedAt: null,
    }
    this.rooms.set(showing, room)
    this.ask(showing, room)
    return () => {
      if (this.rooms.get(showing) !== room) return
      this.rooms.delete(showing)
      this.send({ type: 'unsubscribe', showing })
    }
  }

  private connect(): void {
    clearTimeout(this.retryTimer)
    this.comeBackMs = null
    let socket: WebSocket
    try {
      socket = this.options.open?.(this.options.url) ?? new WebSocket(this.options.url, 'aisle.v1')
    } catch {
      this.onLost()
      return
    }
    this.socket = socket
    this.connectTimer = setTimeout(() => this.onLost(), connectMs)
    socket.onopen = () => this.onOpen()
    socket.onmessage = (event: MessageEvent) => this.onFrame(event.data)
    socket.onclose = () => this.onLost()
  }

  private onOpen(): void {
    clearTimeout(this.connectTimer)
    this.heardAt = Date.now()
    this.pingAt = 0
    this.pingTimer = setInterval(() => this.ping(), pingEveryMs)
    this.silenceTimer = setTimeout(() => this.onSilence(), silenceMs)
    this.setConnection('live')
    for (const [showing, room] of this.rooms) this.ask(showing, room)
  }

  private ping(): void {
    this.pingAt = Date.now()
    this.send({ type: 'ping' })
  }

  /** A hidden page's timers run late, so silence only counts while a ping is unanswered. */
  private onSilence(): void {
    clearTimeout(this.silenceTimer)
    const left = silenceMs - (Date.now() - this.heardAt)
    if (left > 0) {
      this.silenceTimer = setTimeout(() => this.onSilence(), left)
      return
    }
    if (this.pingAt >= this.heardAt) {
      this.onLost()
      return
    }
    this.ping()
    this.silenceTimer = setTimeout(() => this.onSilence(), pingEveryMs)
  }

  private onLost(): void {
    const comeBackMs = this.comeBackMs
    this.drop()
    if (!this.running) return
    if (comeBackMs === null) this.failures++
    this.setConnection(this.failures >= failuresUntilOffline ? 'offline' : 'reconnecting')
    this.retryLater(comeBackMs ?? undefined)
  }

  private retryLater(afterMs?: number): void {
    const waitMs = afterMs ?? reconnectDelay(Math.max(0, this.failures - 1), this.options.random)
    this.retryTimer = setTimeout(() => this.connect(), waitMs)
  }

  /** Ends the line and every timer of it, and hears no more of it. */
  private drop(): void {
    clearTimeout(this.retryTimer)
    clearTimeout(this.connectTimer)
    clearTimeout(this.silenceTimer)
    clearInterval(this.pingTimer)
    const socket = this.socket
    this.socket = null
    for (const room of this.rooms.values()) room.askedAt = null
    if (!socket) return
    socket.onopen = socket.onmessage = socket.onclose = null
    socket.close()
  }

  private setConnection(connection: Connection): void {
    if (connection === this.connection) return
    this.connection = connection
    this.options.onConnection(connection)
  }

  private send(message: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message))
  }

  private ask(showing: string, room: Room): void {
    if (this.socket?.readyState !== WebSocket.OPEN) return
    room.askedAt = Date.now()
    const resume = room.log === null ? {} : { log: room.log, since: room.seq }
    this.send({ type: 'subscribe', showing, ...resume })
  }

  private onFrame(data: unknown): void {
    this.heardAt = Date.now()
    let message: ServerMessage
    try {
      message = JSON.parse(String(data)) as ServerMessage
    } catch {
      return
    }
    // A line that opens and says nothing doesn't end a row of failures; one that speaks does.
    if (message.type !== 'bye') this.failures = 0
    this.onMessage(message)
  }

  private onMessage(message: ServerMessage): void {
    switch (message.type) {
      case 'snapshot':
        return this.onSnapshot(message)
      case 'delta':
        return this.onDelta(message)
      case 'stale':
        return this.onStale(message.showing, message.stale)
      case 'booking':
        return this.options.onBooking(message.booking)
      case 'error':
        if (message.showing) this.rooms.get(message.showing)?.listener.onRefused?.(message.code)
        return
      case 'bye':
        this.comeBackMs = message.retry_after_ms ?? null
        if (message.reason === 'session-ended') this.options.onSessionEnded?.()
        return
      case 'pong':
    }
  }

  private onSnapshot(message: ServerMessage & { type: 'snapshot' }): void {
    const room = this.rooms.get(message.showing)
    if (!room) return
    const before = new Map(room.seats)
    room.askedAt = null
    room.log = message.log
    room.seq = message.seq
    room.stale = message.stale
    room.seats.clear()
    const changed: string[] = []
    for (const [seat, status] of Object.entries(message.seats)) {
      room.seats.set(seat, status)
      if (before.get(seat) !== status) changed.push(seat)
    }
    room.listener.onSeats(room, changed, true)
  }

  private onDelta(message: ServerMessage & { type: 'delta' }): void {
    const room = this.rooms.get(message.showing)
    if (!room) return
    if (room.log === null || message.prev !== room.seq) return this.onGap(message.showing, room)
    // The delta that answers a resume says by itself that the map isn't stale.
    if (room.askedAt !== null) room.stale = false
    room.askedAt = null
    room.seq = message.seq
    const changed: string[] = []
    for (const [seat, status] of Object.entries(message.seats)) {
      if (room.seats.get(seat) === status) continue
      room.seats.set(seat, status)
      changed.push(seat)
    }
    room.listener.onSeats(room, changed, false)
  }

  /** Something was missed. Deltas already under way show the same gap: one question is enough. */
  private onGap(showing: string, room: Room): void {
    if (room.askedAt !== null && Date.now() - room.askedAt < askAgainMs) return
    this.ask(showing, room)
  }

  private onStale(showing: string, stale: boolean): void {
    const room = this.rooms.get(showing)
    if (!room || room.stale === stale) return
    room.stale = stale
    room.listener.onSeats(room, [], false)
  }
}
