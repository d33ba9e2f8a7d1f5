/** Before this hour of the cinema's night a showing belongs to the evening before. */
const dayStartsAtHour = 5

/** The day whose programme a showing belongs to, as the cinema counts: "2026-11-30". */
export function businessDate(instant: string, timeZone: string): string {
  const date = new Date(instant)
  const local = localDate(date, timeZone)
  const hour = Number(
    new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', hourCycle: 'h23' }).format(date),
  )
  return hour < dayStartsAtHour ? dayBefore(local) : local
}

/** Whether a showing starts after midnight of the evening it belongs to. */
export function isAfterMidnight(instant: string, timeZone: string): boolean {
  return businessDate(instant, timeZone) !== localDate(new Date(instant), timeZone)
}

function localDate(date: Date, timeZone: string): string {
  // Sweden writes dates as ISO 8601 does.
  return new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }).format(date)
}

function dayBefore(day: string): string {
  const date = new Date(`${day}T12:00:00Z`)
  date.setUTCDate(date.getUTCDate() - 1)
  return date.toISOString().slice(0, 10)
}

/** "20:15", on the cinema's clock. */
export function formatTime(instant: string, timeZone: string, locale: string): string {
  return new Intl.DateTimeFormat(locale, {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(new Date(instant))
}

/** "Monday 30 November" or "Mon 30 Nov", for a day such as "2026-11-30". */
export function formatDay(day: string, locale: string, style: 'long' | 'short' = 'long'): string {
  return new Intl.DateTimeFormat(locale, {
    timeZone: 'UTC',
    weekday: style,
    day: 'numeric',
    month: style,
  }).format(new Date(`${day}T12:00:00Z`))
}

/** How many days a day lies ahead of today at the cinema: 0 for today. */
export function daysAhead(day: string, timeZone: string, now = new Date()): number {
  const today = businessDate(now.toISOString(), timeZone)
  return Math.round((Date.parse(day) - Date.parse(today)) / 86_400_000)
}

/** "9:05": what is left, in minutes and seconds; "0:00" when nothing is. */
export function formatLeft(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000))
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

/** The minutes at which a countdown speaks up. */
export const spokenMinutes: readonly number[] = [5, 2, 1]

/** The minute to speak, if one was passed on the way from before to after (milliseconds left). */
export function minuteToSpeak(before: number, after: number): number | undefined {
  return spokenMinutes.findLast((minute) => before > minute * 60_000 && after <= minute * 60_000)
}
