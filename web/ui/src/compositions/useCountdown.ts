import { onScopeDispose, ref, watch, type Ref } from 'vue'
import type { Booking } from '@/lib/api/types'
import { minuteToSpeak } from '@/lib/time'

export interface CountdownOptions {
  onMinute(minute: number): void
  onEnd(): void
}

/**
 * What is left of a hold, in milliseconds, by the server's clock: the booking says what time it
 * was there, so a wrong clock here doesn't matter. Null while nothing is held.
 */
export function useCountdown(held: Ref<Booking | null>, options: CountdownOptions) {
  const left = ref<number | null>(null)
  let endsAt: number | null = null
  let endOf = ''
  let timer: ReturnType<typeof setTimeout> | undefined

  function tick(): void {
    clearTimeout(timer)
    if (endsAt === null) return
    const before = left.value ?? Infinity
    const now = Math.max(0, endsAt - performance.now())
    left.value = now
    if (now === 0) {
      endsAt = null
      options.onEnd()
      return
    }
    const minute = minuteToSpeak(before, now)
    if (minute !== undefined && before !== Infinity) options.onMinute(minute)
    // Just after the second turns, so that what is shown never skips one.
    timer = setTimeout(tick, (now % 1000) + 5)
  }

  watch(
    held,
    (booking) => {
      if (!booking?.expires_at) {
        clearTimeout(timer)
        endsAt = left.value = null
        endOf = ''
        return
      }
      const end = performance.now() + Date.parse(booking.expires_at) - Date.parse(booking.now)
      // The answers' travel times differ: the same hold's end doesn't wobble with them.
      if (endOf === booking.id + booking.expires_at && endsAt !== null) {
        endsAt = Math.min(endsAt, end)
      } else {
        endOf = booking.id + booking.expires_at
        left.value = null
        endsAt = end
      }
      tick()
    },
    { immediate: true },
  )
  onScopeDispose(() => clearTimeout(timer))

  return left
}
