import { describe, expect, it } from 'vitest'
import { reconnectDelay, retryDelay } from './backoff'

describe('reconnectDelay', () => {
  it('grows by half from 1 s to 30 s', () => {
    const most = () => 1
    expect(reconnectDelay(0, most)).toBe(1_000)
    expect(reconnectDelay(1, most)).toBe(1_500)
    expect(reconnectDelay(2, most)).toBe(2_250)
    expect(reconnectDelay(8, most)).toBeCloseTo(25_628.9, 1)
    expect(reconnectDelay(9, most)).toBe(30_000)
    expect(reconnectDelay(500, most)).toBe(30_000)
  })

  it('has full jitter: all of the wait is by chance', () => {
    expect(reconnectDelay(5, () => 0)).toBe(0)
    expect(reconnectDelay(0, () => 0.25)).toBe(250)
    expect(reconnectDelay(20, () => 0.5)).toBe(15_000)
  })
})

describe('retryDelay', () => {
  it('doubles from 400 ms to 6 s, at least half of it', () => {
    expect(retryDelay(0, () => 1)).toBe(400)
    expect(retryDelay(0, () => 0)).toBe(200)
    expect(retryDelay(3, () => 1)).toBe(3_200)
    expect(retryDelay(9, () => 1)).toBe(6_000)
    expect(retryDelay(9, () => 0)).toBe(3_000)
  })
})
