// Takes the pictures of docs/images from a demo house with some seats taken.
import { mkdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { openBrowser, openHouse, phone, seat, sees } from './house.mjs'

const folder = process.env.OUT ?? fileURLToPath(new URL('../../../docs/images/', import.meta.url))
const desk = { viewport: { width: 1440, height: 900 } }
const sold = [
  'C3 C4',
  'D10 D11',
  'E8 E9 E10',
  'F9 F10',
  'F11 F12',
  'G6 G7 G8 G9',
  'G10 G11',
  'H9 H10 H11 H12',
  'H14 H15',
  'I8 I9',
  'I10',
  'J4 J5',
  'K7 K8 K9',
  'K16 K17',
  'L1 L2',
  'L12 L13 L14',
]
const held = ['D7', 'E12 E13', 'H7 H8', 'J11 J12 J13']

const house = await openHouse()
const browser = await openBrowser()
try {
  await mkdir(folder, { recursive: true })
  const showings = await house.showings()
  let next = 1
  for (const colorScheme of ['dark', 'light']) {
    await shoot('desk', { ...desk, colorScheme }, showings[next++], ['F14', 'F15', 'F16'])
    await shoot('phone', { ...phone, colorScheme }, showings[next++], ['F14', 'F15'])
  }
} finally {
  await browser.close()
  await house.close()
}

async function fill(showing) {
  for (const seats of [...sold, ...held]) {
    const customer = await house.customer()
    const booking = await customer.hold(showing.id, seats.split(' '))
    if (sold.includes(seats)) await customer.confirm(booking)
  }
}

async function shoot(device, options, showing, seats) {
  await fill(showing)
  const name = (page) => `${folder}/${page}-${device}-${options.colorScheme}.png`
  const context = await browser.newContext({ locale: 'en-GB', ...options })
  const page = await context.newPage()
  await page.goto(house.url)
  await page.locator('h3').first().waitFor()
  await page.screenshot({ path: name('programme') })
  await page.goto(`${house.url}/showings/${showing.id}`)
  await seat(page, 'A1').waitFor()
  for (const [i, code] of seats.entries()) {
    if (device === 'phone' && i === 0) {
      await seat(page, code).tap()
      await still(page)
    }
    await (device === 'phone' ? seat(page, code).tap() : seat(page, code).click())
    await sees(page, code, 'mine')
  }
  await page.mouse.move(2, 2)
  await page
    .getByRole('timer')
    .filter({ hasText: /\d:\d\d/ })
    .waitFor()
  await still(page)
  await page.screenshot({ path: name('showing') })
  await page.getByRole('button', { name: 'Confirm booking' }).click()
  await page.getByRole('article').waitFor()
  await still(page)
  await page.screenshot({ path: name('confirmation') })
  await context.close()
}

/** Waits until nothing moves any more. */
function still(page) {
  return page.evaluate(() =>
    Promise.allSettled(document.getAnimations().map((animation) => animation.finished)),
  )
}
