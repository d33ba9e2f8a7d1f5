import { after, before, describe, it } from 'node:test'
import { openBrowser, openHouse, patienceMs, seat, sees } from './house.mjs'

describe('a house where holds are short', () => {
  let house
  let browser

  before(async () => {
    house = await openHouse({ AISLE_HOLD_FOR: '4s' })
    browser = await openBrowser()
  })

  after(async () => {
    await browser?.close()
    await house?.close()
  })

  it('says that the time ran out, frees the seats, and lets the next click start afresh', async () => {
    const [showing] = await house.showings()
    const context = await browser.newContext({ locale: 'en-GB' })
    context.setDefaultTimeout(patienceMs)
    const page = await context.newPage()
    await page.goto(`${house.url}/showings/${showing.id}`)
    await seat(page, 'F7').click()
    await sees(page, 'F7', 'mine')
    await page
      .getByRole('alert')
      .filter({ hasText: 'Your time ran out and F7 went back on sale. Nothing was charged.' })
      .waitFor()
    await page.getByText('No seats yet').waitFor()
    await sees(page, 'F7', 'available')
    await seat(page, 'F8').click()
    await page.getByRole('timer').filter({ hasText: /0:0\d/ }).waitFor()
    await page.getByRole('button', { name: 'Confirm booking' }).click()
    await page.getByRole('article', { name: 'Ticket' }).waitFor()
  })
})
