import { describe, expect, it } from 'vitest'
import type { LayoutSeat } from './api/types'
import { buildHall, cell, zonePath } from './hall'
import { startSeat, stepFrom, stepOf } from './neighbourhood'

function seat(row: string, number: number, x: number, y: number, category = 'std'): LayoutSeat {
  const kind = 'standard'
  return { seat: `${row}${number}`, row, number: String(number), x, y, category, kind }
}

const categories = [
  { id: 'std', name: 'Standard', price: { amount: 1250, currency: 'EUR' } },
  { id: 'top', name: 'Premium', price: { amount: 1600, currency: 'EUR' } },
]

// Two blocks with an aisle between them; row A is short and stands in the middle; the plan's unit
// is half a metre, and it lists the seats from the back.
const seats = [
  ...[1, 2, 3].map((n) => seat('C', n, n * 0.5, 3, 'top')),
  ...[4, 5, 6].map((n) => seat('C', n, n * 0.5 + 1, 3, 'top')),
  ...[1, 2, 3].map((n) => seat('B', n, n * 0.5, 2)),
  ...[4, 5, 6].map((n) => seat('B', n, n * 0.5 + 1, 2)),
  seat('A', 1, 1.5, 1),
  seat('A', 2, 3, 1),
]
const hall = buildHall({ showing: 's1', seats, categories })

describe('buildHall', () => {
  it('lists rows from the screen outwards and seats from left to right', () => {
    expect(hall.rows.map((row) => row.name)).toEqual(['A', 'B', 'C'])
    expect(hall.rows[1]?.seats.map((s) => s.code)).toEqual(['B1', 'B2', 'B3', 'B4', 'B5', 'B6'])
  })

  it('measures the plan’s own unit, so that neighbours are one cell apart and aisles stay', () => {
    const x = (code: string) => hall.seats.get(code)?.x ?? NaN
    expect(x('B2') - x('B1')).toBe(cell)
    expect(x('B4') - x('B3')).toBe(3 * cell)
  })

  it('fans the rows: their ends are nearer to the screen, and every seat turns to it', () => {
    const left = hall.seats.get('C1')
    const right = hall.seats.get('C6')
    const inner = hall.seats.get('C3')
    expect(left?.y).toBeLessThan(inner?.y ?? 0)
    expect(left?.y).toBe(right?.y)
    expect(left?.turn).toBeGreaterThan(0)
    expect(right?.turn).toBe(-(left?.turn ?? 0))
  })

  it('leaves a plan alone that is curved already', () => {
    const curved = seats.map((s) => ({ ...s, y: s.y + (s.seat === 'C1' ? -0.2 : 0) }))
    const other = buildHall({ showing: 's1', seats: curved, categories })
    expect(other.seats.get('B1')?.turn).toBe(0)
    expect(other.seats.get('B1')?.y).toBe(other.seats.get('B3')?.y)
  })

  it('keeps every seat and letter inside its bounds', () => {
    for (const { x, y } of hall.seats.values()) {
      expect(x).toBeGreaterThan(cell / 2)
      expect(x).toBeLessThan(hall.width - cell / 2)
      expect(y).toBeLessThan(hall.height - cell / 2)
    }
    for (const row of hall.rows) {
      expect(row.labels).toHaveLength(2)
      for (const label of row.labels) expect(label.x).toBeGreaterThan(0)
    }
  })

  it('draws the ground of a category under its own seats only', () => {
    expect(zonePath(hall, 'top').match(/M/g)).toHaveLength(6)
    expect(zonePath(hall, 'none')).toBe('')
  })
})

describe('walking by keys', () => {
  it('goes along a row, across the aisle, and stops at its ends', () => {
    expect(stepFrom(hall, 'B1', 'right')).toBe('B2')
    expect(stepFrom(hall, 'B3', 'right')).toBe('B4')
    expect(stepFrom(hall, 'B4', 'left')).toBe('B3')
    expect(stepFrom(hall, 'B6', 'right')).toBe('B6')
    expect(stepFrom(hall, 'B1', 'left')).toBe('B1')
  })

  it('goes to a row’s ends', () => {
    expect(stepFrom(hall, 'C4', 'home')).toBe('C1')
    expect(stepFrom(hall, 'C4', 'end')).toBe('C6')
  })

  it('goes to the nearest seat of the next row', () => {
    expect(stepFrom(hall, 'B3', 'up')).toBe('A1')
    expect(stepFrom(hall, 'B4', 'up')).toBe('A2')
    expect(stepFrom(hall, 'A1', 'down')).toBe('B3')
    expect(stepFrom(hall, 'A1', 'up')).toBe('A1')
    expect(stepFrom(hall, 'C1', 'down')).toBe('C1')
  })

  it('holds on to its place across the hall while it passes a short row', () => {
    const x = hall.seats.get('B6')?.x
    expect(stepFrom(hall, 'B6', 'up', x)).toBe('A2')
    expect(stepFrom(hall, 'A2', 'down', x)).toBe('B6')
  })

  it('begins in the middle of the hall', () => {
    expect(startSeat(hall)).toBe('B3')
  })

  it('knows its keys and leaves the others alone', () => {
    expect(stepOf('ArrowUp')).toBe('up')
    expect(stepOf('Home')).toBe('home')
    expect(stepOf('Tab')).toBeUndefined()
  })

  it('stays where it is when the seat is unknown', () => {
    expect(stepFrom(hall, 'Z9', 'left')).toBe('Z9')
  })
})
