import { computed, onScopeDispose, ref, shallowRef, triggerRef, watch } from 'vue'
import { api } from '@/lib/api/client'
import type { Booking } from '@/lib/api/types'
import { BookingQueue, type Notice } from '@/lib/commands'
import type { Own } from '@/lib/faces'
import { useLive } from '@/store/live'

export interface BookingEars {
  onChange(): void
  onNotice(notice: Notice): void
  /** What is held changed: these seats came, those went. */
  onHeld(came: string[], went: string[]): void
  onBoughtElsewhere(): void
}

/** This person's seats at one showing: what they hold, what they bought, and what they click. */
export function useBooking(showing: string, ears: BookingEars) {
  const live = useLive()
  const held = shallowRef<Booking | null>(null)
  const confirmed = shallowRef<Booking[]>([])
  const closing = ref<'confirm' | 'release' | null>(null)
  const retrying = ref(false)

  const queue = new BookingQueue({
    showing,
    api,
    onChange: publish,
    onNotice: (notice) => ears.onNotice(notice),
    onSessionStarted: () => live.sessionStarted(),
  })
  const pending = shallowRef(queue.pending)

  function publish(): void {
    const before = held.value?.seats ?? []
    const after = queue.held?.seats ?? []
    held.value = queue.held
    closing.value = queue.closing
    retrying.value = queue.retrying
    triggerRef(pending)
    ears.onChange()
    const came = after.filter((seat) => !before.includes(seat))
    const went = before.filter((seat) => !after.includes(seat))
    if (came.length + went.length > 0) ears.onHeld(came, went)
  }

  function onBooking(booking: Booking): void {
    if (booking.showing !== showing) return
    const elsewhere = booking.state === 'confirmed' && queue.closing !== 'confirm'
    const wasHeld = queue.held?.id === booking.id
    keep(booking)
    queue.adopt(booking)
    if (elsewhere && wasHeld) ears.onBoughtElsewhere()
  }

  /** Confirmed bookings lie over the map too. */
  function keep(booking: Booking): void {
    const others = confirmed.value.filter((other) => other.id !== booking.id)
    confirmed.value = booking.state === 'confirmed' ? [...others, booking] : others
  }

  async function load(): Promise<void> {
    try {
      for (const booking of await api.bookings()) {
        if (booking.showing !== showing) continue
        keep(booking)
        if (booking.state === 'held' || booking.id === queue.held?.id) queue.adopt(booking)
      }
      ears.onChange()
    } catch {
      // No session yet means no bookings yet. Anything else shows at the first click, or is over
      // when the line comes back.
    }
  }

  const stop = live.listen({
    onBooking,
    onSessionEnded: () => {
      confirmed.value = []
      queue.forget()
    },
    onSessionStarted: () => void load(),
  })
  onScopeDispose(stop)
  void load()
  // What other pages did while the line was lost was told to nobody here.
  watch(
    () => live.connection,
    (now, before) => {
      if (now === 'live' && before !== 'connecting') void load()
    },
  )

  /** What is shown as this person's: what they hold, and what they clicked since. */
  const seats = computed(() => {
    const mine = new Set(held.value?.seats ?? [])
    for (const [seat, wanted] of pending.value) {
      if (wanted === 'take') mine.add(seat)
      else mine.delete(seat)
    }
    return [...mine]
  })

  function own(): Own {
    return {
      held: queue.held,
      pending: queue.pending,
      givenBack: queue.givenBack,
      confirmed: confirmed.value,
    }
  }

  return {
    held,
    confirmed,
    closing,
    retrying,
    seats,
    own,
    toggle: (seat: string) => queue.toggle(seat),
    confirm: async () => {
      const booking = await queue.confirm()
      if (booking) keep(booking)
      return booking
    },
    release: () => queue.release(),
    expire: () => queue.expire(),
    settle: (seq: number) => queue.settle(seq),
  }
}
