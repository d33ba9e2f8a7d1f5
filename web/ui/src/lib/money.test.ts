import { describe, expect, it } from 'vitest'
import { formatMoney } from './money'

describe('formatMoney', () => {
  it('takes the digits of the minor unit from the currency', () => {
    expect(formatMoney({ amount: 1250, currency: 'EUR' }, 'en-GB')).toBe('€12.50')
    expect(formatMoney({ amount: 10000, currency: 'JPY' }, 'en-GB')).toBe('¥10,000')
    expect(formatMoney({ amount: 1500, currency: 'KWD' }, 'en-GB')).toMatch(/1\.500$/)
    expect(formatMoney({ amount: 4500, currency: 'CNY' }, 'zh-CN')).toBe('¥45.00')
  })
})
