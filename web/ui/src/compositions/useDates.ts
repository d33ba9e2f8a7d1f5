import { useI18n } from 'vue-i18n'
import { businessDate, daysAhead, formatDay, formatTime } from '@/lib/time'
import { useSettings } from '@/store/settings'

/** Dates and times in this person's language, on the cinema's clock. */
export function useDates() {
  const { t } = useI18n()
  const settings = useSettings()

  function time(instant: string, zone: string): string {
    return formatTime(instant, zone, settings.locale)
  }
  function day(date: string): string {
    return formatDay(date, settings.locale)
  }
  /** "Today", "Tomorrow", or nothing for days further off. */
  function nearDay(date: string, zone: string): string {
    const ahead = daysAhead(date, zone)
    if (ahead === 0) return t('programme.today')
    return ahead === 1 ? t('programme.tomorrow') : ''
  }
  function dayOf(instant: string, zone: string): string {
    return day(businessDate(instant, zone))
  }
  function dayAndTime(instant: string, zone: string): string {
    return `${dayOf(instant, zone)}, ${time(instant, zone)}`
  }
  function shortDayAndTime(instant: string, zone: string): string {
    const day = formatDay(businessDate(instant, zone), settings.locale, 'short')
    return `${day}, ${time(instant, zone)}`
  }
  function list(words: readonly string[]): string {
    return new Intl.ListFormat(settings.locale, { type: 'conjunction' }).format(words)
  }

  return { time, day, nearDay, dayOf, dayAndTime, shortDayAndTime, list }
}
