import { useLocalStorage, usePreferredDark } from '@vueuse/core'
import { defineStore } from 'pinia'
import { computed, watch } from 'vue'
import { formats, i18n, languages, type Language } from '@/locales'

export type Theme = 'dark' | 'light'

/** Language and theme: the system's until this person chose, and then theirs. The keys and the
 * rules are also those of public/theme.js, which runs before the first paint. */
export const useSettings = defineStore('settings', () => {
  const prefersDark = usePreferredDark()
  const chosenTheme = useLocalStorage<string>('aisle-theme', '')
  const chosenLanguage = useLocalStorage<string>('aisle-language', '')

  const theme = computed<Theme>(() => {
    if (chosenTheme.value === 'dark' || chosenTheme.value === 'light') return chosenTheme.value
    return prefersDark.value ? 'dark' : 'light'
  })
  const language = computed<Language>(() => {
    const chosen = languages.find((language) => language === chosenLanguage.value)
    return chosen ?? (/^zh\b/i.test(navigator.language) ? 'zh-CN' : 'en')
  })
  /** The locale in which dates, times and prices are written. */
  const locale = computed(() => formats[language.value])

  watch(
    theme,
    (theme) => {
      document.documentElement.dataset.theme = theme
      const ground = theme === 'dark' ? '#14121a' : '#fbf8f3'
      document.querySelector('meta[name="theme-color"]')?.setAttribute('content', ground)
    },
    { immediate: true },
  )
  watch(
    language,
    (language) => {
      document.documentElement.lang = language
      i18n.global.locale.value = language
    },
    { immediate: true },
  )

  function switchTheme(): void {
    chosenTheme.value = theme.value === 'dark' ? 'light' : 'dark'
  }
  function switchLanguage(language: Language): void {
    chosenLanguage.value = language
  }

  return { theme, language, locale, switchTheme, switchLanguage }
})
