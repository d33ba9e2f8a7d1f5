import { useEventListener } from '@vueuse/core'
import { defineStore } from 'pinia'
import { ref } from 'vue'
import type { Booking } from '@/lib/api/types'
import { LiveClient, type Connection } from '@/lib/live'

/** What the showing's page wants to hear besides its seats. */
export interface LiveEars {
  onBooking(booking: Booking): void
  onSessionEnded(): void
  /** A session began here or in another tab: there may be bookings now. */
  onSessionStarted(): void
}

function liveUrl(): string {
  const url = new URL('/api/v1/live', location.href)
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:'
  return url.href
}

/** The one line to the house, open while a page that needs it is. */
export const useLive = defineStore('live', () => {
  const connection = ref<Connection>('connecting')
  const ears = new Set<LiveEars>()
  const client = new LiveClient({
    url: liveUrl(),
    onConnection: (now) => (connection.value = now),
    onBooking: (booking) => ears.forEach((ear) => ear.onBooking(booking)),
    onSessionEnded: () => ears.forEach((ear) => ear.onSessionEnded()),
  })
  const tabs = new BroadcastChannel('aisle-session')
  tabs.onmessage = () => {
    client.renew()
    ears.forEach((ear) => ear.onSessionStarted())
  }

  useEventListener(window, 'online', () => client.retryNow())
  useEventListener(window, 'offline', () => client.lostNetwork())
  useEventListener(document, 'visibilitychange', () => {
    if (document.visibilityState === 'visible') client.check()
  })

  /** Opens the line while somebody listens; the result ends that. */
  function listen(ear: LiveEars): () => void {
    ears.add(ear)
    client.start()
    return () => {
      ears.delete(ear)
      if (ears.size === 0) client.stop()
    }
  }
  /** A session began here: the line, and those of the other tabs, should know it. */
  function sessionStarted(): void {
    client.renew()
    tabs.postMessage('started')
  }

  return {
    connection,
    listen,
    sessionStarted,
    subscribe: client.subscribe.bind(client),
    retryNow: () => client.retryNow(),
  }
})
