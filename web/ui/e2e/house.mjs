// A whole box office for a test: the real program with its real stores, and real browsers on it.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'

const binary =
  process.env.AISLE_BIN ?? fileURLToPath(new URL('../../../bin/aisle', import.meta.url))
const startMs = 90_000
const stopMs = 30_000
/** How long a page may take to show what it should, on a busy machine. */
export const patienceMs = 20_000

/** A port that was free a moment ago. */
async function freePort() {
  const server = createServer()
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** Starts `aisle up --demo` on ports and data of its own; env holds further settings. */
export async function openHouse(env = {}) {
  const data = await mkdtemp(join(tmpdir(), 'aisle-e2e-'))
  // PostgreSQL may run as another user than the one who made the directory.
  await chmod(data, 0o755)
  const listen = `127.0.0.1:${await freePort()}`
  const ops = `127.0.0.1:${await freePort()}`
  const house = new House(data, listen, ops, env)
  await house.start()
  return house
}

class House {
  #child = null
  #log = ''

  constructor(data, listen, ops, env) {
    this.data = data
    this.url = `http://${listen}`
    this.args = ['up', '--demo', '--data', data, '--listen', listen, '--ops-listen', ops]
    this.env = { ...process.env, ...env }
  }

  async start() {
    const child = spawn(binary, this.args, { env: this.env, stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    child.stderr.on('data', (chunk) => (this.#log = (this.#log + chunk).slice(-20_000)))
    const ready = new Promise((resolve, reject) => {
      let out = ''
      child.stdout.on('data', (chunk) => {
        out += chunk
        if (out.includes('aisle: listening on')) resolve()
      })
      child.once('error', reject)
      child.once('exit', (code) => reject(new Error(`aisle up ended with code ${code}`)))
    })
    ready.catch(() => undefined)
    await this.#within(startMs, ready, 'aisle up was not ready')
  }

  /** Ends the servers as an operator does, and waits until they are gone. */
  async stop() {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await this.#within(stopMs, gone, 'aisle up did not stop')
  }

  async close() {
    await this.stop()
    await rm(this.data, { recursive: true, force: true })
  }

  async #within(ms, promise, complaint) {
    let timer
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`${complaint} within ${ms} ms`)), ms)
    })
    try {
      return await Promise.race([promise, late])
    } catch (error) {
      error.message += `\nits last words:\n${this.#log}`
      throw error
    } finally {
      clearTimeout(timer)
    }
  }

  async showings() {
    const response = await fetch(`${this.url}/api/v1/showings`)
    return (await response.json()).showings
  }

  /** Another customer, without a browser. */
  async customer() {
    const response = await fetch(`${this.url}/api/v1/sessions`, { method: 'POST' })
    return new Customer(this.url, (await response.json()).token)
  }
}

class Customer {
  constructor(url, token) {
    this.url = url
    this.token = token
  }

  async send(method, path, body) {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.token}`,
        'Idempotency-Key': randomUUID(),
        ...(body ? { 'Content-Type': 'application/json' } : {}),
      },
      body: body && JSON.stringify(body),
    })
    if (!response.ok)
      throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response.status === 204 ? undefined : response.json()
  }

  hold(showing, seats) {
    return this.send('POST', `/showings/${showing}/bookings`, { seats })
  }

  confirm(booking) {
    return this.send('POST', `/bookings/${booking.id}/confirm`)
  }

  release(booking) {
    return this.send('DELETE', `/bookings/${booking.id}`)
  }
}

export function openBrowser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** A telephone, as Playwright's contexts take it. */
export const phone = {
  viewport: { width: 390, height: 844 },
  hasTouch: true,
  isMobile: true,
}

/** A seat on the map. */
export function seat(page, code) {
  return page.locator(`[data-seat="${code}"]`)
}

/** Waits until a seat shows a face. */
export function sees(page, code, face) {
  return page.locator(`[data-seat="${code}"][data-face="${face}"]`).waitFor()
}
