import { watchEffect } from 'vue'

/** Names the page in the browser's tab. */
export function useTitle(title: () => string): void {
  watchEffect(() => {
    const words = title()
    document.title = words === '' ? 'Aisle' : `${words} · Aisle`
  })
}
