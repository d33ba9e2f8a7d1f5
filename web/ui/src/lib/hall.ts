import type { Category, Layout, LayoutSeat } from './api/types'

/** One seat's place, and so its cell, in the map's own units. */
export const cell = 40

const rowDepth = cell * 1.06

export type SeatKind = LayoutSeat['kind']

/** A seat where it is drawn: its centre, and how far it turns to face the screen, in degrees. */
export interface HallSeat {
  code: string
  row: string
  number: string
  kind: SeatKind
  category: string
  x: number
  y: number
  turn: number
}

export interface HallRow {
  name: string
  /** From left to right. */
  seats: HallSeat[]
  /** Where the row's letter stands, on both sides. */
  labels: { x: number; y: number }[]
}

/** A hall ready to be drawn: the screen on top, row after row away from it. */
export interface Hall {
  width: number
  height: number
  rows: HallRow[]
  seats: Map<string, HallSeat>
  categories: Category[]
  screen: { left: number; right: number; y: number; bow: number }
}

const margin = 10
/** From the screen's ends to the first row's, and what its light needs above it. */
const screenToRows = 58
const screenHeadroom = 30
/** How far the screen's middle is from the line between its ends, for each unit of half width. */
const screenBow = 0.075
const labelGap = 34
/** How much nearer to the screen a row's ends are than its middle, for each unit of half width. */
const fan = 0.085

/** buildHall lays a layout out, whatever unit its plan was drawn in. */
export function buildHall(layout: Layout): Hall {
  const groups = rowsOf(layout.seats)
  const pitch = seatPitch(groups)
  const depth = rowPitch(groups)
  const xs = layout.seats.map((seat) => seat.x)
  const ys = layout.seats.map((seat) => seat.y)
  const minX = least(xs)
  const span = ((greatest(xs) - minX) / pitch) * cell
  const half = Math.max(span / 2, cell)
  const straight = groups.every((row) => row.every((seat) => seat.y === row[0]?.y))
  const sag = straight ? half * fan : 0
  const left = margin + labelGap + cell / 2
  const bow = half * screenBow
  const screenY = screenHeadroom + bow
  const top = screenY + screenToRows + cell / 2
  const minY = least(ys)

  const rows = groups.map((group): HallRow => {
    const seats = group.map((seat): HallSeat => {
      const off = ((seat.x - minX) / pitch) * cell - span / 2
      const share = off / half
      return {
        code: seat.seat,
        row: seat.row,
        number: seat.number,
        kind: seat.kind,
        category: seat.category,
        x: round(left + span / 2 + off),
        y: round(top + ((seat.y - minY) / depth) * rowDepth + sag * (1 - share * share)),
        turn: round((Math.atan((-2 * sag * share) / half) * 180) / Math.PI),
      }
    })
    return { name: group[0]?.row ?? '', seats, labels: labelsOf(seats) }
  })
  const all = rows.flatMap((row) => row.seats)
  const width = span + 2 * left
  return {
    width: round(width),
    height: round(greatest(all.map((seat) => seat.y)) + cell / 2 + margin),
    rows,
    seats: new Map(all.map((seat) => [seat.code, seat])),
    categories: layout.categories,
    screen: {
      left: round(width / 2 - half * 0.86),
      right: round(width / 2 + half * 0.86),
      y: round(screenY),
      bow: round(bow),
    },
  }
}

/** The rows from the screen outwards, each from left to right. */
function rowsOf(seats: LayoutSeat[]): LayoutSeat[][] {
  const rows = new Map<string, LayoutSeat[]>()
  for (const seat of seats) {
    const row = rows.get(seat.row)
    if (row) row.push(seat)
    else rows.set(seat.row, [seat])
  }
  for (const row of rows.values()) row.sort((a, b) => a.x - b.x)
  return [...rows.values()].sort((a, b) => middleY(a) - middleY(b))
}

function middleY(row: LayoutSeat[]): number {
  return row.reduce((sum, seat) => sum + seat.y, 0) / row.length
}

/** The distance between two neighbours: the commonest one, so that aisles don't count. */
function seatPitch(rows: LayoutSeat[][]): number {
  return commonest(rows.flatMap((row) => steps(row.map((seat) => seat.x))))
}

function rowPitch(rows: LayoutSeat[][]): number {
  return commonest(steps(rows.map(middleY)))
}

function steps(sorted: number[]): number[] {
  return sorted.slice(1).map((value, i) => value - (sorted[i] ?? value))
}

function commonest(distances: number[]): number {
  const counts = new Map<number, number>()
  for (const distance of distances) {
    const rounded = Math.round(distance * 1000) / 1000
    if (rounded > 0) counts.set(rounded, (counts.get(rounded) ?? 0) + 1)
  }
  let best = 1
  let most = 0
  for (const [distance, count] of counts) {
    if (count > most || (count === most && distance < best)) {
      best = distance
      most = count
    }
  }
  return best
}

function labelsOf(seats: HallSeat[]): { x: number; y: number }[] {
  const first = seats[0]
  const last = seats[seats.length - 1]
  if (!first || !last) return []
  return [
    { x: first.x - labelGap, y: along(first, -labelGap) },
    { x: last.x + labelGap, y: along(last, labelGap) },
  ]
}

/** The height of a row's line beside one of its seats. */
function along(seat: HallSeat, distance: number): number {
  return round(seat.y + Math.tan((seat.turn * Math.PI) / 180) * distance)
}

// Math.min(...xs) would put thousands of seats on the stack.
function least(values: number[]): number {
  return values.reduce((a, b) => Math.min(a, b), Infinity)
}

function greatest(values: number[]): number {
  return values.reduce((a, b) => Math.max(a, b), -Infinity)
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

/** The ground under a category's seats, as one shape without seams: each seat's piece leans with
 * its row, so that the pieces of a block meet on all sides. */
export function zonePath(hall: Hall, category: string): string {
  const reach = cell / 2 + 0.5
  const depth = rowDepth / 2 + 0.5
  let path = ''
  for (const seat of hall.seats.values()) {
    if (seat.category !== category) continue
    const [left, right] = [round(seat.x - reach), round(seat.x + reach)]
    const [leftY, rightY] = [along(seat, -reach), along(seat, reach)]
    path += `M${left} ${round(leftY - depth)}L${right} ${round(rightY - depth)}`
    path += `L${right} ${round(rightY + depth)}L${left} ${round(leftY + depth)}z`
  }
  return path
}
