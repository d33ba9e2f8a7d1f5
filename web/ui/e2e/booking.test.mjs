import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { openBrowser, openHouse, patienceMs, phone, seat, sees } from './house.mjs'

describe('a house with its doors open', () => {
  let house
  let browser
  let showings
  /** Each test has a showing of its own, so that none sees another's seats. */
  let next = 0

  before(async () => {
    house = await openHouse()
    browser = await openBrowser()
    showings = (await house.showings()).filter((showing) => showing.sales.state === 'open')
  })

  after(async () => {
    await browser?.close()
    await house?.close()
  })

  /** A person with a browser of their own; what the browser complains of fails the test. */
  async function person(t, options = {}) {
    const context = await browser.newContext({ locale: 'en-GB', ...options })
    context.setDefaultTimeout(patienceMs)
    const complaints = []
    context.on('weberror', (error) => complaints.push(String(error.error())))
    context.on('console', (message) => {
      if (message.text().includes('Content Security Policy')) complaints.push(message.text())
    })
    t.after(async () => {
      await context.close()
      assert.deepEqual(complaints, [])
    })
    return context
  }

  async function pageOf(context, showing) {
    const page = await context.newPage()
    await page.goto(`${house.url}/showings/${showing.id}`)
    await seat(page, 'A1').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    return page
  }

  function showing() {
    return showings[next++ % showings.length]
  }

  const count = (page, words) => page.getByRole('heading', { name: words }).waitFor()

  it('turns a seat in every browser when one clicks it, and back', async (t) => {
    const here = showing()
    const ann = await pageOf(await person(t), here)
    const bob = await pageOf(await person(t), here)
    await seat(ann, 'F7').click()
    await sees(ann, 'F7', 'mine')
    await sees(bob, 'F7', 'held')
    await seat(bob, 'F8').click()
    await sees(ann, 'F8', 'held')
    await seat(ann, 'F7').click()
    await sees(ann, 'F7', 'available')
    await sees(bob, 'F7', 'available')
    await sees(bob, 'F8', 'mine')
  })

  it('goes from the programme over seats and confirmation to a ticket that stays', async (t) => {
    const here = showing()
    const context = await person(t)
    const page = await context.newPage()
    await page.goto(house.url)
    await page.locator(`a[href="/showings/${here.id}"]`).click()
    await page.getByRole('heading', { name: here.film.title, level: 1 }).waitFor()
    await seat(page, 'G9').click()
    await seat(page, 'G10').click()
    await count(page, '2 seats')
    await page
      .getByRole('timer')
      .filter({ hasText: /^\s*(10:00|9:\d\d)\s*$/ })
      .waitFor()
    const other = await pageOf(await person(t), here)
    await sees(other, 'G10', 'held')

    await page.reload()
    await sees(page, 'G9', 'mine')
    await count(page, '2 seats')

    await page.getByRole('button', { name: 'Confirm booking' }).click()
    await page.waitForURL('**/bookings/*')
    const ticket = page.getByRole('article', { name: 'Ticket' })
    await ticket.getByText('9, 10', { exact: true }).waitFor()
    await ticket.getByText(here.film.title).waitFor()
    await sees(other, 'G9', 'sold')
    await sees(other, 'G10', 'sold')

    await page.reload()
    await ticket.getByText('9, 10', { exact: true }).waitFor()
    await page.getByRole('link', { name: 'My bookings', exact: true }).click()
    await page
      .getByRole('link', { name: /G9, G10/ })
      .getByText('Confirmed')
      .waitFor()
    await page.goto(`${house.url}/showings/${here.id}`)
    await sees(page, 'G9', 'bought')
  })

  it('says who was faster, and that the rest is still there', async (t) => {
    const here = showing()
    const page = await pageOf(await person(t), here)
    await seat(page, 'F8').click()
    await count(page, '1 seat')
    // The rival's hold reaches the server after the click and before its request.
    const rival = await house.customer()
    await page.route('**/api/v1/bookings/*/seats', async (route) => {
      await rival.hold(here.id, ['F7'])
      await route.continue()
    })
    await seat(page, 'F7').click()
    const words = 'Someone was faster: F7 is taken. F8 is still yours.'
    await page.getByRole('alert').filter({ hasText: words }).waitFor()
    await sees(page, 'F7', 'held')
    await sees(page, 'F8', 'mine')
    await count(page, '1 seat')
    await page.getByRole('button', { name: 'Close' }).click()
    assert.equal(await page.getByText(words).locator('visible=true').count(), 1) // the reader's own
  })

  it('sends an unanswered click again under the same key', async (t) => {
    const here = showing()
    const page = await pageOf(await person(t), here)
    const keys = []
    let told
    const answered = new Promise((resolve) => (told = resolve))
    await page.route('**/api/v1/showings/*/bookings', async (route) => {
      keys.push(route.request().headers()['idempotency-key'])
      // The first answer with an outcome is lost on its way back.
      const answer = await route.fetch()
      if (answer.status() === 201 && keys.length < 3) return route.abort('connectionreset')
      await route.fulfill({ response: answer })
      if (answer.status() === 201) told()
    })
    await seat(page, 'D4').click()
    await count(page, '1 seat')
    await page
      .getByRole('timer')
      .filter({ hasText: /\d:\d\d/ })
      .waitFor()
    await answered
    // Once without a session, once in vain, once more.
    assert.equal(keys.length, 3)
    assert.equal(new Set(keys).size, 1)
    await sees(page, 'D4', 'mine')
  })

  it('shows one booking in two tabs of one browser', async (t) => {
    const here = showing()
    const context = await person(t)
    const first = await pageOf(context, here)
    const second = await pageOf(context, here)
    await seat(first, 'C5').click()
    await sees(second, 'C5', 'mine')
    await seat(second, 'C6').click()
    await sees(first, 'C6', 'mine')
    await count(first, '2 seats')
    await first.getByRole('button', { name: 'Give back C5' }).click()
    await sees(second, 'C5', 'available')
    await count(second, '1 seat')
    await first.getByRole('button', { name: 'Give all back' }).click()
    await first.getByRole('alertdialog').getByRole('button', { name: 'Give all back' }).click()
    await sees(second, 'C6', 'available')
    await second.getByText('No seats yet').waitFor()
  })

  it('books by keyboard alone, and says what a screen reader should hear', async (t) => {
    const here = showing()
    const page = await pageOf(await person(t), here)
    const cell = (name) => page.getByRole('gridcell', { name, exact: true })
    await page.getByRole('grid', { name: 'Seat map' }).waitFor()
    await cell('Row F, seat 7, Standard, €12.50, available').waitFor()
    await cell('Row A, seat 1, Front, Wheelchair place, €9.50, available').waitFor()

    // From the top of the page: the map is one stop of the Tab key.
    const inMap = () => page.evaluate(() => document.activeElement?.getAttribute('data-seat'))
    let stops = 0
    for (let presses = 0; presses < 20; presses++) {
      await page.keyboard.press('Tab')
      if (await inMap()) stops++
      else if (stops > 0) break
    }
    assert.equal(stops, 1)
    await page.keyboard.press('Shift+Tab')
    const start = await inMap()
    assert.match(start, /^[A-L]10$/)
    const row = start[0]
    await page.keyboard.press('ArrowRight')
    assert.equal(await inMap(), `${row}11`)
    await page.keyboard.press('Home')
    assert.equal(await inMap(), `${row}1`)
    await page.keyboard.press('End')
    assert.equal(await inMap(), `${row}20`)
    await page.keyboard.press('ArrowUp')
    const above = String.fromCharCode(row.charCodeAt(0) - 1)
    assert.equal(await inMap(), `${above}20`)
    const ring = seat(page, `${above}20`).locator('.ring')
    assert.notEqual(await ring.evaluate((ring) => getComputedStyle(ring).stroke), 'none')

    await page.keyboard.press('Enter')
    await sees(page, `${above}20`, 'mine')
    await page
      .getByRole('status')
      .filter({ hasText: `${above}20 is yours.` })
      .waitFor()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Space')
    await sees(page, `${above}19`, 'mine')
    await page.keyboard.press('Space')
    await sees(page, `${above}19`, 'available')
    await page
      .getByRole('status')
      .filter({ hasText: `${above}19 was given back.` })
      .waitFor()

    const confirm = page.getByRole('button', { name: 'Confirm booking' })
    for (let presses = 0; presses < 20; presses++) {
      await page.keyboard.press('Tab')
      if (await confirm.evaluate((button) => button === document.activeElement)) break
    }
    await page.keyboard.press('Enter')
    await page.waitForURL('**/bookings/*')
    await page.getByRole('article', { name: 'Ticket' }).waitFor()
  })

  it('works on a telephone: a tap goes near, the next takes', async (t) => {
    const here = showing()
    const page = await pageOf(await person(t, phone), here)
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.equal(wide, 390)
    const size = async () => (await seat(page, 'E6').locator('.touch').boundingBox()).width
    assert.ok((await size()) < 30)
    await seat(page, 'E6').tap()
    const fit = page.getByRole('button', { name: 'Fit the hall' })
    await fit.waitFor()
    await page.waitForFunction(() => {
      const touch = document.querySelector('[data-seat="E6"] .touch')
      return touch.getBoundingClientRect().width >= 44
    })
    await sees(page, 'E6', 'available')
    await seat(page, 'E6').tap()
    await sees(page, 'E6', 'mine')
    await count(page, '1 seat')

    // The sheet never covers the map's middle.
    await page.getByRole('button', { name: 'Show seats' }).tap()
    await page.getByRole('button', { name: 'Give back E6' }).waitFor()
    const map = await page.locator('.stage').boundingBox()
    const sheet = await page.getByRole('region', { name: 'Your seats' }).boundingBox()
    assert.ok(sheet.y > map.y + map.height / 2, 'the open sheet covers the middle of the map')
    await page.getByRole('button', { name: 'Hide seats' }).tap()

    await fit.tap()
    await page.waitForFunction(() => {
      const touch = document.querySelector('[data-seat="E6"] .touch')
      return touch.getBoundingClientRect().width < 30
    })
    await page.getByRole('button', { name: 'Confirm booking' }).tap()
    await page.waitForURL('**/bookings/*')
    await page.getByRole('article', { name: 'Ticket' }).waitFor()
  })

  it('speaks Chinese when asked to, and remembers it', async (t) => {
    const here = showing()
    const page = await pageOf(await person(t), here)
    await page.getByRole('button', { name: /^Language/ }).click()
    await page.getByRole('menuitemradio', { name: '简体中文' }).click()
    await page.getByRole('gridcell', { name: /^F 排 7 座，Standard，.*12\.50，可选$/ }).waitFor()
    await page.getByText('实时', { exact: true }).waitFor()
    await seat(page, 'F7').click()
    await page.getByRole('heading', { name: '1 个座位' }).waitFor()
    await page.reload()
    await page.getByRole('button', { name: '确认订座' }).waitFor()
    assert.equal(await page.evaluate(() => document.documentElement.lang), 'zh-CN')
    const chinese = await (await person(t, { locale: 'zh-CN' })).newPage()
    await chinese.goto(house.url)
    await chinese.getByRole('heading', { name: '排片' }).waitFor()
  })

  it('follows the system’s theme until told otherwise', async (t) => {
    const page = await (await person(t, { colorScheme: 'light' })).newPage()
    const theme = () => page.evaluate(() => document.documentElement.dataset.theme)
    await page.goto(house.url)
    await page.getByRole('button', { name: 'Dark theme' }).waitFor()
    assert.equal(await theme(), 'light')
    await page.getByRole('button', { name: 'Dark theme' }).click()
    await page.getByRole('button', { name: 'Light theme' }).waitFor()
    await page.reload()
    assert.equal(await theme(), 'dark')
  })

  it('says when it is offline, and catches up when it is not', async (t) => {
    const here = showing()
    const context = await person(t)
    const page = await pageOf(context, here)
    await context.setOffline(true)
    await page.getByText('You are offline').waitFor()
    await page.getByText('Offline', { exact: true }).waitFor()
    const rival = await house.customer()
    await rival.hold(here.id, ['B3'])
    await context.setOffline(false)
    await page.getByText('Live', { exact: true }).waitFor()
    await sees(page, 'B3', 'held')
    assert.equal(await page.getByText('You are offline').count(), 0)
  })

  it('says plainly that a page, a showing or a booking is not there', async (t) => {
    const page = await (await person(t)).newPage()
    await page.goto(`${house.url}/nowhere/at/all`)
    await page.getByRole('heading', { name: 'This row does not exist' }).waitFor()
    const nobody = '00000000-0000-4000-8000-000000000000'
    await page.goto(`${house.url}/showings/${nobody}`)
    await page.getByRole('heading', { name: 'There is no such showing' }).waitFor()
    await page.goto(`${house.url}/bookings/${nobody}`)
    await page.getByRole('heading', { name: 'We cannot find this booking' }).waitFor()
    await page.goto(`${house.url}/bookings`)
    await page.getByRole('heading', { name: 'No bookings yet' }).waitFor()
  })

  it('comes back after a restart of the server, with every sale', async (t) => {
    const here = showing()
    const page = await pageOf(await person(t), here)
    const buyer = await house.customer()
    await buyer.confirm(await buyer.hold(here.id, ['H1', 'H2']))
    await seat(page, 'H5').click()
    await count(page, '1 seat')
    await page
      .getByRole('timer')
      .filter({ hasText: /\d:\d\d/ })
      .waitFor()
    await house.stop()
    await page.locator('.mark:not([data-connection=live])').waitFor()
    await house.start()
    const again = page.getByRole('button', { name: 'Try again' })
    const live = page.getByText('Live', { exact: true })
    await live.or(again).first().waitFor({ timeout: 60_000 })
    if (await again.isVisible()) await again.click()
    await live.waitFor({ timeout: 60_000 })
    await sees(page, 'H1', 'sold')
    await sees(page, 'H5', 'mine')
    await page.getByRole('button', { name: 'Confirm booking' }).click()
    await page.getByRole('article', { name: 'Ticket' }).waitFor()
    const late = await pageOf(await person(t), here)
    await sees(late, 'H2', 'sold')
    await sees(late, 'H5', 'sold')
  })
})
