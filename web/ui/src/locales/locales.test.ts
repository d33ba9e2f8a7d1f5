import { describe, expect, it } from 'vitest'
import { en } from './en'
import { zhCN } from './zh-CN'

function flatten(messages: object, path = ''): [string, string][] {
  return Object.entries(messages).flatMap(([key, value]) =>
    typeof value === 'string'
      ? [[path + key, value] as [string, string]]
      : flatten(value as object, `${path}${key}.`),
  )
}

/** The names between braces, each once: a plural form may leave one out. */
function slots(text: string): string[] {
  return [...new Set([...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? ''))].sort()
}

describe('the languages', () => {
  const english = new Map(flatten(en))
  const chinese = new Map(flatten(zhCN))

  it('say the same things', () => {
    expect([...chinese.keys()]).toEqual([...english.keys()])
  })

  it('have the same slots and as many plural forms', () => {
    for (const [key, text] of english) {
      const other = chinese.get(key) ?? ''
      expect(slots(other), key).toEqual(slots(text))
      expect(other.split('|').length, key).toBe(text.split('|').length)
    }
  })

  it('leave nothing untranslated', () => {
    for (const [key, text] of chinese) {
      if (key === 'app.name') continue
      expect(text, key).toMatch(/\p{Script=Han}/u)
    }
  })
})
