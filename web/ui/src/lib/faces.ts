import type { Booking, SeatStatus } from './api/types'

/** What a seat shows to this person: what it is to the house, or that it is theirs. */
export type Face = SeatStatus | 'mine' | 'bought'

/** What this person has, or is about to have, at the showing. */
export interface Own {
  held: Booking | null
  /** Clicks that the server hasn't answered yet. */
  pending: ReadonlyMap<string, 'take' | 'give'>
  /** Seats given back, with the seq at which the house knew. */
  givenBack: ReadonlyMap<string, number>
  confirmed: readonly Booking[]
}

/**
 * The face of a seat: one's own booking lies over the map until the map's seq has reached the
 * booking's; from then on the map is right. mapSeq belongs to the map that status comes from.
 */
export function faceOf(seat: string, status: SeatStatus, mapSeq: number, own: Own): Face {
  const pending = own.pending.get(seat)
  if (pending === 'take') return 'mine'
  if (pending === 'give') return 'available'
  if (own.held?.seats.includes(seat) && (mapSeq < own.held.seq || status === 'held')) return 'mine'
  const bought = own.confirmed.find((booking) => booking.seats.includes(seat))
  if (bought && (mapSeq < bought.seq || status === 'sold')) return 'bought'
  const givenBackAt = own.givenBack.get(seat)
  if (givenBackAt !== undefined && mapSeq < givenBackAt && status === 'held') return 'available'
  return status
}
