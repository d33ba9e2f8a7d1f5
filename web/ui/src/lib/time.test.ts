import { describe, expect, it } from 'vitest'
import {
  businessDate,
  daysAhead,
  formatDay,
  formatLeft,
  formatTime,
  isAfterMidnight,
  minuteToSpeak,
} from './time'

describe('the cinema’s clock', () => {
  it('shows times in the cinema’s zone, whatever the viewer’s is', () => {
    expect(formatTime('2026-12-01T19:15:00Z', 'Europe/Zurich', 'en-GB')).toBe('20:15')
    expect(formatTime('2026-12-01T19:15:00Z', 'Asia/Shanghai', 'zh-CN')).toBe('03:15')
    expect(formatTime('2026-11-30T23:00:00Z', 'Europe/Zurich', 'en-GB')).toBe('00:00')
  })

  it('uses the offset of the showing’s own date, on both sides of the autumn change', () => {
    expect(formatTime('2026-10-24T18:00:00Z', 'Europe/Berlin', 'en-GB')).toBe('20:00')
    expect(formatTime('2026-10-25T19:00:00Z', 'Europe/Berlin', 'en-GB')).toBe('20:00')
  })

  it('counts a late show to the evening before', () => {
    // 00:30 on Tuesday in Zurich belongs to Monday's programme.
    expect(businessDate('2026-11-30T23:30:00Z', 'Europe/Zurich')).toBe('2026-11-30')
    expect(isAfterMidnight('2026-11-30T23:30:00Z', 'Europe/Zurich')).toBe(true)
    expect(businessDate('2026-12-01T04:30:00Z', 'Europe/Zurich')).toBe('2026-12-01')
    expect(businessDate('2026-11-30T19:15:00Z', 'Europe/Zurich')).toBe('2026-11-30')
    expect(isAfterMidnight('2026-11-30T19:15:00Z', 'Europe/Zurich')).toBe(false)
    // New Year's night.
    expect(businessDate('2026-12-31T23:30:00Z', 'Europe/Zurich')).toBe('2026-12-31')
  })

  it('names days in both languages', () => {
    expect(formatDay('2026-11-30', 'en-GB')).toBe('Monday 30 November')
    expect(formatDay('2026-11-30', 'zh-CN')).toBe('11月30日星期一')
  })

  it('knows today by the cinema’s day', () => {
    const lateEvening = new Date('2026-11-30T23:30:00Z')
    expect(daysAhead('2026-11-30', 'Europe/Zurich', lateEvening)).toBe(0)
    expect(daysAhead('2026-12-01', 'Europe/Zurich', lateEvening)).toBe(1)
    expect(daysAhead('2026-12-01', 'Asia/Tokyo', lateEvening)).toBe(0)
  })
})

describe('the countdown', () => {
  it('shows minutes and seconds, and never less than nothing', () => {
    expect(formatLeft(600_000)).toBe('10:00')
    expect(formatLeft(599_001)).toBe('10:00')
    expect(formatLeft(545_000)).toBe('9:05')
    expect(formatLeft(1)).toBe('0:01')
    expect(formatLeft(-5)).toBe('0:00')
  })

  it('speaks when 5, 2 and 1 minutes are passed, once each', () => {
    expect(minuteToSpeak(300_900, 299_900)).toBe(5)
    expect(minuteToSpeak(299_900, 298_900)).toBeUndefined()
    expect(minuteToSpeak(120_500, 119_500)).toBe(2)
    expect(minuteToSpeak(61_000, 60_000)).toBe(1)
    // A page that slept past several speaks of the last one only.
    expect(minuteToSpeak(400_000, 50_000)).toBe(1)
    expect(minuteToSpeak(700_000, 600_000)).toBeUndefined()
  })
})
