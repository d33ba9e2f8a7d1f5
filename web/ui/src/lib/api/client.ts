import type { Booking, Layout, Problem, Showing } from './types'

const base = '/api/v1'
const timeoutMs = 10_000

/** The server answered, and the answer was no. */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
    /** What Retry-After asked for, in milliseconds; null when it asked for nothing. */
    readonly retryAfterMs: number | null = null,
  ) {
    super(problem.detail ?? problem.title ?? `HTTP ${status}`)
    this.name = 'ApiProblem'
  }

  /** The last part of the problem's type: "seats-unavailable". */
  get slug(): string {
    return this.problem.type?.split('/').pop() ?? ''
  }
}

/** No answer came: the line, the server or our patience ended first. The outcome is unknown. */
export class NoAnswer extends Error {
  constructor(cause: unknown) {
    super('no answer from the server', { cause })
    this.name = 'NoAnswer'
  }
}

interface Call {
  body?: unknown
  key?: string
}

async function call<T>(method: string, path: string, { body, key }: Call = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json, application/problem+json' }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  if (key !== undefined) headers['Idempotency-Key'] = key
  let response: Response
  let text: string
  try {
    response = await fetch(base + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: 'same-origin',
      signal: AbortSignal.timeout(timeoutMs),
    })
    text = await response.text()
  } catch (cause) {
    throw new NoAnswer(cause)
  }
  if (!response.ok) throw problemOf(response, text)
  if (text === '') return undefined as T
  try {
    return JSON.parse(text) as T
  } catch (cause) {
    throw new NoAnswer(cause)
  }
}

function problemOf(response: Response, text: string): ApiProblem {
  let problem: Partial<Problem> = {}
  try {
    problem = JSON.parse(text) as Partial<Problem>
  } catch {
    // A proxy on the way may answer with its own page: the status alone has to do.
  }
  return new ApiProblem(response.status, problem, retryAfterMs(response.headers.get('Retry-After')))
}

/** Retry-After is seconds, or a date. */
export function retryAfterMs(header: string | null, now = Date.now()): number | null {
  if (header === null || header.trim() === '') return null
  const seconds = Number(header)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000)
  const at = Date.parse(header)
  return Number.isNaN(at) ? null : Math.max(0, at - now)
}

/** A fresh Idempotency-Key. crypto.randomUUID is missing where a page is served without TLS. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

const part = encodeURIComponent

/** The calls of the contract, one to one. */
export const api = {
  startSession: () => call<unknown>('POST', '/sessions'),
  showings: async () => (await call<{ showings: Showing[] }>('GET', '/showings')).showings,
  showing: (id: string) => call<Showing>('GET', `/showings/${part(id)}`),
  layout: (id: string) => call<Layout>('GET', `/showings/${part(id)}/layout`),
  booking: (id: string) => call<Booking>('GET', `/bookings/${part(id)}`),
  bookings: async () => (await call<{ bookings: Booking[] }>('GET', '/bookings')).bookings,
  hold: (showing: string, seats: string[], key: string) =>
    call<Booking>('POST', `/showings/${part(showing)}/bookings`, { body: { seats }, key }),
  addSeats: (booking: string, seats: string[], key: string) =>
    call<Booking>('POST', `/bookings/${part(booking)}/seats`, { body: { seats }, key }),
  giveBack: (booking: string, seat: string, key: string) =>
    call<Booking>('DELETE', `/bookings/${part(booking)}/seats/${part(seat)}`, { key }),
  confirm: (booking: string, key: string) =>
    call<Booking>('POST', `/bookings/${part(booking)}/confirm`, { key }),
  release: (booking: string, key: string) =>
    call<undefined>('DELETE', `/bookings/${part(booking)}`, { key }),
}

export type Api = typeof api
