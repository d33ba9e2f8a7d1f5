import { createI18n } from 'vue-i18n'
import { en, type Messages } from './en'
import { zhCN } from './zh-CN'

export const languages = ['en', 'zh-CN'] as const
export type Language = (typeof languages)[number]

/** How each language calls itself, at length and in the header. */
export const languageNames: Record<Language, { long: string; short: string }> = {
  en: { long: 'English', short: 'EN' },
  'zh-CN': { long: '简体中文', short: '中文' },
}

/** How each language writes dates, times and prices: English as Europe's cinemas do. */
export const formats: Record<Language, string> = { en: 'en-GB', 'zh-CN': 'zh-CN' }

export const i18n = createI18n<[Messages], Language, false>({
  legacy: false,
  locale: 'en',
  fallbackLocale: 'en',
  messages: { en, 'zh-CN': zhCN },
})
