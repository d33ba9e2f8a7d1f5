import { useI18n } from 'vue-i18n'
import type { Notice } from '@/lib/commands'
import { useDates } from './useDates'

/** Puts a notice into words: what happened, what it means for one's seats, and what to do. */
export function useNotices() {
  const { t } = useI18n()
  const { list } = useDates()

  function kept(seats: readonly string[]): string {
    return seats.length === 0 ? '' : t('notice.kept', { seats: list(seats) }, seats.length)
  }

  function words(notice: Notice, holding: readonly string[]): string {
    const still = kept(holding)
    switch (notice.kind) {
      case 'taken': {
        const { seats } = notice
        const taken = t('notice.taken', { seats: list(seats) }, seats.length)
        return joined(taken, kept(notice.kept))
      }
      case 'expired':
        return t('notice.expired', { seats: list(notice.seats) })
      case 'too-many':
        return t('notice.tooMany', { kept: still })
      case 'sales-closed':
        return t('notice.salesClosed')
      case 'busy':
        return t('notice.busy', { kept: kept(notice.seats) })
      case 'unreachable':
        return t(`notice.${notice.wanted}Unreachable`, { seat: notice.seat, kept: still })
      case 'refused':
        return t('notice.refused', { detail: notice.detail, kept: still })
    }
  }

  function joined(...sentences: string[]): string {
    return sentences.filter((sentence) => sentence !== '').join(' ')
  }

  return { words }
}
