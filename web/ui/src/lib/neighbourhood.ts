import type { Hall, HallSeat } from './hall'

export type Step = 'left' | 'right' | 'up' | 'down' | 'home' | 'end'

const steps: Record<string, Step> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
  Home: 'home',
  End: 'end',
}

/** The step that a key asks for, if it asks for one. */
export function stepOf(key: string): Step | undefined {
  return steps[key]
}

/**
 * The seat one step away, as a person in the hall would say: the next one in the row, across
 * an aisle if need be, or the nearest one in the row before or behind. keepX is the place across
 * the hall that going up and down holds on to, so that a short row doesn't pull a walk aside.
 * At the hall's edge it is the seat itself.
 */
export function stepFrom(hall: Hall, from: string, step: Step, keepX?: number): string {
  const seat = hall.seats.get(from)
  if (!seat) return from
  const at = hall.rows.findIndex((row) => row.name === seat.row)
  const row = hall.rows[at]?.seats ?? []
  const place = row.indexOf(seat)
  switch (step) {
    case 'left':
      return (row[place - 1] ?? seat).code
    case 'right':
      return (row[place + 1] ?? seat).code
    case 'home':
      return (row[0] ?? seat).code
    case 'end':
      return (row[row.length - 1] ?? seat).code
    case 'up':
      return nearest(hall.rows[at - 1]?.seats, keepX ?? seat.x, seat).code
    case 'down':
      return nearest(hall.rows[at + 1]?.seats, keepX ?? seat.x, seat).code
  }
}

function nearest(row: HallSeat[] | undefined, x: number, otherwise: HallSeat): HallSeat {
  let best = otherwise
  let distance = Infinity
  for (const seat of row ?? []) {
    const off = Math.abs(seat.x - x)
    if (off < distance) {
      best = seat
      distance = off
    }
  }
  return best
}

/** Where a walk begins: the seat nearest to the middle of the hall. */
export function startSeat(hall: Hall): string {
  const middle = hall.rows[Math.floor(hall.rows.length / 2)]
  const first = middle?.seats[0]
  return first ? nearest(middle?.seats, hall.width / 2, first).code : ''
}
