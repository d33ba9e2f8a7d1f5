import type { Ref } from 'vue'
import { useI18n } from 'vue-i18n'
import type { Money } from '@/lib/api/types'
import type { Face } from '@/lib/faces'
import type { Hall, HallSeat } from '@/lib/hall'
import { formatMoney } from '@/lib/money'
import { useSettings } from '@/store/settings'

/** Puts a seat into words: for the ear in one sentence, for the eye in parts. */
export function useSeatWords(hall: Ref<Hall>) {
  const { t } = useI18n()
  const settings = useSettings()

  function money(price: Money): string {
    return formatMoney(price, settings.locale)
  }

  function parts(seat: HallSeat, face: Face) {
    const category = hall.value.categories.find((category) => category.id === seat.category)
    const row = t('cart.row', { row: seat.row })
    const number = t('cart.seat', { number: seat.number })
    return {
      row,
      number,
      place: `${row} · ${number}`,
      category: category?.name ?? '',
      kind: seat.kind === 'standard' ? '' : t(`seat.kind.${seat.kind}`),
      price: category ? money(category.price) : '',
      state: t(`seat.face.${face}`),
    }
  }

  function label(seat: HallSeat, face: Face): string {
    const { category, kind, price, state } = parts(seat, face)
    const words = { row: seat.row, number: seat.number, category, kind, price, face: state }
    return t(kind === '' ? 'seat.label' : 'seat.labelKind', words)
  }

  /** What these seats cost together, for a total that doesn't wait for the server. */
  function total(seats: readonly string[]): Money | null {
    let amount = 0
    let currency = ''
    for (const code of seats) {
      const id = hall.value.seats.get(code)?.category
      const price = hall.value.categories.find((category) => category.id === id)?.price
      amount += price?.amount ?? 0
      currency ||= price?.currency ?? ''
    }
    return currency === '' ? null : { amount, currency }
  }

  return { parts, label, money, total }
}
