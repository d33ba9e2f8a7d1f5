import { ref, shallowRef } from 'vue'
import { ApiProblem } from '@/lib/api/client'

/** How a page's content stands: missing is the server's word, failed is everything else. */
export type LoadState = 'loading' | 'ready' | 'missing' | 'failed'

/** Loads a page's content at once, and again when asked. What is there stays while more is fetched. */
export function useLoad<T>(fetchContent: () => Promise<T>) {
  const content = shallowRef<T | null>(null)
  const state = ref<LoadState>('loading')

  async function load(): Promise<void> {
    if (content.value === null) state.value = 'loading'
    try {
      content.value = await fetchContent()
      state.value = 'ready'
    } catch (problem) {
      if (content.value !== null) return
      const missing = problem instanceof ApiProblem && [400, 404, 422].includes(problem.status)
      state.value = missing ? 'missing' : 'failed'
    }
  }
  void load()

  return { content, state, load }
}
