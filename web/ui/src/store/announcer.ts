import { defineStore } from 'pinia'
import { ref } from 'vue'

/** What a screen reader is told: politely, or at once when it touches seats or money. */
export const useAnnouncer = defineStore('announcer', () => {
  const polite = ref('')
  const urgent = ref('')
  let flip = false

  // The same words twice in a row are news too: a space makes them differ.
  function vary(words: string): string {
    flip = !flip
    return flip ? words : `${words}\u00a0`
  }
  function say(words: string): void {
    polite.value = vary(words)
  }
  function interrupt(words: string): void {
    urgent.value = vary(words)
  }

  return { polite, urgent, say, interrupt }
})
