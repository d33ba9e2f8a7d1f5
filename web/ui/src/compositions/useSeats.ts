import { onScopeDispose, ref, shallowRef } from 'vue'
import type { SeatStatus } from '@/lib/api/types'
import { faceOf, type Face, type Own } from '@/lib/faces'
import type { LiveSeats } from '@/lib/live'
import { useLive } from '@/store/live'

/** A seat that somebody else just changed: it fades from what it was. */
export interface Fade {
  id: number
  from: Face
}

const fadeMs = 250

/**
 * The faces of a showing's seats, kept right by the live line and by what this person does.
 * Only changed entries of faces are written, in place; version says that some were.
 */
export function useSeats(showing: string, own: () => Own, onSettled: (seq: number) => void) {
  const live = useLive()
  const faces = new Map<string, Face>()
  const fades = new Map<string, Fade>()
  const version = ref(0)
  const ready = ref(false)
  const stale = ref(false)
  const refused = shallowRef<string | null>(null)
  let current: LiveSeats | null = null
  let fadeId = 0

  function paint(seat: string, status: SeatStatus, seq: number, fading: boolean): void {
    const before = faces.get(seat)
    const after = faceOf(seat, status, seq, own())
    if (before === after) return
    faces.set(seat, after)
    if (fading && before !== undefined) fade(seat, before)
    else fades.delete(seat)
  }

  function fade(seat: string, from: Face): void {
    const id = ++fadeId
    fades.set(seat, { id, from })
    setTimeout(() => {
      if (fades.get(seat)?.id !== id) return
      fades.delete(seat)
      version.value++
    }, fadeMs)
  }

  /** Paints every seat anew: cheap, and right whatever changed. */
  function repaint(fading = false): void {
    if (!current) return
    for (const [seat, status] of current.seats) paint(seat, status, current.seq, fading)
    version.value++
  }

  function onSeats(seats: LiveSeats): void {
    const first = current === null
    current = seats
    stale.value = seats.stale
    onSettled(seats.seq)
    repaint(!first)
    ready.value = true
  }

  const unsubscribe = live.subscribe(showing, {
    onSeats,
    onRefused: (code) => (refused.value = code),
  })
  onScopeDispose(unsubscribe)

  return { faces, fades, version, ready, stale, refused, repaint }
}
