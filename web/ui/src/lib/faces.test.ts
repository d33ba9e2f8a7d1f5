import { describe, expect, it } from 'vitest'
import type { Booking } from './api/types'
import { faceOf, type Own } from './faces'

const booking: Booking = {
  id: 'b1',
  showing: 's1',
  state: 'held',
  seats: ['F7', 'F8'],
  expires_at: '2026-11-30T20:10:00Z',
  now: '2026-11-30T20:00:00Z',
  seq: 12,
  total: { amount: 2500, currency: 'EUR' },
}

function own(parts: Partial<Own> = {}): Own {
  return { held: null, pending: new Map(), givenBack: new Map(), confirmed: [], ...parts }
}

describe('faceOf', () => {
  it('shows what the house says of seats that are nobody’s here', () => {
    expect(faceOf('F7', 'available', 10, own())).toBe('available')
    expect(faceOf('F7', 'sold', 10, own())).toBe('sold')
    expect(faceOf('F7', 'blocked', 10, own())).toBe('blocked')
  })

  it('lays one’s booking over a map that lags behind it', () => {
    expect(faceOf('F7', 'available', 11, own({ held: booking }))).toBe('mine')
    expect(faceOf('F7', 'held', 12, own({ held: booking }))).toBe('mine')
    expect(faceOf('F7', 'held', 40, own({ held: booking }))).toBe('mine')
    expect(faceOf('F9', 'held', 11, own({ held: booking }))).toBe('held')
  })

  it('believes a map that has reached the booking', () => {
    expect(faceOf('F7', 'available', 12, own({ held: booking }))).toBe('available')
    expect(faceOf('F7', 'sold', 13, own({ held: booking }))).toBe('sold')
  })

  it('shows a click at once', () => {
    const pending = new Map([
      ['F9', 'take' as const],
      ['F7', 'give' as const],
    ])
    expect(faceOf('F9', 'available', 12, own({ held: booking, pending }))).toBe('mine')
    expect(faceOf('F7', 'held', 12, own({ held: booking, pending }))).toBe('available')
  })

  it('frees a seat given back before the map knows, unless someone took it since', () => {
    const givenBack = new Map([['F9', 14]])
    expect(faceOf('F9', 'held', 13, own({ givenBack }))).toBe('available')
    expect(faceOf('F9', 'held', 14, own({ givenBack }))).toBe('held')
    expect(faceOf('F9', 'sold', 13, own({ givenBack }))).toBe('sold')
  })

  it('tells one’s own sold seats from others’', () => {
    const confirmed = [{ ...booking, state: 'confirmed' as const, seq: 20 }]
    expect(faceOf('F7', 'held', 19, own({ confirmed }))).toBe('bought')
    expect(faceOf('F7', 'sold', 25, own({ confirmed }))).toBe('bought')
    expect(faceOf('F7', 'available', 25, own({ confirmed }))).toBe('available')
    expect(faceOf('A1', 'sold', 25, own({ confirmed }))).toBe('sold')
  })
})
